"""SQLite files of agents, opened so that nothing in them can change."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from holdfast.dialects.limits import Limits
from holdfast.errors import NotReadable
from holdfast.transcript import Payload

MAGIC = b"SQLite format 3\0"
_AS_IT_LIES = "&immutable=1"
_WITH_LOG = b"\2\2"
_LONGEST = 1_000_000_000
"""The longest value that SQLite takes unless it was built for longer ones."""
_DAMAGED = "copy the file again while the agent is not running, or restore it from a backup"


class AgentDatabase:
    """A read-only connection that gives rows as objects."""

    __slots__ = ("_connection", "_limits", "columns")

    def __init__(self, connection: sqlite3.Connection, limits: Limits) -> None:
        """Look at which tables there are."""
        self._connection, self._limits = connection, limits
        names = [row[0] for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        )]  # fmt: skip
        self.columns: dict[str, set[str]] = {name: self._columns(name) for name in names}

    def has(self, tables: Mapping[str, set[str]]) -> bool:
        """Return whether these tables are there, with at least these columns."""
        return all(wanted <= self.columns.get(name, set()) for name, wanted in tables.items())

    def rows(
        self, table: str, *, order: str, where: str = "", value: Any = None
    ) -> Iterator[Payload]:
        """Yield the rows of a table, those whose column `where` is `value` if one is named.

        Columns that are computed are left out: a small file can compute any number of gigabytes.
        Rows of one session are held whole, so all of them together have a limit.
        """
        stored = ", ".join(map(_quoted, sorted(self.columns[table])))
        wanted = f" WHERE {_quoted(where)} = ?" if where else ""
        order = order if order == "rowid" else _quoted(order)
        found = self._connection.execute(
            f"SELECT {stored} FROM {_quoted(table)}{wanted} ORDER BY {order}",
            (value,) if where else (),
        )
        names = [column[0] for column in found.description]
        total = 0
        for row in found:
            total += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if where and total > self._limits.file_bytes:
                raise NotReadable(
                    f"has a session of more than {self._limits.max_file_mb:,} MB",
                    remedy="raise input.max_file_mb if you trust the file",
                )
            yield dict(zip(names, row, strict=True))

    def _columns(self, table: str) -> set[str]:
        try:
            found = self._connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
        except sqlite3.OperationalError:  # a virtual table whose module is not there
            return set()
        return {row[1] for row in found}


@contextmanager
def opened(path: Path, limits: Limits) -> Generator[AgentDatabase]:
    """Give the database; what is wrong with the file is a `NotReadable`.

    Nothing is written, neither to the file nor beside it. Where the folder cannot be written to,
    SQLite cannot follow a writer; the file is then read as if nobody wrote to it.
    """
    connection: sqlite3.Connection | None = None
    try:
        connection, database = _connect(path, limits)
        yield database
    except sqlite3.Error as error:
        raise NotReadable(
            f"is a SQLite database that cannot be read ({error})", where=str(path), remedy=_DAMAGED
        ) from None
    finally:
        if connection is not None:
            connection.close()


def _connect(path: Path, limits: Limits) -> tuple[sqlite3.Connection, AgentDatabase]:
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    failure: sqlite3.Error | None = None
    for options in (_AS_IT_LIES,) if _is_at_rest(path) else ("", _AS_IT_LIES):
        connection = sqlite3.connect(address + options, uri=True)
        connection.text_factory = _decoded
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(limits.file_bytes, _LONGEST))
        try:
            return connection, AgentDatabase(connection, limits)
        except sqlite3.OperationalError as error:
            connection.close()
            failure = error
        except sqlite3.Error:
            connection.close()
            raise
    assert failure is not None
    raise failure


def _is_at_rest(path: Path) -> bool:
    """Return whether this is a database with a write-ahead log that nobody has open.

    Even a reader would put the files of the log beside it.
    """
    with path.open("rb") as file:
        header = file.read(len(MAGIC) + 4)
    return header[18:20] == _WITH_LOG and not path.with_name(f"{path.name}-wal").exists()


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
