"""Sessions as rows of a database."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from holdfast.errors import Conflict, UnknownSession
from holdfast.stores.bodies import unpack
from holdfast.stores.database import Database, Row, Statements
from holdfast.stores.values import SessionInfo

COLUMNS = (
    "id", "parent", "root", "descent", "forked_at", "dialect", "title", "goal", "model", "source",
    "source_id", "kind", "cwd", "mode", "started", "updated", "ended", "end_reason", "length",
    "view", "compactions", "tokens", "first_ask",
)  # fmt: skip
_FIELDS = tuple({"parent": "parent_id", "root": "root_id"}.get(name, name) for name in COLUMNS)
LEAN = f"SELECT {', '.join(f's.{name}' for name in COLUMNS)}, s.key"
SELECT = (
    f"{LEAN}, b.tenant, b.key, b.parts, b.packed"
    " FROM sessions s LEFT JOIN bodies b ON b.tenant = s.tenant AND b.key = s.frame"
)
_HEAD = (
    "SELECT key, id, length, tokens, updated, ended, end_reason, title, first_ask"
    " FROM sessions WHERE tenant = ? AND id = ?"
)
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")


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


def found(space: Space, tx: Statements, session_id: str) -> Found:
    """Return the session of an id; raise `UnknownSession`."""
    row = tx.row(f"{SELECT} WHERE s.tenant = ? AND s.id = ?", (space.tenant, plain(session_id)))
    if row is None:
        raise UnknownSession(session_id)
    return as_found(space, tx, row)


def owned(space: Space, tx: Statements, session_id: str) -> Found:
    """Return the session of an id without its frame, for this transaction alone to change."""
    row = tx.row(
        f"{LEAN} FROM sessions s WHERE s.tenant = ? AND s.id = ?{space.database.for_update}",
        (space.tenant, plain(session_id)),
    )
    if row is None:
        raise UnknownSession(session_id)
    return as_lean(space, row)


def head(space: Space, tx: Statements, session_id: str) -> Head:
    """Return what an append needs of a session, for this transaction alone to change."""
    row = tx.row(
        _HEAD + space.database.for_update,
        (space.tenant, plain(session_id)),
    )
    if row is None:
        raise UnknownSession(session_id)
    return Head(*row)


def refuse_closed(space: Space, tx: Statements, session: SessionInfo | Head) -> None:
    """Raise `Conflict` where a session goes on in a child that took over its whole log.

    A writer that missed the rotation would add what nobody reads any more.
    """
    if session.ended is None or session.end_reason != "compression":
        return
    row = tx.row(
        "SELECT id FROM sessions WHERE tenant = ? AND parent = ? AND parent <> ''"
        " AND descent = 'compression' AND forked_at = ?",
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


def key_of(space: Space, tx: Statements, session_id: str) -> int:
    """Return the number of a session; raise `UnknownSession`."""
    row = tx.row(
        "SELECT key FROM sessions WHERE tenant = ? AND id = ?", (space.tenant, plain(session_id))
    )
    if row is None:
        raise UnknownSession(session_id)
    return int(row[0])


def ids_of(space: Space, tx: Statements, keys: set[int]) -> dict[int, str]:
    """Return the ids of sessions by their numbers."""
    return {
        key: str(row[0])
        for key in keys
        if (row := tx.row(
            "SELECT id FROM sessions WHERE tenant = ? AND key = ?", (space.tenant, key)
        ))
    }  # fmt: skip


def plain(text: str) -> str:
    """Return a name that every database can hold: no NUL, no lone surrogates."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSPEAKABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def folded(title: str, first_ask: str) -> str:
    """Return what a filter by text looks at, letter case aside."""
    return f"{title}\n{first_ask}".casefold()


def _fields(row: Row) -> dict[str, Any]:
    return dict(zip(_FIELDS, row, strict=False))
