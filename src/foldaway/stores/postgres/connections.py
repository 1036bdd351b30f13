"""The connections of one process to one server."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import LiteralString, TypeAlias, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from foldaway._core import log_event
from foldaway.errors import StoreUnavailable
from foldaway.stores.database import (
    Row,
    Statements,
    migrations,
    note_of_version,
    refuse_newer,
    sentences_for,
)

_ADDRESS = "check that the server runs, and the user, password, host and database of the address"
_WHAT = sentences_for("postgresql")
_LOST = ("08", "57P", "53300", "25P03", "25P04")
"""The connection is gone or was refused for now: another one may do."""
_AGAIN = ("40001", "40P01", "23505", "42P06", "42P07", "42710")
"""The transaction met another one, which wrote the same first or waited for it; alone it succeeds.
The last three: two processes that make the tables at the same time."""
Connection: TypeAlias = "psycopg.Connection[tuple[object, ...]]"
SCHEMA = "foldaway"
"""Our tables stand in a schema of their own: a host may keep its own in the same database."""
OLDEST_SERVER = 140000
"""`pg_terminate_backend` that waits came with PostgreSQL 14."""
_SETTINGS = {
    "connect_timeout": "10",
    "application_name": "foldaway",
    "keepalives_idle": "30",
    "tcp_user_timeout": "30000",
    "client_encoding": "utf8",
}
_BEGIN = f"BEGIN; SET LOCAL search_path TO {SCHEMA}; "
_TRIGRAM_INDEX = "messages_by_trigrams"
MOST = 8
"""At a time and process. What waits for the server's disk at the same time is synced together."""
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


def describe_unavailable(error: psycopg.Error, where: str) -> StoreUnavailable:
    """Return what a person is told about an error of psycopg."""
    state = error.sqlstate or ""
    if known := _WHAT.get(state):
        what, remedy = known
        return StoreUnavailable(where, what, remedy=remedy)
    if state:
        return StoreUnavailable(
            where, f"the server refuses ({_first_line(error)})", remedy="try again"
        )
    if isinstance(error, psycopg.OperationalError):
        return StoreUnavailable(where, f"no connection ({_first_line(error)})", remedy=_ADDRESS)
    return StoreUnavailable(where, f"the server refuses ({_first_line(error)})", remedy="try again")


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection is gone, so that the same may succeed on another one."""
    state = error.sqlstate
    if state is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return state.startswith(_LOST)


def is_contention(error: psycopg.Error) -> bool:
    """Return whether the transaction failed because of another one, and was undone."""
    return error.sqlstate in _AGAIN


def hide_password(url: str) -> str:
    """Return an address without its password; raise `StoreUnavailable` if it is none."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # its text quotes the address, the password with it
        raise StoreUnavailable(
            url.partition("://")[0] + "://…",
            "the address of the server cannot be read",
            remedy="write it as postgresql://user:password@host:5432/database, special "
            "characters of the password as %40 and the like",
        ) from None
    user, host, port, name = (str(parts.get(k) or "") for k in ("user", "host", "port", "dbname"))
    place = f"{host}:{port}" if port else host
    return f"postgresql://{user + '@' if user else ''}{place}/{name}"


def _first_line(error: psycopg.Error) -> str:
    """Return the first line of what the server or the client library said."""
    lines = (error.diag.message_primary or str(error)).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


def settings(url: str) -> dict[str, str]:
    """Return what a connection needs beside the address; what the address says comes first."""
    given = conninfo_to_dict(url)
    return {name: value for name, value in _SETTINGS.items() if name not in given}


def make_ready(connection: Connection, where: str, tenant: str, *, read_only: bool) -> None:
    """Bring the tables up to date, or see that they are. Two processes at once are safe."""
    if connection.info.server_version < OLDEST_SERVER:
        raise StoreUnavailable(
            where,
            f"the server is PostgreSQL {connection.info.server_version // 10000}",
            remedy="use one of version 14 or newer",
        )
    done = _schema_number(connection)
    refuse_newer(where, "store", done, newest())
    if read_only and not done:
        raise StoreUnavailable(
            where, "the store is not there yet", remedy="open it once for writing, which makes it"
        )
    if done < newest():
        _migrate(connection, where)
    if not read_only:
        connection.execute(
            f"INSERT INTO {SCHEMA}.tenants (tenant) VALUES (%s) ON CONFLICT DO NOTHING", (tenant,)
        )


def newest() -> int:
    """Return the number of the newest migration."""
    return max(migrations("postgres"))


def has_trigrams(tx: Statements) -> bool:
    """Return whether substrings have an index."""
    return (
        tx.row(
            "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(?) AND indisvalid",
            (f"{SCHEMA}.{_TRIGRAM_INDEX}",),
        )
        is not None
    )


def add_trigrams(connection: Connection) -> bool:
    """Index substrings where the server has `pg_trgm`; return whether there is such an index."""
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except psycopg.Error:  # not installed there, or not allowed: substrings are looked for slowly
        return False
    found = connection.execute(
        "SELECT quote_ident(n.nspname) FROM pg_extension e"
        " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'"
    ).fetchone()
    assert found is not None
    connection.execute(
        f"CREATE INDEX IF NOT EXISTS {_TRIGRAM_INDEX} ON {SCHEMA}.messages"
        f" USING gin (folded {found[0]}.gin_trgm_ops)".encode()
    )
    return True


def _schema_number(connection: Connection) -> int:
    """Return the number of the newest migration that was done, 0 before the first."""
    there = connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.meta",)).fetchone()
    if there is None or there[0] is None:
        return 0
    found = connection.execute(f"SELECT value FROM {SCHEMA}.meta WHERE name = 'schema'").fetchone()
    return int(str(found[0])) if found else 0


def _migrate(connection: Connection, where: str) -> None:
    """Do what is missing, all or nothing; the lock on `meta` lets one process at a time."""
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {SCHEMA}.meta"
        ' (name text COLLATE "C" PRIMARY KEY, value bigint NOT NULL)'
    )
    connection.execute(_BEGIN + f"LOCK TABLE {SCHEMA}.meta IN EXCLUSIVE MODE")
    try:
        done = _schema_number(connection)
        refuse_newer(where, "store", done, newest())
        for number, sql in migrations("postgres").items():
            if number > done:
                connection.execute(sql.encode())
        connection.execute(
            "INSERT INTO meta (name, value) VALUES ('schema', %s), (%s, %s)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (newest(), note_of_version(done), newest()),
        )
        connection.execute("COMMIT")
        log_event("store.migrated", kind="postgresql", from_schema=done, to_schema=newest())
    finally:
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    add_trigrams(connection)


class PostgresConnections:
    """Lends connections; each is used by one thread at a time and kept for the next.

    None is made before it is needed, and what goes wrong then is raised to who needed it. After a
    fork the child begins with none: those of the parent are left alone.
    """

    def __init__(self, open_one: Callable[[], Connection]) -> None:
        self._tx_one = open_one
        self._kept: list[list[Connection]] = []
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._free = threading.BoundedSemaphore(MOST)
        self._idle: list[Connection] = []
        self._kept.append(self._idle)  # closing an inherited one would end it for the parent too

    @contextmanager
    def one(self, seconds: float) -> Generator[Connection]:
        """Lend a connection; raise `TimeoutError` if none becomes free in time."""
        if self._process != os.getpid():
            self._begin()
        free = self._free
        if not free.acquire(timeout=max(0.0, seconds)):
            raise TimeoutError
        try:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)
        finally:
            free.release()

    def close(self) -> None:
        """Close what is not in use."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._tx_one()

    def _give_back(self, connection: Connection) -> None:
        if connection.closed:
            return
        if connection.info.transaction_status == TransactionStatus.IDLE:
            self._idle.append(connection)
        else:  # an interrupt came between statements: the server undoes what was open
            connection.close()


def connect(url: str, extra: dict[str, str]) -> Connection:
    """Return a connection whose transactions we begin and end ourselves."""
    return psycopg.connect(url, autocommit=True, **extra)  # pyright: ignore[reportArgumentType]


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

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Return all rows."""
        return cast(list[Row], self._connection.execute(_to_psycopg(sql), values).fetchall())

    def row(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        """Return the first row, or None."""
        return cast(Row | None, self._connection.execute(_to_psycopg(sql), values).fetchone())

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Return how many rows were changed."""
        return self._connection.execute(_to_psycopg(sql), values).rowcount

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Run one statement for each of `rows`; they go to the server together."""
        if len(rows) == 1:
            self.run(sql, rows[0])
        elif rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(_to_psycopg(sql), rows)

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
def _to_psycopg(sql: str) -> LiteralString:
    """Return a statement with the placeholders of psycopg."""
    return cast(LiteralString, sql.replace("%", "%%").replace("?", "%s"))
