"""PostgreSQL as a database of a store."""

from __future__ import annotations

import random
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from typing import TypeVar, cast
from urllib.parse import quote

import psycopg

from foldaway.errors import StoreUnavailable
from foldaway.search import Match, Reveal, Wanted
from foldaway.stores.bodies import unpack
from foldaway.stores.database import (
    BodyKey,
    MessageRow,
    Packed,
    Row,
    Statements,
    Ticks,
    refuse_read_only,
)
from foldaway.stores.postgres import index, matching
from foldaway.stores.postgres.connections import (
    SCHEMA,
    Connection,
    NotAlone,
    Open,
    PostgresConnections,
    add_trigrams,
    connect,
    describe_unavailable,
    has_trigrams,
    hide_password,
    is_contention,
    is_lost,
    make_ready,
    newest,
    reads,
    settings,
    writes,
)
from foldaway.stores.rows import COLUMNS, put_redaction_numbers, redaction_numbers
from foldaway.stores.sqlite.database import SqliteDatabase, draft_file, open_sqlite
from foldaway.stores.values import TurnUsage

T = TypeVar("T")
PATIENCE_SECONDS = 20.0
"""How long a transaction is tried again. Long enough for a server to be started again."""
_LONGEST_PAUSE_SECONDS = 0.25
_TABLES = (
    "sessions",
    "states",
    "segments",
    "bodies",
    "parts",
    "messages",
    "views",
    "refs",
    "pins",
    "turns",
    "leases",
)
_SIZED = {
    "messages": ("words", "words", "folded"),  # a word stands in the row and in the index
    "bodies": ("packed",),
    "views": ("items", "state", "report"),
    "sessions": ("title", "first_ask", "folded"),
}
_ROW_BYTES = 180
"""Header, numbers and entries of three keys, on the average of `messages` and `bodies`."""
_KEYS = 3
_AT_ONCE = 500
_COPIED = {
    "sessions": f"key, {', '.join(COLUMNS)}, folded, frame",
    "states": "session, state",
    "segments": "session, owner, start, stop",
    "parts": "body, at, part",
    "views": "session, number, previous, created, reason, length, items, state, report",
    "refs": "ref, session, start, stop, kind",
    "pins": "session, position, note",
    "turns": f"session, number, {', '.join(TurnUsage.__struct_fields__)}",
}
"""Leases stay behind: they are of this server's clock."""


def open_postgres(
    url: str, *, profile: str = "default", tenant: str = "", read_only: bool = False
) -> PostgresDatabase:
    """Return the database at an address, its tables made if they are not there.

    Raises `StoreUnavailable`, at once where the server cannot be reached.
    """
    where = hide_password(url)
    extra = settings(url)
    database = PostgresDatabase(
        where,
        _tenant(tenant, profile),
        PostgresConnections(lambda: connect(url, extra)),
        read_only=read_only,
    )
    try:
        database.make_ready()
    except BaseException:
        database.close()
        raise
    return database


class PostgresDatabase:
    """One server. A writer reads what is committed and owns the sessions that it selected."""

    backend = "postgresql"
    for_update = " FOR UPDATE"

    def __init__(
        self, where: str, tenant: str, connections: PostgresConnections, *, read_only: bool
    ) -> None:
        self.where = where
        self.tenant = tenant
        self.read_only = read_only
        self._connections = connections

    def make_ready(self) -> None:
        """Bring the tables up to date; raise `StoreUnavailable` if they cannot be used."""
        self._persist(
            lambda connection: make_ready(
                connection, self.where, self.tenant, read_only=self.read_only
            ),
            may_reconnect=False,
        )

    def read(self, work: Callable[[Statements], T]) -> T:
        """Run `work` on one state of the server; nobody waits for it."""

        def attempt(connection: Connection) -> T:
            tx = reads(connection)
            try:
                return work(tx)
            finally:
                with suppress(psycopg.Error):  # nothing to keep, and the cause is on its way
                    tx.undo()

        return self._persist(attempt)

    def write(self, work: Callable[[Statements], T]) -> T:
        """Run `work`; the server has synced it when this returns.

        Where the connection is lost while it is being committed, the server is asked what became
        of it: it is neither run twice nor reported as failed when it was kept.
        """
        refuse_read_only(self)
        try:
            return self._write(work, alone=False)
        except NotAlone:
            return self._write(work, alone=True)

    def _write(self, work: Callable[[Statements], T], *, alone: bool) -> T:
        doubtful: list[tuple[str, T]] = []

        def attempt(connection: Connection) -> T:
            if doubtful:
                number, result = doubtful[0]
                if _was_kept(connection, number):
                    return result
                doubtful.clear()
            tx = writes(connection, self.tenant, alone=alone)
            try:
                result = work(tx)
                doubtful.append((tx.number, result))
                tx.commit()
                return result
            except psycopg.Error as error:
                if not is_lost(error):
                    doubtful.clear()  # the server has spoken: undone
                raise
            finally:
                with suppress(psycopg.Error):
                    tx.undo()

        return self._persist(attempt, doubtful=doubtful)

    def _persist(
        self,
        attempt: Callable[[Connection], T],
        *,
        may_reconnect: bool = True,
        doubtful: Sequence[object] = (),
    ) -> T:
        """Try again after contention or a lost connection, up to a deadline.

        Pauses of full jitter keep writers that wait for the same row from meeting again.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        longest = 0.002
        while True:
            try:
                with self._connections.one(deadline - time.monotonic()) as connection:
                    return attempt(connection)
            except TimeoutError as error:
                raise self._crowded_error() from error
            except psycopg.Error as error:
                again = is_contention(error) or (may_reconnect and is_lost(error))
                if not again or time.monotonic() >= deadline:
                    raise self._unavailable_error(error, bool(doubtful)) from error
            time.sleep(random.uniform(0.0, longest))
            longest = min(2 * longest, _LONGEST_PAUSE_SECONDS)

    def _unavailable_error(self, error: psycopg.Error, is_doubtful: bool) -> StoreUnavailable:
        if not is_doubtful:
            return describe_unavailable(error, self.where)
        return StoreUnavailable(
            self.where,
            "the connection was lost while a change was being kept, and the server cannot be asked "
            "what became of it",
            remedy="read the session again when the server is back",
        )

    def _crowded_error(self) -> StoreUnavailable:
        return StoreUnavailable(
            self.where,
            "all connections of this process are in use for too long",
            remedy="use fewer threads at a time, or see what the server waits for",
        )

    def now(self, tx: Statements) -> float:
        """Return the server's time of day when the transaction began."""
        return cast(Open, tx).now

    def ticks(self, tx: Statements) -> Ticks:
        """Return the server's time of day: the only clock that all its clients share."""
        found = tx.row("SELECT extract(epoch FROM clock_timestamp())::float8")
        assert found is not None
        return Ticks("", float(found[0]))

    def new_key(self, tx: Statements) -> int:
        """Return a number at random: sequences do not go with every server of this kind."""
        return secrets.randbits(63)

    def put_bodies(self, tx: Statements, bodies: Sequence[Packed]) -> list[BodyKey]:
        """Write what is new, once, no matter who else writes it at the same time."""
        return index.put_bodies(cast(Open, tx), self.tenant, bodies)

    def remove_bodies(self, tx: Statements, keys: Sequence[BodyKey]) -> None:
        """Delete bodies, their addresses with them."""
        index.remove_bodies(cast(Open, tx), self.tenant, keys)

    def put_messages(
        self, tx: Statements, session: int, start: int, rows: Sequence[MessageRow]
    ) -> None:
        """Write messages with their words and their text for substrings."""
        index.put_messages(cast(Open, tx), self.tenant, session, start, rows)

    def remove_messages(self, tx: Statements, session: int) -> int:
        """Take messages out of the log; the indexes follow by themselves."""
        return index.remove_messages(cast(Open, tx), self.tenant, session)

    def replace_message(self, tx: Statements, session: int, position: int, row: MessageRow) -> None:
        """Write a message again with its words and its text for substrings."""
        index.replace_message(cast(Open, tx), self.tenant, session, position, row)

    def match(self, wanted: Wanted, most: int, reveal: Reveal | None = None) -> list[Match]:
        """Return what fits, the best first."""
        return self.read(
            lambda tx: matching.match(cast(Open, tx), self.tenant, wanted, most, reveal)
        )

    def complete_index(self, most: int | None) -> int:
        """Make the index of substrings if there is none and the server can; it never lags."""
        if self.read_only or self.read(has_trigrams):
            return 0

        def complete(connection: Connection) -> int:
            if not add_trigrams(connection):
                return 0
            found = connection.execute(f"SELECT count(*) FROM {SCHEMA}.messages").fetchone()
            return int(str(found[0])) if found else 0

        return self._persist(complete)

    def unindexed(self, tx: Statements) -> int:
        """Return 0: a message and all its indexes come with one transaction."""
        return 0

    def stored_bytes(self) -> int:
        """Return about what the tenant's rows and their places in the indexes take.

        Without the room that the server keeps for later: what is erased counts no more, although
        the files keep their size until others write there.
        """

        def measure(tx: Statements) -> int:
            total = 0
            for table, columns in _SIZED.items():
                sizes = " + ".join(f"pg_column_size({column})" for column in columns)
                row = tx.row(
                    f"SELECT coalesce(sum({sizes} + ?), 0) FROM {table} WHERE tenant = ?",
                    (_ROW_BYTES + len(self.tenant) * _KEYS, self.tenant),
                )
                total += int(row[0]) if row else 0
            return total

        return self.read(measure)

    def schema(self) -> int:
        """Return the number of the newest migration, which an open store always has."""
        return newest()

    def version(self) -> str:
        """Return PostgreSQL's version."""
        return self.read(lambda tx: str((tx.row("SHOW server_version") or ("",))[0]))

    def problems(self, deep: bool) -> tuple[str, ...]:
        """Return what the server says of its indexes; bodies and logs are checked above this."""
        rows = self.read(
            lambda tx: tx.rows(
                "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
                " JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE n.nspname = ? AND NOT (i.indisvalid AND i.indisready)",
                (SCHEMA,),
            )
        )
        return tuple(f"the index {row[0]} is not complete; run REINDEX" for row in rows)

    def analyze(self) -> None:
        """Have the server look at samples of the tables, as it would by itself some minutes later;
        where somebody else owns them, it says so and does not.
        """
        tables = ", ".join(f"{SCHEMA}.{table}" for table in _TABLES)
        self._persist(lambda connection: connection.execute(f"ANALYZE {tables}".encode()))

    def reclaim(self, *, fully: bool = False) -> tuple[str, ...]:
        """Let the server use the room of what was deleted, and forget it in its indexes.

        `fully` writes its tables again, what it knows of their values with them: a page keeps the
        bytes of a row that is gone until others are written there.
        """
        left: list[str] = []

        def vacuum(connection: Connection) -> None:
            left.clear()
            for table in _TABLES:
                if fully:
                    left.extend(_rewrite_table(connection, f"{SCHEMA}.{table}"))
                else:
                    connection.execute(f"VACUUM {SCHEMA}.{table}".encode())
            if fully:
                with suppress(psycopg.errors.InsufficientPrivilege):  # for the owner only
                    connection.execute("VACUUM FULL pg_catalog.pg_statistic")

        if not self.read_only:
            self._persist(vacuum)
        return tuple(left)

    def files(self) -> tuple[str, ...]:
        """Return nothing: the files are the server's."""
        return ()

    def backup(self, path: str) -> None:
        """Write what the tenant has to a new SQLite file, which opens as a store."""
        with draft_file(path, ".db") as copy, closing(open_sqlite(copy)) as target:
            self.read(lambda tx: target.write(lambda into: _copy(tx, self.tenant, target, into)))

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()


def _rewrite_table(connection: Connection, table: str) -> Iterator[str]:
    """Write a table and its indexes again; yield a sentence if deleted rows had to stay in it."""
    said: list[str] = []

    def hear(notice: psycopg.errors.Diagnostic) -> None:
        said.append(notice.message_detail or "")

    connection.add_notice_handler(hear)
    connection.execute("SET lock_timeout TO '20s'")
    try:
        connection.execute(f"VACUUM (FULL, VERBOSE, ANALYZE) {table}".encode())
    except psycopg.errors.LockNotAvailable:
        yield f"{table} could not be rewritten: another transaction on the server uses it"
    finally:
        connection.execute("RESET lock_timeout")
        connection.remove_notice_handler(hear)
    kept = [found for one in said if (found := _DEAD_ROWS.match(one)) and int(found[1])]
    if kept:
        yield (
            f"{table} keeps {kept[0][1]} deleted rows that an open transaction on the server may "
            "still read"
        )


_DEAD_ROWS = re.compile(r"([0-9]+) dead row versions cannot be removed yet")
"""What the server says of rows that it could not leave out."""


def _was_kept(connection: Connection, number: str) -> bool:
    """Return what became of a transaction whose connection was lost.

    If it still waits for an end that cannot come any more, it is ended first.
    """
    while True:
        found = connection.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone()
        status = found[0] if found else None
        if status != "in progress":
            return status == "committed"
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE backend_xid = %s::xid8::xid",
            (number,),
        )


def _tenant(tenant: str, profile: str) -> str:
    """Return one name for both; different pairs have different names."""
    return f"{quote(tenant, safe='')}/{quote(profile, safe='')}"


def _copy(tx: Statements, tenant: str, target: SqliteDatabase, into: Statements) -> None:
    put_redaction_numbers(into, target.tenant, redaction_numbers(tx, tenant))
    for table, columns in _COPIED.items():
        places = ", ".join("?" * (columns.count(",") + 2))
        into.many(
            f"INSERT INTO {table} (tenant, {columns}) VALUES ({places})",
            [
                (target.tenant, *row)
                for row in tx.rows(f"SELECT {columns} FROM {table} WHERE tenant = ?", (tenant,))
            ],
        )
    for rows in _pages(tx, tenant, "bodies", "key", "key, address, size, parts, packed"):
        into.many(
            "INSERT INTO bodies (key, tenant, size, parts, packed) VALUES (?, ?, ?, ?, ?)",
            [(key, target.tenant, size, parts, packed) for key, _, size, parts, packed in rows],
        )
        into.many(
            "INSERT INTO addresses (tenant, address, body) VALUES (?, ?, ?)",
            [(target.tenant, address, key) for key, address, *_ in rows],
        )
    columns = "id, session, position, body, role, tools, time, key, tokens, generated"
    for rows in _pages(tx, tenant, "messages", "id", columns):
        for _, session, position, body, role, tools, when, key, tokens, generated in rows:
            text = _text(into, target.tenant, body)
            message = MessageRow(body, role, tools, when, key, tokens, generated, text)
            target.put_messages(into, session, position, [message])


def _pages(tx: Statements, tenant: str, table: str, key: str, columns: str) -> Iterator[list[Row]]:
    last = -1
    while rows := tx.rows(
        f"SELECT {columns} FROM {table} WHERE tenant = ? AND {key} > ? ORDER BY {key} LIMIT ?",
        (tenant, last, _AT_ONCE),
    ):
        yield rows
        last = rows[-1][0]


def _text(into: Statements, tenant: str, body: int) -> str:
    row = into.row("SELECT parts, packed FROM bodies WHERE key = ?", (body,))
    return unpack(into, tenant, body, *row)[1].decode() if row else ""
