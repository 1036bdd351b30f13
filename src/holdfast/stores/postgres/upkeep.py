"""A whole store on a server: its check, its copy, its room."""

from __future__ import annotations

from holdfast.stores.database import Statements
from holdfast.stores.postgres.opening import SCHEMA, Connection, add_trigrams

_TABLES = ("sessions", "states", "segments", "bodies", "parts", "messages", "views", "refs",
           "pins", "turns", "leases")  # fmt: skip
_SIZED = {
    "messages": ("words", "words", "folded"),  # a word stands in the row and in the index
    "bodies": ("packed",),
    "views": ("items", "state", "report"),
    "sessions": ("title", "first_ask", "folded"),
}
_ROW_BYTES = 180
"""Header, numbers and entries of three keys, on the average of `messages` and `bodies`."""
_KEYS = 3


def stored_bytes(tx: Statements, tenant: str) -> int:
    """Return about what the tenant's rows and their places in the indexes take.

    Without the room that the server keeps for later: what is erased counts no more, although the
    files keep their size until others write there.
    """
    total = 0
    for table, columns in _SIZED.items():
        sizes = " + ".join(f"pg_column_size({column})" for column in columns)
        row = tx.row(
            f"SELECT coalesce(sum({sizes} + ?), 0) FROM {table} WHERE tenant = ?",
            (_ROW_BYTES + len(tenant) * _KEYS, tenant),
        )
        total += int(row[0]) if row else 0
    return total


def problems(tx: Statements) -> tuple[str, ...]:
    """Return indexes that are not in order."""
    rows = tx.rows(
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = ? AND NOT (i.indisvalid AND i.indisready)",
        (SCHEMA,),
    )
    return tuple(f"the index {row[0]} is not complete; run REINDEX" for row in rows)


def complete(connection: Connection) -> int:
    """Make the index of substrings where there is none; return how many messages it took in."""
    if not add_trigrams(connection):
        return 0
    found = connection.execute(f"SELECT count(*) FROM {SCHEMA}.messages").fetchone()
    return int(str(found[0])) if found else 0


def reclaim(connection: Connection) -> None:
    """Let the server use the room of what was deleted, and forget it in its indexes."""
    for table in _TABLES:
        connection.execute(f"VACUUM {SCHEMA}.{table}".encode())
