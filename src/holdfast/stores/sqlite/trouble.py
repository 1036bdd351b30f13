"""What can be wrong with a file, each in one sentence."""

from __future__ import annotations

import shlex

import apsw

from holdfast.errors import StoreUnavailable

RESTORE = (
    "move it away and put a backup in its place (`holdfast sessions backup` writes them); without "
    "one, `sqlite3 {where} .recover | sqlite3 new.db` saves what can still be read"
)
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


def told(where: str, error: apsw.Error) -> Exception:
    """Return what SQLite finds wrong with a file in one sentence, itself where that is a bug."""
    for known, what, remedy in _WHAT:
        if isinstance(error, known):
            return StoreUnavailable(
                where, what, remedy=remedy.replace("{where}", shlex.quote(where))
            )
    return error


class named:  # noqa: N801 reads as what it does: `with named(where):`
    """Raises what SQLite finds wrong as `StoreUnavailable`."""

    __slots__ = ("_where",)

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, apsw.Error):
            found = told(self._where, error)
            if found is not error:
                raise found from error
