"""SQLite as a database of a store."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# the types of apsw name one that Python has from 3.12 on

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import quote

import apsw
import zstandard

from foldaway._core import sync_folder
from foldaway.errors import StoreUnavailable
from foldaway.search import Match, Reveal, Wanted
from foldaway.stores.bodies import address_of, content_of
from foldaway.stores.database import (
    BodyKey,
    MessageRow,
    Packed,
    Row,
    Statements,
    Ticks,
    Value,
    refuse_read_only,
)
from foldaway.stores.sqlite import index, matching
from foldaway.stores.sqlite.connections import SqliteConnections
from foldaway.stores.sqlite.opening import (
    MEMORY,
    PATIENCE_SECONDS,
    check_readable,
    connect,
    is_older,
    make_ready,
    named,
    newest,
    open_connection,
    persist,
    translate_error,
)

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be deleted anyway
    fcntl = None

T = TypeVar("T")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
DRAFT = ".foldaway-"
"""What the name of a file begins with that becomes a backup."""
_DRAFT_NAME = re.compile(r"(\.foldaway-[a-z0-9_]{8}\.(?:backup|db))(?:-wal|-shm|-journal)?")
_REWRITE = ("PRAGMA temp_store = DEFAULT", "VACUUM", "PRAGMA temp_store = MEMORY")
"""The new file is written on the disk: in memory it would take as much as the whole store."""
_PAGES_AT_ONCE = 1000
"""Of a backup, 4 MB: between two steps a writer gets its turn."""


def open_sqlite(path: str, *, tenant: str = "", read_only: bool = False) -> SqliteDatabase:
    """Return the database in a file, made if it is not there; raise `StoreUnavailable`."""
    with named(path):  # closing a connection may fail too
        held = connect(path) if path.startswith(MEMORY) else None
        if read_only:
            if not os.path.exists(path):
                raise StoreUnavailable(
                    path, "there is no such file", remedy="name another, or open it for writing"
                )
            connection = connect(path, read_only=True)
            try:
                if is_older(connection):
                    with suppress(StoreUnavailable):  # whose file it is says the check
                        make_ready(path)
                check_readable(connection, path)
            finally:
                connection.close()
        else:
            make_ready(path)
        return SqliteDatabase(path, tenant, read_only=read_only, held=held)


class SqliteDatabase:
    """One file. WAL, every commit synced; a writer owns the file from its first statement on."""

    backend = "sqlite"
    for_update = ""

    def __init__(
        self, path: str, tenant: str, *, read_only: bool, held: apsw.Connection | None = None
    ) -> None:
        self.where = path
        self.tenant = tenant
        self.read_only = read_only
        self._held = held  # what is in memory is there as long as one connection is
        self._connections = SqliteConnections(path, lambda: connect(path, read_only=read_only))
        # kept open between calls: closing the last connection would write the whole log back
        self.read(lambda tx: None)

    def read(self, work: Callable[[Statements], T]) -> T:
        """Run `work` on one state of the file; writers do not wait for it."""
        with named(self.where), self._connections.reader() as connection:
            return persist(lambda: _run_within(connection, "BEGIN", work))

    def write(self, work: Callable[[Statements], T]) -> T:
        """Run `work` alone; it is on the disk when this returns."""
        refuse_read_only(self)
        deadline = time.monotonic() + PATIENCE_SECONDS
        try:  # what `named` and `writer` do, without their steps: every append passes here
            connection = self._connections.take(PATIENCE_SECONDS)
            try:
                return _run_within(connection, "BEGIN IMMEDIATE", work)
            except (apsw.BusyError, apsw.LockedError):
                left = max(0.0, deadline - time.monotonic())
                return persist(lambda: _run_within(connection, "BEGIN IMMEDIATE", work), left)
            finally:
                self._connections.give_back()
        except apsw.Error as error:
            found = translate_error(self.where, error)
            if found is error:
                raise
            raise found from error

    def now(self, tx: Statements) -> float:
        """Return the time of day of this machine."""
        return time.time()

    def ticks(self, tx: Statements) -> Ticks:
        """Return the time since this machine was started."""
        return ticks()

    def new_key(self, tx: Statements) -> int:
        """Return the next number: a writer is alone."""
        return int(_single_value(tx.row("SELECT coalesce(max(key), 0) + 1 FROM sessions")))

    def put_bodies(self, tx: Statements, bodies: Sequence[Packed]) -> list[BodyKey]:
        """Write what is new, once."""
        return [self._put_body(tx, body) for body in bodies]

    def _put_body(self, tx: Statements, body: Packed) -> int:
        tenant, address = self.tenant, body.address
        known = tx.row(
            "SELECT body FROM addresses WHERE tenant = ? AND address = ?", (tenant, address)
        )
        if known:
            return known[0]
        key = cast(_Open, tx).insert(  # RETURNING takes twice its time
            "INSERT INTO bodies VALUES (NULL, ?, ?, ?, ?)",
            (tenant, body.size, len(body.parts), body.packed),
        )
        tx.run("INSERT INTO addresses VALUES (?, ?, ?)", (tenant, address, key))
        if body.parts:
            parts = [(tenant, key, at, self._put_body(tx, part)) for at, part in body.parts]
            tx.many("INSERT INTO parts VALUES (?, ?, ?, ?)", parts)
        return key

    def remove_bodies(self, tx: Statements, keys: Sequence[BodyKey]) -> None:
        """Delete bodies and their addresses, which their contents tell; if one is damaged, all
        addresses are looked through.
        """
        gone = "DELETE FROM addresses WHERE tenant = ? AND body = ?"
        for key in keys:
            rows = tx.rows("SELECT tenant, key, parts, packed FROM bodies WHERE key = ?", (key,))
            both = list[bytes]()
            with suppress(zstandard.ZstdError, IndexError):
                content = content_of(tx, *rows[0])
                both = [address_of(content, is_part=is_part) for is_part in (True, False)]
            told = both and tx.run(f"{gone} AND address IN (?, ?)", (self.tenant, key, *both))
            if not told:
                tx.run(gone, (self.tenant, key))
        tx.many("DELETE FROM bodies WHERE key = ?", [(key,) for key in keys])

    def put_messages(
        self, tx: Statements, session: int, start: int, rows: Sequence[MessageRow]
    ) -> None:
        """Write messages; their words and substrings follow later."""
        index.put_messages(tx, cast(_Open, tx).insert, self.tenant, session, start, rows)

    def remove_messages(self, tx: Statements, session: int) -> int:
        """Take messages out of log and indexes."""
        return index.remove_messages(tx, self.tenant, session)

    def replace_message(self, tx: Statements, session: int, position: int, row: MessageRow) -> None:
        """Write a message again in log and indexes."""
        index.replace_message(tx, self.tenant, session, position, row)

    def match(self, wanted: Wanted, most: int, reveal: Reveal | None = None) -> list[Match]:
        """Return what fits, the best first; what an index lacks is looked through."""
        if matching.reads_substrings(wanted) and not self.read_only:
            with suppress(StoreUnavailable):  # a search must not fail because the file is busy
                if self.read(self.unindexed):
                    self.complete_index(None)
        return self.read(lambda tx: matching.match(tx, self.tenant, wanted, most, reveal))

    def complete_index(self, most: int | None) -> int:
        """Index substrings in short transactions, so that no writer waits long."""
        return index.complete(self.write, most)

    def unindexed(self, tx: Statements) -> int:
        """Return how far the substring index is behind."""
        return index.count_missing(tx)

    def stored_bytes(self) -> int:
        """Return the size of the file and of its log."""
        total = 0
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                total += os.stat(self.where + suffix).st_size
        return total

    def schema(self) -> int:
        """Return the number of the newest migration, which an open file always has."""
        return newest()

    def version(self) -> str:
        """Return SQLite's version."""
        return apsw.sqlite_lib_version()

    def problems(self, deep: bool) -> tuple[str, ...]:
        """Return what SQLite's check finds; `deep` also reads indexes against their tables."""
        # a connection that has read an index takes it for damaged once another one has merged it
        with named(self.where), closing(connect(self.where, read_only=self.read_only)) as fresh:
            check = "integrity_check" if deep else "quick_check"
            rows: list[Row] = fresh.execute(f"PRAGMA {check}(20)").fetchall()
        found = [str(row[0]) for row in rows]
        return () if found == ["ok"] else tuple(found)

    def analyze(self) -> None:
        """Do nothing: plans are by the order of the columns."""

    def reclaim(self, *, fully: bool = False) -> tuple[str, ...]:
        """Write the file again, and first the blocks of indexes from which something was deleted:
        a deleted word stays in its index until that is merged.
        """
        if self.read_only:
            return ()
        for number in self.read(index.unmerged):
            self.write(lambda tx, number=number: index.merge(tx, number))
        with named(self.where), self._connections.writer(PATIENCE_SECONDS) as connection:
            for sql in _REWRITE:
                persist(lambda sql=sql: connection.execute(sql))
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:  # a reader still needs the log; the next commit tries
                return (f"{self.where}-wal is still being read by another process",)
        return ()

    def files(self) -> tuple[str, ...]:
        """Return the file and what SQLite and unfinished backups left beside it."""
        folder, name = os.path.split(os.path.abspath(self.where))
        if not os.path.isdir(folder) or self.where.startswith(MEMORY):
            return ()
        ours = (name, f"{name}-wal", f"{name}-shm", f"{name}-journal")
        return tuple(
            os.path.join(folder, one)
            for one in sorted(os.listdir(folder))
            if one in ours or one.startswith(DRAFT)
        )

    def backup(self, path: str) -> None:
        """Write a copy beside `path`, then put it in its place."""
        with (
            named(self.where),
            self._connections.reader() as connection,
            draft_file(path, ".backup") as copy,
            closing(open_connection(f"file:{quote(copy)}", apsw.SQLITE_OPEN_READWRITE)) as target,
            target.backup("main", connection, "main") as step,
        ):
            while not step.done:
                persist(lambda: step.step(_PAGES_AT_ONCE))

    def close(self) -> None:
        """Close all connections."""
        with named(self.where):
            self._connections.close()


class _Open:
    """A transaction on a connection. Each statement is done before the next, so one cursor does."""

    __slots__ = ("_connection", "_cursor")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()

    def control(self, sql: str) -> None:
        self._cursor.execute(sql)

    def insert(self, sql: str, values: Sequence[Value]) -> int:
        """Insert one row; return its number."""
        self._cursor.execute(sql, values)
        return self._connection.last_insert_rowid()

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        return self._cursor.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Value] = ()) -> Row | None:
        found = self._cursor.execute(sql, values).fetchall()
        return found[0] if found else None

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        self._cursor.execute(sql, values)
        return self._connection.changes()

    def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        self._cursor.executemany(sql, rows)


def _run_within(connection: apsw.Connection, begin: str, work: Callable[[Statements], T]) -> T:
    if connection.in_transaction:  # an interrupt came between its beginning and its end
        connection.execute("ROLLBACK")
    tx = _Open(connection)
    try:
        tx.control(begin)
        result = work(tx)
        tx.control("COMMIT")
    finally:  # an interrupt too must not leave the transaction open
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return result


def _single_value(row: Row | None) -> Any:
    assert row is not None
    return row[0]


def ticks() -> Ticks:
    """Return the seconds since this machine was started, sleep included.

    Setting the time of day changes nothing, and a lease from before a restart is over: its
    epoch is another. Where a system tells neither, the time of day has to do.
    """
    epoch = _boot()
    if epoch:
        return Ticks(epoch, time.clock_gettime(time.CLOCK_BOOTTIME))
    return Ticks("", time.time())


@cache
def _boot() -> str:
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return ""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


@contextmanager
def draft_file(path: str, suffix: str) -> Generator[str]:
    """Give the name of an empty file beside `path`, which takes its place if the body is through.

    Raises `StoreUnavailable` if none can be made. What SQLite leaves beside it goes too.
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        clear_drafts(folder)
        number, draft = _make_draft(folder, suffix)
    except OSError as error:
        raise StoreUnavailable(
            path,
            f"the backup cannot be written ({error.strerror})",
            remedy="name a folder that exists and can be written",
        ) from error
    try:
        yield draft
        os.replace(draft, path)
        sync_folder(Path(folder))
    finally:
        if number >= 0:  # not closed earlier: its lock says that somebody is at it
            os.close(number)
        for leftover in (draft, f"{draft}-wal", f"{draft}-shm"):
            with suppress(FileNotFoundError):
                os.unlink(leftover)


def _make_draft(folder: str, suffix: str) -> tuple[int, str]:
    number, draft = tempfile.mkstemp(dir=folder, prefix=DRAFT, suffix=suffix)
    if fcntl is None:
        os.close(number)
        return -1, draft
    fcntl.flock(number, fcntl.LOCK_EX)
    return number, draft


def clear_drafts(folder: str) -> list[str]:
    """Delete what backups left in a folder that were killed, and return the names; what somebody
    is still writing stays.
    """
    names = {one[0]: one[1] for name in os.listdir(folder) if (one := _DRAFT_NAME.fullmatch(name))}
    gone: list[str] = []
    for name, draft in sorted(names.items()):  # a draft comes before what SQLite has beside it
        path = os.path.join(folder, name)
        if name != draft and draft in names and draft not in gone:
            continue
        with suppress(OSError), open(path, "rb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
            gone.append(name)
    return gone
