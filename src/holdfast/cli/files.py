"""Bytes in and out: clear errors, and an output that is whole or not there at all."""

from __future__ import annotations

import gzip
import os
import secrets
import stat
import sys
from pathlib import Path

from holdfast.disk import sync_folder
from holdfast.errors import NotReadable, NotWritable

STANDARD = "-"


def read_bytes(name: str) -> bytes:
    """Return what the file holds, `-` being standard input; raise `NotReadable` otherwise."""
    try:
        if name == STANDARD:
            return _standard_input()
        if not name:
            raise NotReadable("is no name of a file", remedy="name a file, or - for standard input")
        return Path(name).read_bytes()
    except FileNotFoundError:
        raise NotReadable("does not exist", remedy="check the name") from None
    except IsADirectoryError:
        raise NotReadable("is a directory", remedy="name the files in it") from None
    except PermissionError:
        raise NotReadable("may not be read", remedy="check its permissions") from None
    except (OSError, ValueError) as error:
        raise NotReadable(f"cannot be read ({_reason(error)})", remedy="check the file") from None


def write_bytes(name: str, data: bytes, *, private: bool = False) -> None:
    """Put `data` into the file, `-` being standard output, or raise `NotWritable`.

    The file is replaced at once when all of it is on the disk; a failure leaves it as it was. A
    link stays a link and its target is replaced; a pipe or device is written to as it is. A
    private file is for its owner alone (0600). Its name is on the disk too when this returns.
    """
    check_writable(name)
    if name == STANDARD:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(name))
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _replace(target, data, private=private)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NotWritable(name, f"cannot be written ({_reason(error)})") from None


def check_writable(name: str) -> None:
    """Raise `NotWritable` for an output of which it is plain beforehand that it cannot be."""
    if name == STANDARD:
        if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise NotWritable("standard output", "is closed", remedy="name a file with -o")
        return
    if not name:
        raise NotWritable(
            "''", "is no name of a file", remedy="name a file, or - for standard output"
        )
    target = Path(os.path.realpath(name))
    if target.is_dir():
        raise NotWritable(name, "is a directory", remedy="name a file in it")
    if not target.parent.is_dir():
        raise NotWritable(name, "is in a directory that does not exist", remedy="make it first")


def packed(name: str, data: bytes) -> bytes:
    """Return `data` as the named file holds it: gzip for `.gz`, with the same bytes every day."""
    return gzip.compress(data, mtime=0) if name.endswith(".gz") else data


def label(name: str) -> str:
    """Return a file's name as people see it, on one line and without control characters."""
    if name == STANDARD:
        return "standard input"
    if not name:
        return "''"
    return "".join(char if char.isprintable() else "�" for char in name)


def _standard_input() -> bytes:
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise NotReadable("is closed", remedy="give a file, or pipe one in")
    return sys.stdin.buffer.read()


def _replace(target: Path, data: bytes, *, private: bool) -> None:
    new = target.with_name(f".holdfast-{secrets.token_hex(6)}.tmp")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            if target.exists() and not private:
                os.chmod(new, stat.S_IMODE(target.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def remove(name: str) -> None:
    """Remove a file, or raise `NotWritable`; one that is not there is no error."""
    try:
        Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise NotWritable(name, f"cannot be removed ({_reason(error)})") from None


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
