"""A connection to SQLite, as far as it is used here; apsw leaves some of its types open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, cast

import apsw

from holdfast.stores.database import Row, Value


class Cursor(Protocol):
    """Runs one statement after the other."""

    def execute(self, statements: str, bindings: Sequence[Value] | None = None) -> Cursor:
        """Run statements."""
        ...

    def executemany(self, statements: str, rows: Iterable[Sequence[Value]]) -> Cursor:
        """Run statements for each row."""
        ...

    def fetchall(self) -> list[Row]:
        """Return all rows that the statement gave."""
        ...


class Connection(Protocol):
    """An open file."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def execute(self, statements: str, bindings: Sequence[Value] | None = None) -> Cursor:
        """Run statements."""
        ...

    def cursor(self) -> Cursor:
        """Return one."""
        ...

    def changes(self) -> int:
        """Return how many rows the last statement changed."""
        ...

    def last_insert_rowid(self) -> int:
        """Return the number of the row that was inserted last."""
        ...

    def pragma(self, name: str, value: Value = None) -> Any:
        """Set or return a setting."""
        ...

    def set_busy_timeout(self, milliseconds: int) -> None:
        """Wait so long for a lock before giving up."""
        ...

    def wal_checkpoint(self, dbname: str | None = None, mode: int = ...) -> tuple[int, int]:
        """Write the log back into the file."""
        ...

    def backup(self, databasename: str, source: Connection, sourcename: str) -> Any:
        """Return a copy in steps, from `source` to here."""
        ...

    def close(self, force: bool = False) -> None:
        """Close the file."""
        ...


def opened(name: str, flags: int) -> Connection:
    """Return a connection to a file, named by path or URI."""
    return cast("Connection", apsw.Connection(name, flags=flags | apsw.SQLITE_OPEN_URI))
