"""Sessions as rows of a database, and the redaction key of a store."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from foldaway.errors import Conflict, UnknownSession
from foldaway.stores.bodies import unpack
from foldaway.stores.database import Database, Row, Statements
from foldaway.stores.values import SessionInfo

_FIELDS = tuple(name for name in SessionInfo.__struct_fields__ if name not in ("profile", "frame"))
COLUMNS = tuple({"parent_id": "parent", "root_id": "root"}.get(name, name) for name in _FIELDS)
LEAN = f"SELECT {', '.join(f's.{name}' for name in COLUMNS)}, s.key"
_WHOLE = f"{LEAN}, b.tenant, b.key, b.parts, b.packed FROM"
_FRAMES = "LEFT JOIN bodies b ON b.tenant = s.tenant AND b.key = s.frame"
SELECT = f"{_WHOLE} sessions s {_FRAMES}"
SELECT_KEYS = f"{_WHOLE} ({{keys}}) f CROSS JOIN sessions s {_FRAMES}"
"""Of the sessions that a statement gives the keys of: that is done first, whatever comes after, so
that few rows are sorted instead of all read in order.
"""
_HEAD = (
    "SELECT key, id, length, tokens, updated, ended, end_reason, title, first_ask"
    " FROM sessions WHERE tenant = ? AND id = ?"
)
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")
_WINDOW = "window for {} of {}"
"""A row of `meta`: the context length of a model, as a tenant learned it."""
_MOST_NAME = 200
"""Characters of a model's name that count; the longest that we know have 60."""
_REDACTION_KEY = ("redaction key 1 of {}", "redaction key 2 of {}")
"""Rows of `meta` that hold the key of a tenant: half of its digits each."""
_SPENT = "spent {:011d} {}"
"""A row of `meta`: what a tenant spent in a quarter of an hour, in billionths of a dollar. Midnight
of every zone is at a quarter."""
_TENANT_AT = len(_SPENT.format(0, "")) + 1
_QUARTER_SECONDS, _SPENT_SECONDS = 900, 40 * 86_400
"""Of a row, and after which one is deleted: no budget is for longer than a month."""
_DOLLAR = 1_000_000_000
_BITS = 63
"""`meta` holds whole numbers of 64 bits with a sign."""


class Space(Struct, frozen=True):
    """One profile of one tenant in a database."""

    database: Database
    profile: str

    @property
    def tenant(self) -> str:
        """What the column `tenant` holds."""
        return self.database.tenant


class Found(Struct, frozen=True):
    """A session and the number that other tables know it by."""

    key: int
    info: SessionInfo


class Head(Struct, frozen=True, gc=False):
    """What an append has to know of a session. It is read for every message, so it is little."""

    key: int
    id: str
    length: int
    tokens: int
    updated: float
    ended: float | None
    end_reason: str
    title: str
    first_ask: str


def fetch(space: Space, tx: Statements, session_id: str) -> Found:
    """Return the session of an id; raise `UnknownSession`."""
    sql = f"{SELECT} WHERE s.tenant = ? AND s.id = ?"
    return as_found(space, tx, read_row(space, tx, session_id, sql))


def fetch_own(space: Space, tx: Statements, session_id: str) -> Found:
    """Return the session of an id without its frame, for this transaction alone to change."""
    sql = f"{LEAN} FROM sessions s WHERE s.tenant = ? AND s.id = ?{space.database.for_update}"
    return as_lean(space, read_row(space, tx, session_id, sql))


def head(space: Space, tx: Statements, session_id: str) -> Head:
    """Return what an append needs of a session, for this transaction alone to change."""
    return Head(*read_row(space, tx, session_id, _HEAD + space.database.for_update))


def key_of(space: Space, tx: Statements, session_id: str) -> int:
    """Return the number of a session; raise `UnknownSession`."""
    sql = "SELECT key FROM sessions WHERE tenant = ? AND id = ?"
    return int(read_row(space, tx, session_id, sql)[0])


def read_row(space: Space, tx: Statements, session_id: str, sql: str) -> Row:
    """Return the row of a session that `sql` asks for by tenant and id; raise `UnknownSession`."""
    row = tx.row(sql, (space.tenant, plain(session_id)))
    if row is None:
        raise UnknownSession(session_id)
    return row


def refuse_closed(space: Space, tx: Statements, session: SessionInfo | Head) -> None:
    """Raise `Conflict` where a session goes on in a child that took over its whole log.

    A writer that missed the rotation would add what nobody reads any more.
    """
    if session.ended is None or session.end_reason != "compression":
        return
    row = tx.row(
        "SELECT id FROM sessions WHERE tenant = ? AND parent = ? AND parent <> ''"
        " AND descent = 'compression' AND forked_at = ?"
        " ORDER BY started DESC, id DESC LIMIT 1",
        (space.tenant, session.id, session.length),
    )
    if row:
        raise Conflict(session.id, f"it goes on as {row[0]}")


def as_found(space: Space, tx: Statements, row: Row) -> Found:
    """Return what a row of `SELECT` says."""
    frame = b"" if row[-1] is None else unpack(tx, *row[-4:])[0]
    info = SessionInfo(profile=space.profile, frame=frame, **_fields(row))
    return Found(row[len(COLUMNS)], info)


def as_lean(space: Space, row: Row) -> Found:
    """Return what a row of `LEAN` says: a session without its frame."""
    return Found(row[-1], SessionInfo(profile=space.profile, **_fields(row)))


def ids_of(space: Space, tx: Statements, keys: set[int]) -> dict[int, str]:
    """Return the ids of sessions by their numbers."""
    return {
        key: str(row[0])
        for key in keys
        if (
            row := tx.row(
                "SELECT id FROM sessions WHERE tenant = ? AND key = ?", (space.tenant, key)
            )
        )
    }


def plain(text: str) -> str:
    """Return a name that every database can hold: no NUL, no lone surrogates."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSPEAKABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def fold_titles(title: str, first_ask: str) -> str:
    """Return what a filter by text looks at, letter case aside."""
    return f"{title}\n{first_ask}".casefold()


def _fields(row: Row) -> dict[str, Any]:
    return dict(zip(_FIELDS, row, strict=False))


def read_redaction_key(tx: Statements, tenant: str) -> str:
    """Return what makes the placeholders of a store: 32 hexadecimal digits, or "" if not made."""
    return "".join(f"{number:016x}" for number in redaction_numbers(tx, tenant))


def make_redaction_key(tx: Statements, tenant: str) -> str:
    """Return the key, made at random if there is none; of several writers the first makes it."""
    put_redaction_numbers(tx, tenant, [secrets.randbits(_BITS) for _ in _REDACTION_KEY])
    return read_redaction_key(tx, tenant)


def redaction_numbers(tx: Statements, tenant: str) -> list[int]:
    """Return the key as `meta` holds it: two numbers, or none."""
    rows = tx.rows("SELECT value FROM meta WHERE name IN (?, ?) ORDER BY name", _names(tenant))
    return [int(row[0]) for row in rows]


def put_redaction_numbers(tx: Statements, tenant: str, key: Sequence[int]) -> None:
    """Write a key if there is none. All writers begin with the same row, and wait there."""
    tx.many(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
        list(zip(_names(tenant), key, strict=False)),
    )


def read_window(tx: Statements, tenant: str, name: str) -> int | None:
    """Return the window that was learned under a name."""
    row = tx.row("SELECT value FROM meta WHERE name = ?", (_window_name(tenant, name),))
    return None if row is None else int(row[0])


def put_windows(tx: Statements, tenant: str, windows: Mapping[str, int]) -> None:
    """Keep windows under their names, in the place of what was there."""
    tx.many(
        "INSERT INTO meta (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [(_window_name(tenant, name), tokens) for name, tokens in sorted(windows.items())],
    )


def add_spent(tx: Statements, tenant: str, dollars: float, now: float) -> None:
    """Add to what was spent; writers on other machines may do the same."""
    at = int(now) // _QUARTER_SECONDS * _QUARTER_SECONDS
    tx.run(
        "INSERT INTO meta (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = meta.value + excluded.value",
        (_SPENT.format(at, tenant), round(dollars * _DOLLAR)),
    )
    tx.run(
        "DELETE FROM meta WHERE name >= ? AND name < ? AND substr(name, ?) = ?",
        (_SPENT.format(0, ""), _SPENT.format(at - _SPENT_SECONDS, ""), _TENANT_AT, tenant),
    )


def read_spent(tx: Statements, tenant: str, since: float) -> float:
    """Return the dollars that were spent since a moment, which is at a quarter of an hour."""
    row = tx.row(
        "SELECT coalesce(sum(value), 0) FROM meta WHERE name >= ? AND name < ?"
        " AND substr(name, ?) = ?",
        (_SPENT.format(int(since), ""), _SPENT.format(10**11 - 1, ""), _TENANT_AT, tenant),
    )
    return int(row[0]) / _DOLLAR if row else 0.0


def _window_name(tenant: str, name: str) -> str:
    """Return the row of a window; the name of a model comes from outside, and may be anything."""
    return _WINDOW.format(tenant, _UNSPEAKABLE.sub("", name)[:_MOST_NAME])


def _names(tenant: str) -> list[str]:
    return [name.format(tenant) for name in _REDACTION_KEY]
