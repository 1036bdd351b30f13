"""What can be wrong with a file, each in one sentence."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import apsw

from holdfast.errors import StoreUnavailable

RESTORE = "restore it from a backup; `holdfast doctor` shows what can still be read"
_WHAT: tuple[tuple[type[apsw.Error], str, str], ...] = (
    (apsw.BusyError, "another process is writing to it for too long",
     "wait for that process or stop it, then try again"),
    (apsw.LockedError, "another process is writing to it for too long",
     "wait for that process or stop it, then try again"),
    (apsw.FullError, "the disk is full", "free some room and try again"),
    (apsw.NotADBError, "the file is not an SQLite database",
     "name another file, or move this one away"),
    (apsw.CorruptError, "the file is damaged", RESTORE),
    (apsw.ReadOnlyError, "the file or its folder cannot be written",
     "change its permissions, or open it read-only"),
    (apsw.PermissionsError, "the file cannot be opened", "change its permissions"),
    (apsw.AuthError, "the file cannot be opened", "change its permissions"),
    (apsw.CantOpenError, "the file cannot be opened",
     "see that the file and its folder can be written, or open it read-only"),
    (apsw.TooBigError, "a message is larger than a database row can be",
     "keep what is larger than 1 GB in a file of its own"),
    (apsw.NoMemError, "there is not enough memory", "free some and try again"),
    (apsw.IOError, "the disk could not be read or written",
     "see that it is not full and works, then try again"),
)  # fmt: skip


@contextmanager
def named(where: str) -> Generator[None]:
    """Raise what SQLite finds wrong as `StoreUnavailable`."""
    try:
        yield
    except apsw.Error as error:
        for kind, what, remedy in _WHAT:
            if isinstance(error, kind):
                raise StoreUnavailable(where, what, remedy=remedy) from error
        raise
