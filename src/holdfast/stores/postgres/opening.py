"""Servers: reached, checked, brought up to date."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import StoreUnavailable
from holdfast.stores.database import Statements

Connection: TypeAlias = "psycopg.Connection[tuple[object, ...]]"

SCHEMA = "holdfast"
"""Our tables stand in a schema of their own: a host may keep its own in the same database."""
OLDEST_SERVER = 140000
"""`pg_terminate_backend` that waits came with PostgreSQL 14."""
_SETTINGS = {
    "connect_timeout": "10",
    "application_name": "holdfast",
    "keepalives_idle": "30",
    "tcp_user_timeout": "30000",
    "client_encoding": "utf8",
}
_BEGIN = f"BEGIN; SET LOCAL search_path TO {SCHEMA}; "
_TRIGRAM_INDEX = "messages_by_trigrams"


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
    done = _check(_schema_number(connection), where)
    if read_only and done < newest():
        raise StoreUnavailable(
            where,
            "the store is not there yet or was written by an older version",
            remedy="open it once for writing, which brings it up to date",
        )
    if done < newest():
        _migrate(connection, where)
    if not read_only:
        connection.execute(
            f"INSERT INTO {SCHEMA}.tenants (tenant) VALUES (%s) ON CONFLICT DO NOTHING", (tenant,)
        )


@cache
def newest() -> int:
    """Return the number of the newest migration."""
    return max(_migrations())


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


def _check(done: int, where: str) -> int:
    if done > newest():
        raise StoreUnavailable(
            where,
            f"the store was written by a newer version (schema {done}, this one knows {newest()})",
            remedy="update holdfast; nothing in the store was changed",
        )
    return done


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
        done = _check(_schema_number(connection), where)
        for number, sql in sorted(_migrations().items()):
            if number > done:
                connection.execute(sql.encode())
        connection.execute(
            "INSERT INTO meta (name, value) VALUES ('schema', %s)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (newest(),),
        )
        connection.execute("COMMIT")
    finally:
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    add_trigrams(connection)


@cache
def _migrations() -> dict[int, str]:
    folder = files("holdfast.stores.postgres") / "migrations"
    return {
        int(entry.name.removesuffix(".sql")): entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    }
