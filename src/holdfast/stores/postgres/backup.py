"""A copy of what a tenant has on a server: an SQLite file, which opens as a store."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.stores import redaction_key
from holdfast.stores.bodies import unpack
from holdfast.stores.database import MessageRow, Row, Statements
from holdfast.stores.draft import drafted
from holdfast.stores.sqlite.database import SqliteDatabase, open_sqlite

_AT_ONCE = 500
_COPIED = {
    "sessions": "key, id, parent, root, descent, forked_at, dialect, title, goal, model, source,"
    " source_id, kind, cwd, mode, started, updated, ended, end_reason, length, view, compactions,"
    " tokens, first_ask, folded, frame",
    "states": "session, state",
    "segments": "session, owner, start, stop",
    "parts": "body, at, part",
    "views": "session, number, previous, created, reason, length, items, state, report",
    "refs": "ref, session, start, stop, kind",
    "pins": "session, position, note",
    "turns": "session, number, position, time, model, input_tokens, output_tokens,"
    " cache_read_tokens, cache_write_tokens, cost, view",
}
"""Leases stay behind: they are of this server's clock."""


def backup(tx: Statements, tenant: str, path: str) -> None:
    """Write a copy of one state to `path`, whole or not at all."""
    with drafted(path, ".db") as copy:
        target = open_sqlite(copy)
        try:
            target.write(lambda into: _copy(tx, tenant, target, into))
        finally:
            target.close()


def _copy(tx: Statements, tenant: str, target: SqliteDatabase, into: Statements) -> None:
    redaction_key.put(into, target.tenant, redaction_key.numbers(tx, tenant))
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
        for _, session, position, body, role, tools, time, key, tokens, generated in rows:
            text = _text(into, target.tenant, body)
            message = MessageRow(body, role, tools, time, key, tokens, generated, text)
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
