"""Bytes of small files that others write too: read when they are settled, replaced as a whole."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from msgspec import Struct

from holdfast.disk import sync_folder
from holdfast.errors import NotReadable

MOST_BYTES = 256_000
"""Of a file that is read; nobody's memory is longer."""
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
"""A pipe keeps nobody waiting."""
_PAUSE_SECONDS = 0.02
_ROUNDS = 2
_ROUNDS_EMPTY = 50
_MOST_ROUNDS = 200


class Seen(Struct, frozen=True):
    """What a file held, and which file it was; a file that is not there holds nothing."""

    data: bytes
    sign: tuple[int, ...] = ()
    """Device, inode, size and times: it differs where somebody wrote since."""
    changed: float = 0.0
    """When it was put in its place, or written, in seconds since 1970."""


def look(path: Path, *, cut: bool = False) -> Seen:
    """Return what is in a file, or raise `NotReadable`; `cut` takes the beginning of a long one."""
    try:
        handle = os.open(path, _READ)
    except FileNotFoundError:
        return Seen(b"")
    except OSError as error:
        raise NotReadable(
            f"cannot be read ({error.strerror})", where=str(path), remedy="check the file"
        ) from None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise NotReadable("is no file", where=str(path), remedy="move it away")
    with os.fdopen(handle, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES and not cut:
        raise NotReadable(
            f"is larger than {MOST_BYTES:,} bytes", where=str(path), remedy="make it shorter"
        )
    return Seen(data[:MOST_BYTES], _sign(found), found.st_ctime)


def settled(path: Path) -> Seen:
    """Return what is in a file that somebody may be writing to just now.

    An editor that writes in place empties the file first; one that replaces it may take it away
    for a moment. So it has to look the same several times.
    """
    seen, same = look(path), 1
    for _ in range(_MOST_ROUNDS):
        if same >= (_ROUNDS if seen.data else _ROUNDS_EMPTY):
            break
        time.sleep(_PAUSE_SECONDS)
        again = look(path)
        same = same + 1 if again == seen else 1
        seen = again
    return seen


def is_unchanged(path: Path, seen: Seen) -> bool:
    """Return whether nobody wrote since."""
    try:
        return _sign(os.stat(path)) == seen.sign
    except FileNotFoundError:
        return not seen.sign


def is_read_only(path: Path) -> bool:
    """Return whether nobody may write a file: it could be replaced, but somebody wants it kept."""
    try:
        return not stat.S_IMODE(os.stat(path).st_mode) & 0o222
    except FileNotFoundError:
        return False


def write_new(path: Path, data: bytes, like: Path) -> None:
    """Write a file of our own and put it and its name on the disk, as readable as `like`."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        if like.exists():
            os.chmod(path, stat.S_IMODE(like.stat().st_mode))
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def _sign(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
