"""What every writer of files needs of the disk."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

PRIVATE = 0o600
"""The mode of a file for its owner alone."""
_HERE = -100
"""AT_FDCWD of Linux: paths are relative to the working directory."""
_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux's `renameat2` and RENAME_SWAP of macOS' `renamex_np`."""


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone.

    What is there stays as it is. Raises `OSError`.
    """
    missing = [one for one in folder.parents if not one.exists()]
    for one in (*reversed(missing), folder):
        one.mkdir(mode=0o700, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where the system lets a folder be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def replacing(target: Path, mode: int, *, private: bool = False) -> Generator[BinaryIO]:
    """Give a new file that takes the place of another when the block ends without an error.

    It never has more rights than it ends with: who opens it early could read it later. Its name
    is on the disk too in the end. Raises `OSError`.
    """
    new = target.with_name(f".foldaway-{secrets.token_hex(6)}.tmp")
    is_new = not target.exists()
    given = mode if is_new and not private else PRIVATE
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, given)
    if not is_new and not private:
        os.chmod(new, stat.S_IMODE(target.stat().st_mode))
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}.part")
    draft.write_bytes(data)
    draft.replace(path)


def replace_file(new: Path, target: Path, old: Path, *, must_keep: bool) -> None:
    """Put `new` in the place of `target`; what was there at that moment is at `old` then.

    Somebody else may save `target` at any time: no save is lost. Only if the system cannot
    exchange names, one that comes within a few microseconds is. Raises `OSError`; with
    `must_keep` also if the old file cannot be kept, otherwise it is then replaced without.
    """
    try:
        os.link(new, target)  # succeeds only if there is nothing to replace
    except OSError:
        pass
    else:
        new.unlink()
        old.unlink(missing_ok=True)
        return
    with suppress(FileNotFoundError):  # taken away since
        if swap_files(new, target):
            os.replace(new, old)
            return
    old.unlink(missing_ok=True)
    try:
        os.link(target, old)
    except FileNotFoundError:
        pass
    except OSError:  # not every file system has links
        if must_keep:
            raise
    os.replace(new, target)


def swap_files(one: Path, two: Path) -> bool:
    """Exchange the names of two files at once; False if the system or file system cannot."""
    exchange = _find_exchange()
    if exchange is None:
        return False
    error = exchange(os.fsencode(one), os.fsencode(two))
    if error in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
        return False
    if error:
        raise OSError(error, os.strerror(error), str(two))
    return True


@cache
def _find_exchange() -> Callable[[bytes, bytes], int] | None:
    """Return what exchanges two names and gives an error number, 0 for none."""
    if sys.platform not in ("linux", "darwin"):
        return None
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        call, before, between = "renamex_np", (), ()
    else:
        call, before, between = "renameat2", (_HERE,), (_HERE,)
    rename = getattr(library, call, None)
    if rename is None:
        return None

    def exchange(one: bytes, two: bytes) -> int:
        arguments = (*before, one, *between, two, ctypes.c_uint(_EXCHANGE))
        return ctypes.get_errno() if rename(*arguments) else 0

    return exchange
