"""Statements of the store, as psycopg wants them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, LiteralString, cast

from psycopg.pq import TransactionStatus

from holdfast.stores.database import Row
from holdfast.stores.postgres.opening import SCHEMA, Connection

_START = (
    f"SET LOCAL search_path TO {SCHEMA};"
    " SET LOCAL lock_timeout TO '20s';"
    " SET LOCAL idle_in_transaction_session_timeout TO '60s';"
)
"""With every transaction and not with the connection: a pooler between us and the server may give
each transaction another one. A frozen process must not hold its locks for ever."""
_CLOCK = "extract(epoch FROM clock_timestamp())::float8"
_READS = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_START} SELECT {_CLOCK}, ''"
_WRITES = (
    f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {_START}"
    " SELECT set_config('synchronous_commit', 'on', true)"
    " WHERE current_setting('synchronous_commit') = 'off';"
)
_SHARED = "SELECT 1 FROM tenants WHERE tenant = '{0}' FOR KEY SHARE;"
_ALONE = (
    "SELECT 1 FROM tenants WHERE tenant = '{0}' FOR UPDATE;"
    " SET LOCAL work_mem TO '128MB';"  # what is not referred to any more is found by hashing
)
_NUMBERED = f" SELECT {_CLOCK}, pg_current_xact_id()::text"


class NotAlone(Exception):
    """A transaction that others share the tenant with came to what it must do alone."""


class Open:
    """A transaction that has begun on a connection."""

    __slots__ = ("_alone", "_connection", "now", "number")

    def __init__(self, connection: Connection, begin: str, *, alone: bool = False) -> None:
        self._connection = connection
        self._alone = alone
        cursor = connection.execute(cast(LiteralString, begin))
        while cursor.nextset():
            pass
        found = cast(Row, cursor.fetchone())
        self.now: float = found[0]
        """The server's time of day when it began."""
        self.number: str = found[1]
        """What the server knows it by, also after the connection is gone; nothing if it reads."""

    def be_alone(self) -> None:
        """Raise `NotAlone` where others may write for the same tenant at the same time."""
        if not self._alone:
            raise NotAlone

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows."""
        return cast(list[Row], self._connection.execute(_placed(sql), values).fetchall())

    def row(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """Return the first row, or None."""
        return cast(Row | None, self._connection.execute(_placed(sql), values).fetchone())

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Return how many rows were changed."""
        return self._connection.execute(_placed(sql), values).rowcount

    def many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run one statement for each of `rows`; they go to the server together."""
        if len(rows) == 1:
            self.run(sql, rows[0])
        elif rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(_placed(sql), rows)

    def commit(self) -> None:
        """End it; what it changed is durable then."""
        self._connection.execute("COMMIT", prepare=False)

    def undo(self) -> None:
        """End it as if it had not been, where the connection still can."""
        if self._connection.info.transaction_status in (
            TransactionStatus.INTRANS,
            TransactionStatus.INERROR,
        ):
            self._connection.execute("ROLLBACK", prepare=False)


def reads(connection: Connection) -> Open:
    """Begin a transaction that sees one state and changes nothing."""
    return Open(connection, _READS)


def writes(connection: Connection, tenant: str, *, alone: bool) -> Open:
    """Begin a transaction that writes for a tenant, beside others or alone.

    `tenant` holds nothing that needs quotes.
    """
    lock = _ALONE if alone else _SHARED
    return Open(connection, _WRITES + lock.format(tenant) + _NUMBERED, alone=alone)


@lru_cache(maxsize=512)
def _placed(sql: str) -> LiteralString:
    """Return a statement with the placeholders of psycopg."""
    return cast(LiteralString, sql.replace("%", "%%").replace("?", "%s"))
