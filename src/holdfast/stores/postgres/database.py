"""PostgreSQL as a database of a store."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar, cast
from urllib.parse import quote

import psycopg

from holdfast.errors import StoreUnavailable
from holdfast.search.values import Match, Reveal, Wanted
from holdfast.stores.database import BodyKey, MessageRow, Packed, Statements, Ticks
from holdfast.stores.postgres import index, matching, upkeep
from holdfast.stores.postgres.backup import backup
from holdfast.stores.postgres.connections import PostgresConnections, connect
from holdfast.stores.postgres.opening import Connection, has_trigrams, make_ready, newest, settings
from holdfast.stores.postgres.statements import NotAlone, Open, reads, writes
from holdfast.stores.postgres.trouble import is_contention, is_lost, shown, unavailable

T = TypeVar("T")
PATIENCE_SECONDS = 20.0
"""How long a transaction is tried again. Long enough for a server to be started anew."""
_LONGEST_PAUSE_SECONDS = 0.25


def open_postgres(
    url: str, *, profile: str = "default", tenant: str = "", read_only: bool = False
) -> PostgresDatabase:
    """Return the database at an address, its tables made if they are not there.

    Raises `StoreUnavailable`, at once where the server cannot be reached.
    """
    where = shown(url)
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
        """Bring the tables up to date; raise `StoreUnavailable` where they cannot be used."""
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
        if self.read_only:
            raise StoreUnavailable(
                self.where, "the store was opened read-only", remedy="open it for writing"
            )
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
                raise self._crowded() from error
            except psycopg.Error as error:
                again = is_contention(error) or (may_reconnect and is_lost(error))
                if not again or time.monotonic() >= deadline:
                    raise self._unavailable(error, bool(doubtful)) from error
            time.sleep(random.uniform(0.0, longest))
            longest = min(2 * longest, _LONGEST_PAUSE_SECONDS)

    def _unavailable(self, error: psycopg.Error, is_doubtful: bool) -> StoreUnavailable:
        if not is_doubtful:
            return unavailable(error, self.where)
        return StoreUnavailable(
            self.where,
            "the connection was lost while a change was being kept, and the server cannot be asked "
            "what became of it",
            remedy="read the session again when the server is back",
        )

    def _crowded(self) -> StoreUnavailable:
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
        """Write what is new, once, whoever else writes it at the same time."""
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

    def match(self, wanted: Wanted, most: int, reveal: Reveal | None = None) -> list[Match]:
        """Return what fits, the best first."""
        return self.read(
            lambda tx: matching.match(cast(Open, tx), self.tenant, wanted, most, reveal)
        )

    def complete_index(self, most: int | None) -> int:
        """Make the index of substrings if there is none and the server can; it never lags."""
        if self.read_only or self.read(has_trigrams):
            return 0
        return self._persist(upkeep.complete)

    def unindexed(self, tx: Statements) -> int:
        """Return 0: a message and all its indexes come with one transaction."""
        return 0

    def stored_bytes(self) -> int:
        """Return the tenant's share of the tables, by the size of its bodies."""
        return self.read(lambda tx: upkeep.stored_bytes(tx, self.tenant))

    def schema(self) -> int:
        """Return the number of the newest migration, which an open store always has."""
        return newest()

    def version(self) -> str:
        """Return PostgreSQL's version."""
        return self.read(lambda tx: str((tx.row("SHOW server_version") or ("",))[0]))

    def problems(self, deep: bool) -> tuple[str, ...]:
        """Return what the server says of its indexes; bodies and logs are checked above this."""
        return self.read(upkeep.problems)

    def reclaim(self) -> None:
        """Let the server use the room of what was deleted."""
        if not self.read_only:
            self._persist(upkeep.reclaim)

    def backup(self, path: str) -> None:
        """Write what the tenant has to a new SQLite file, which opens as a store."""
        self.read(lambda tx: backup(tx, self.tenant, path))

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()


def _was_kept(connection: Connection, number: str) -> bool:
    """Return what became of a transaction whose connection was lost.

    Where it still waits for an end that cannot come any more, it is ended first.
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
