"""A file system every call of which can be made to fail, for SQLite."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import apsw

from foldaway.errors import FoldawayError

NAME = "failing"
_BELOW = apsw.vfs_names()[0]
_FILE_CALLS = (
    "xRead", "xWrite", "xSync", "xTruncate", "xFileSize", "xLock", "xCheckReservedLock",
)  # fmt: skip
_SYSTEM_CALLS = ("xOpen", "xDelete", "xAccess", "xFullPathname")
_CODES = {
    "xRead": apsw.SQLITE_IOERR_READ, "xWrite": apsw.SQLITE_IOERR_WRITE,
    "xSync": apsw.SQLITE_IOERR_FSYNC, "xTruncate": apsw.SQLITE_IOERR_TRUNCATE,
    "xFileSize": apsw.SQLITE_IOERR_FSTAT, "xLock": apsw.SQLITE_IOERR_LOCK,
    "xCheckReservedLock": apsw.SQLITE_IOERR_CHECKRESERVEDLOCK, "xOpen": apsw.SQLITE_CANTOPEN,
    "xDelete": apsw.SQLITE_IOERR_DELETE, "xAccess": apsw.SQLITE_IOERR_ACCESS,
    "xFullPathname": apsw.SQLITE_CANTOPEN_FULLPATH,
}  # fmt: skip


class Faults:
    """Counts the calls, and has one of them fail."""

    def __init__(self) -> None:
        self.calls, self.fails_at, self.failed = 0, 0, ""

    def call(self, name: str) -> None:
        """Note a call; raise if it is the one that fails."""
        self.calls += 1
        if self.calls == self.fails_at:
            self.failed = name
            error: Any = apsw.IOError(f"{name} was made to fail")
            error.extendedresult = _CODES[name]
            error.result = _CODES[name] & 0xFF
            raise error


FAULTS = Faults()


class _File(apsw.VFSFile):
    def __init__(self, filename: Any, flags: list[int]) -> None:
        super().__init__(_BELOW, filename, flags)


class _System(apsw.VFS):
    def __init__(self) -> None:
        super().__init__(NAME, _BELOW, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802 SQLite's name
        FAULTS.call("xOpen")
        return _File(name, flags)


def _failing(kind: type, name: str) -> Callable[..., Any]:
    inherited = getattr(kind.__mro__[1], name)

    def call(self: Any, *given: Any) -> Any:
        FAULTS.call(name)
        return inherited(self, *given)

    return call


for _kind, _names in ((_File, _FILE_CALLS), (_System, _SYSTEM_CALLS[1:])):
    for _name in _names:
        setattr(_kind, _name, _failing(_kind, _name))


@contextmanager
def failing_disk() -> Generator[Faults]:
    """Have every file of SQLite in this process go through calls that may fail."""
    system = _System()
    FAULTS.__init__()
    try:
        yield FAULTS
    finally:
        FAULTS.__init__()
        system.unregister()


def attempt(work: Callable[[], object], *, fails_at: int) -> bool:
    """Do work one of whose calls fails; return whether it came through. Only errors of ours may
    come out.
    """
    FAULTS.calls, FAULTS.fails_at, FAULTS.failed = 0, fails_at, ""
    try:
        work()
    except FoldawayError:
        return False
    finally:
        FAULTS.fails_at = 0
    return True
