"""A whole file: its check, its copy, its room."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote

import apsw

from holdfast.stores.draft import drafted
from holdfast.stores.sqlite.connection import Connection, opened
from holdfast.stores.sqlite.opening import persist

_PAGES_AT_ONCE = 1000


def problems(connection: Connection, *, deep: bool) -> tuple[str, ...]:
    """Return what SQLite's own check finds; `deep` also reads indexes against their tables."""
    check = "integrity_check" if deep else "quick_check"
    found = [str(row[0]) for row in connection.execute(f"PRAGMA {check}(20)").fetchall()]
    return () if found == ["ok"] else tuple(found)


def reclaim(connection: Connection) -> None:
    """Write indexes and file anew: a deleted word stays in its index until that is merged."""
    for table in ("words", "trigrams"):
        persist(lambda table=table: connection.execute(
            f"INSERT INTO {table} ({table}) VALUES ('optimize')"
        ))  # fmt: skip
    persist(lambda: connection.execute("VACUUM"))
    with suppress(apsw.BusyError):  # a reader still needs the log; the next commit tries again
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def backup(connection: Connection, path: str) -> None:
    """Write a copy of one state to `path`, whole or not at all."""
    with drafted(path, ".backup") as copy:
        target = opened(f"file:{quote(copy)}", apsw.SQLITE_OPEN_READWRITE)
        try:
            with target.backup("main", connection, "main") as step:
                while not step.done:
                    persist(lambda step=step: step.step(_PAGES_AT_ONCE))
        finally:
            target.close()
