"""Bytes in and out: clear errors, an output that is whole or not there, names and texts to show."""

from __future__ import annotations

import gzip
import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, TextIO

from foldaway._core import PRIVATE, replacing
from foldaway.dialects import Limits
from foldaway.errors import NotReadable, NotWritable

STANDARD = "-"
_ANYONE = 0o666
"""For everybody, as far as the umask lets them."""
SHOWN_ENTRIES = 5
"""Entries of one kind that are listed before "… and n more"; more push the verdict off a screen."""
SHOWN_CHARS = 240
"""Characters of an explanation that are shown: about three lines of a terminal."""


@contextmanager
def open_input(name: str) -> Generator[BinaryIO]:
    """Open a file to be read, `-` being standard input; raise `NotReadable` if that fails."""
    try:
        if name == STANDARD:
            if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
                raise NotReadable("is closed", remedy="give a file, or pipe one in")
            opened = nullcontext(sys.stdin.buffer)
        elif name:
            opened = open(name, "rb")  # noqa: SIM115 - closed below
        else:
            raise NotReadable(
                "is not a valid file name", remedy="name a file, or - for standard input"
            )
    except FileNotFoundError:
        raise NotReadable("does not exist", remedy="check the name") from None
    except IsADirectoryError:
        raise NotReadable("is a directory", remedy="name the files in it") from None
    except PermissionError:
        raise NotReadable("may not be read", remedy="check its permissions") from None
    except (OSError, ValueError) as error:
        raise NotReadable(f"cannot be read ({_reason(error)})", remedy="check the file") from None
    with opened as file:
        yield file


def read_bytes(name: str, limits: Limits | None = None) -> bytes:
    """Return what the file holds, `-` being standard input; raise `NotReadable` otherwise.

    With `limits`, an input that is too large is refused; a pipe or device is read no further.
    """
    with open_input(name) as file:
        try:
            return file.read() if limits is None else limits.read_whole(file)
        except (OSError, ValueError) as error:
            reason = _reason(error)
            raise NotReadable(f"cannot be read ({reason})", remedy="check the file") from None


def mode_of(*inputs: str) -> int:
    """Return who may at most read what is made from these files: those who may read all of them.

    Standard input, a pipe and a device say nothing about it. A folder, and what is not a file (a
    stored session), is for its owner alone.
    """
    mode = _ANYONE
    for name in inputs:
        if name != STANDARD and not os.path.exists(name):
            return PRIVATE
        with suppress(OSError, ValueError):
            info = os.stat(name)
            if stat.S_ISDIR(info.st_mode):
                return PRIVATE
            if name == STANDARD or not stat.S_ISREG(info.st_mode):
                continue
            # a new file gets the group of this process: another group's rights do not go with it
            same = os.name != "posix" or info.st_gid == os.getegid()
            mode &= info.st_mode if same else info.st_mode & 0o606 | (info.st_mode & 0o006) << 3
    return mode | PRIVATE


@contextmanager
def readable_as(mode: int) -> Generator[None]:
    """Limit what this process, and those it starts, create while the block runs: who may not read
    files of this mode may not read theirs, nor enter their folders.
    """
    before = os.umask(0o077)
    os.umask(before | (0 if mode & 0o040 else 0o070) | (0 if mode & 0o004 else 0o007))
    try:
        yield
    finally:
        os.umask(before)


def write_bytes(name: str, data: bytes, *, mode: int = _ANYONE, private: bool = False) -> None:
    """Put `data` into the file, `-` being standard output, or raise `NotWritable`."""
    with open_output(name, mode, private=private) as file:
        file.write(data)


@contextmanager
def open_output(name: str, mode: int = _ANYONE, *, private: bool = False) -> Generator[BinaryIO]:
    """Open an output, `-` being standard output; raise `NotWritable` if it cannot be written.

    The file is replaced at once when all of it is on the disk; a failure leaves it as it was. A
    link stays a link and its target is replaced; a pipe or device is written to as it is. A new
    file has `mode` as far as the umask lets it; one that is there keeps its own. A private file
    is for its owner alone in any case. Its name is on the disk too when this is over.
    """
    check_writable(name)
    if name == STANDARD:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(name))
    is_device = target.exists() and not target.is_file()
    try:
        with open(target, "wb") if is_device else replacing(target, mode, private=private) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NotWritable(name, f"cannot be written ({_reason(error)})") from None


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a standard stream is a terminal; one that is closed is none."""
    return stream is not None and stream.isatty()


def check_writable(name: str) -> None:
    """Raise `NotWritable` for an output of which it is plain beforehand that it cannot be."""
    if name == STANDARD:
        if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise NotWritable("standard output", "is closed", remedy="name a file with -o")
        return
    if not name:
        raise NotWritable(
            "''", "is not a valid file name", remedy="name a file, or - for standard output"
        )
    target = Path(os.path.realpath(name))
    if target.is_dir():
        raise NotWritable(name, "is a directory", remedy="name a file in it")
    if not target.parent.is_dir():
        raise NotWritable(name, "is in a directory that does not exist", remedy="make it first")


def write_output(name: str, data: bytes, *inputs: str, mode: int = _ANYONE) -> None:
    """Write what was made from files, `-` for standard output; raises `NotWritable`.

    Gzip for `.gz`, with the same bytes every day. Who may not read an input may not read it.
    """
    packed = gzip.compress(data, mtime=0) if name.endswith(".gz") else data
    write_bytes(name, packed, mode=mode & mode_of(*inputs))


def label(name: str) -> str:
    """Return a file's name as people see it, on one line and without control characters."""
    if name == STANDARD:
        return "standard input"
    if not name:
        return "''"
    return make_plain(name)


def output_label(name: str) -> str:
    """Return the name of an output as people see it."""
    return "standard output" if name == STANDARD else label(name)


def shorten(text: str) -> str:
    """Return at most `SHOWN_CHARS` of a text, without control characters."""
    shown = make_plain(text[:SHOWN_CHARS])
    return shown if len(text) <= SHOWN_CHARS else f"{shown}…"


def make_plain(text: str) -> str:
    """Return all of a text, without control characters."""
    return "".join(char if char.isprintable() else "�" for char in text)


def join_on_one_line(text: str) -> str:
    """Return a text as far as it is shown, with its words on one line."""
    return shorten(" ".join(text.split()))


def count_of(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 message", "2 messages"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_time(seconds: float | None) -> str:
    """Return a moment for people, in the time of this machine; "" if there is none."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):  # a foreign file may contain any number
        return "?"


def duration(seconds: float) -> str:
    """Return a length of time for people."""
    whole = int(seconds)
    minutes, hours = whole // 60, whole // 3600
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {whole % 60} s"


def remove(name: str) -> None:
    """Remove a file, or raise `NotWritable`; one that is not there is no error."""
    try:
        Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise NotWritable(name, f"cannot be removed ({_reason(error)})") from None


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
