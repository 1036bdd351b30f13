"""Files: made, checked, brought up to date, opened."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TypeVar
from urllib.parse import quote

import apsw

from holdfast.errors import StoreUnavailable
from holdfast.stores.sqlite.connection import Connection, opened
from holdfast.stores.sqlite.trouble import named

T = TypeVar("T")
APPLICATION = 0x484F4C44
"""Marks a file as ours: `HOLD`, in the header where SQLite has room for it."""
PATIENCE_SECONDS = 20.0
"""How long a busy file is tried again. Far above what a writer needs, below what a person waits."""
_BUSY_MILLISECONDS = 5
"""Short, because SQLite's own pauses grow: whoever sleeps long is overtaken again and again."""
_SHORT_PAUSE_SECONDS, _LONG_PAUSE_SECONDS = 0.002, 0.1
_SHORT_PAUSES_SECONDS = 2.0
"""For so long pauses are short. An ordinary writer is done by then; a backup or a vacuum is not."""
_SETTINGS = """
PRAGMA synchronous = FULL;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 33554432;
"""


def make_ready(path: str) -> None:
    """Make the file if it is not there, and bring its tables up to date."""
    if not os.path.exists(path):
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


def connect(path: str, *, read_only: bool = False) -> Connection:
    """Return a connection with our settings to a file that is there."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
    with named(path):
        connection = opened(_as_uri(path, read_only=read_only), flags)
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        try:  # the first statement may find another process at mending what a dead one left
            persist(lambda: connection.execute(_SETTINGS))
        except apsw.Error:
            connection.close()
            raise
    return connection


def check(connection: Connection, path: str) -> None:
    """Raise `StoreUnavailable` where the file is not ours, or was made by a newer version."""
    application, schema = _application(connection), _schema(connection)
    if application != APPLICATION and not _is_empty(connection):
        raise StoreUnavailable(
            path,
            "the file is a database of another program",
            remedy="name another file; nothing in this one was changed",
        )
    if schema > newest():
        raise StoreUnavailable(
            path,
            f"the file was written by a newer version (schema {schema}, this one knows {newest()})",
            remedy="update holdfast; nothing in the file was changed",
        )


def check_readable(connection: Connection, path: str) -> None:
    """Raise `StoreUnavailable` where the file cannot be read as it is."""
    with named(path):
        persist(lambda: check(connection, path))
        if _schema(connection) < newest():
            raise StoreUnavailable(
                path,
                "the file is empty or was written by an older version",
                remedy="open it once for writing, which brings it up to date",
            )


@cache
def newest() -> int:
    """Return the number of the newest migration."""
    return max(_migrations())


def persist(attempt: Callable[[], T], seconds: float = PATIENCE_SECONDS) -> T:
    """Try again while the file is busy, with pauses of random length, up to a deadline.

    Pauses of full jitter keep writers that wait for the same lock from meeting again. They do not
    grow at first: a writer that has just finished tries again at once, and whoever sleeps longer
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
            path,
            f"the file cannot be made ({reason})",
            remedy="see that its folder can be written",
        ) from error


def _as_uri(path: str, *, read_only: bool) -> str:
    """Return the name for SQLite. In a folder that nobody can write to, a file is read as it lies:
    the usual way needs a second file beside it.
    """
    uri = f"file:{quote(os.path.abspath(path))}"
    folder = os.path.dirname(os.path.abspath(path))
    if read_only and not os.access(folder, os.W_OK) and not os.path.exists(f"{path}-wal"):
        return f"{uri}?immutable=1"
    return uri


def _migrate(connection: Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        done = _schema(connection)
        for number, sql in sorted(_migrations().items()):
            if number > done:
                connection.execute(sql)
        connection.pragma("application_id", APPLICATION)
        connection.pragma("user_version", newest())
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@cache
def _migrations() -> dict[int, str]:
    folder = files("holdfast.stores.sqlite") / "migrations"
    return {
        int(entry.name.removesuffix(".sql")): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    }


def _is_empty(connection: Connection) -> bool:
    counted = connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    return counted[0][0] == 0 and _application(connection) == 0


def _application(connection: Connection) -> int:
    return int(connection.pragma("application_id"))


def _schema(connection: Connection) -> int:
    return int(connection.pragma("user_version"))
