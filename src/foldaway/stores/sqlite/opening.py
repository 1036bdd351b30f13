"""Files: made, checked, brought up to date, opened."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# the types of apsw name one that Python has from 3.12 on

from __future__ import annotations

import os
import random
import shlex
import time
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import quote

import apsw

from foldaway._core import log_event
from foldaway.errors import StoreUnavailable
from foldaway.stores.database import migrations, note_of_version, refuse_newer, sentences_for

T = TypeVar("T")
APPLICATION = 0x484F4C44
"""Marks a file as ours, in the header of every SQLite file. It never changes."""
PATIENCE_SECONDS = 20.0
"""How long a busy file is tried again. Far above what a writer needs, below what a person waits."""
_BUSY_MILLISECONDS = 5
"""Short, because SQLite's own pauses grow: anyone who sleeps long is overtaken again and again."""
_SHORT_PAUSE_SECONDS, _LONG_PAUSE_SECONDS = 0.002, 0.1
_SHORT_PAUSES_SECONDS = 2.0
"""For so long pauses are short. An ordinary writer is done by then; a backup or a vacuum is not."""
_SETTINGS = """
PRAGMA synchronous = FULL;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 33554432;
"""
MEMORY = ":memory:"
"""What the name of a database begins with that is in no file; all of its connections see it, and
it goes with the last of them."""
RESTORE = (
    "move it away and put a backup in its place (`foldaway sessions backup` writes them); without "
    "one, `foldaway doctor --store {where} --salvage` copies what can still be read to a new store"
)
_WHAT = sentences_for("sqlite")
"""Read now: when an error comes, a file may be one too many."""


def make_ready(path: str) -> None:
    """Make the file if it is not there, and bring its tables up to date."""
    if not path.startswith(MEMORY) and not os.path.exists(path):
        _make_file(path)
    connection = connect(path)
    try:
        with named(path):
            if persist(lambda: _is_empty(connection)):
                persist(lambda: connection.pragma("journal_mode", "wal"))
            persist(lambda: check(connection, path))
            if _schema(connection) < newest():
                persist(lambda: _migrate(connection))
    finally:
        connection.close()


def connect(path: str, *, read_only: bool = False) -> apsw.Connection:
    """Return a connection with our settings to a file that is there."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
    with named(path):
        connection = open_connection(_as_uri(path, read_only=read_only), flags)
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        # otherwise sessions are looked up by a plan that is made again each time, ten times slower
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        try:  # the first statement may find another process at repairing what a dead one left
            persist(lambda: connection.execute(_SETTINGS))
        except apsw.Error:
            connection.close()
            raise
    return connection


def open_connection(name: str, flags: int) -> apsw.Connection:
    """Return a connection to a file, named by path or URI."""
    return apsw.Connection(name, flags=flags | apsw.SQLITE_OPEN_URI)


def check(connection: apsw.Connection, path: str) -> None:
    """Raise `StoreUnavailable` if the file is not ours, or was made by a newer version.

    Another process may fill an empty file between two reads. It writes its mark with the tables,
    so the mark is read after them.
    """
    if not _is_empty(connection) and _application(connection) != APPLICATION:
        raise StoreUnavailable(
            path,
            "the file is a database of another program",
            remedy="name another file; nothing in this one was changed",
        )
    refuse_newer(path, "file", _schema(connection), newest())


def is_older(connection: apsw.Connection) -> bool:
    """Return whether an older version wrote the file. An empty file has no version."""
    return _application(connection) == APPLICATION and _schema(connection) < newest()


def check_readable(connection: apsw.Connection, path: str) -> None:
    """Raise `StoreUnavailable` where the file cannot be read as it is."""
    with named(path):
        persist(lambda: check(connection, path))
        if _schema(connection) < newest():
            raise StoreUnavailable(
                path,
                "the file is empty, or an older version wrote it and it cannot be changed",
                remedy="make it writable once, so that it is brought up to date",
            )


def newest() -> int:
    """Return the number of the newest migration."""
    return max(migrations("sqlite"))


def persist(attempt: Callable[[], T], seconds: float = PATIENCE_SECONDS) -> T:
    """Try again while the file is busy, with pauses of random length, up to a deadline.

    Pauses of full jitter keep writers that wait for the same lock from meeting again. They do not
    grow at first: a writer that has just finished tries again at once, and anyone who sleeps longer
    than it writes would hardly ever find the file free.
    """
    began = time.monotonic()
    while True:
        try:
            return attempt()
        except (apsw.BusyError, apsw.LockedError):
            waited = time.monotonic() - began
            if waited >= seconds:
                raise
        is_early = waited < _SHORT_PAUSES_SECONDS
        time.sleep(random.uniform(0.0, _SHORT_PAUSE_SECONDS if is_early else _LONG_PAUSE_SECONDS))


def _make_file(path: str) -> None:
    """Make an empty file that only its owner can read; SQLite gives its other files the same.

    Only a file that was not there is opened: closing one that SQLite has open drops its locks.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        pass  # another process made it meanwhile
    except FileNotFoundError as error:
        raise StoreUnavailable(
            path, "its folder does not exist", remedy="make the folder or name another"
        ) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "") or str(error)
        raise StoreUnavailable(
            path, f"the file cannot be made ({reason})", remedy="see that its folder can be written"
        ) from error


def _as_uri(path: str, *, read_only: bool) -> str:
    """Return the name for SQLite. In a folder that nobody can write to, a file is read as it lies:
    the usual way needs a second file beside it.
    """
    if path.startswith(MEMORY):
        return f"file:/foldaway-{quote(path[len(MEMORY) :])}?vfs=memdb"
    uri = f"file:{quote(os.path.abspath(path))}"
    folder = os.path.dirname(os.path.abspath(path))
    if read_only and not os.access(folder, os.W_OK) and not os.path.exists(f"{path}-wal"):
        return f"{uri}?immutable=1"
    return uri


def _migrate(connection: apsw.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        done = _schema(connection)
        for number, sql in migrations("sqlite").items():
            if number > done:
                connection.execute(sql)
        note = (note_of_version(done), newest())
        connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", note)
        connection.pragma("application_id", APPLICATION)
        connection.pragma("user_version", newest())
        connection.execute("COMMIT")
        log_event("store.migrated", kind="sqlite", from_schema=done, to_schema=newest())
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _is_empty(connection: apsw.Connection) -> bool:
    counted = connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    return counted[0][0] == 0 and _application(connection) == 0


def _application(connection: apsw.Connection) -> int:
    return int(connection.pragma("application_id"))


def _schema(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def translate_error(where: str, error: apsw.Error) -> Exception:
    """Return what SQLite finds wrong with a file in one sentence, itself if that is a bug."""
    for name, (what, remedy) in _WHAT.items():
        if isinstance(error, getattr(apsw, name)):
            remedy = (remedy or RESTORE).replace("{where}", shlex.quote(where))
            return StoreUnavailable(where, what, remedy=remedy)
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
            found = translate_error(self._where, error)
            if found is not error:
                raise found from error
