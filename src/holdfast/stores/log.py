"""Logs: appended to and read. A child shares the beginning of its parent's log without a copy."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from holdfast.errors import Conflict
from holdfast.report import Reference
from holdfast.stores.bodies import pack, unpack
from holdfast.stores.database import MessageRow, Packed, Statements
from holdfast.stores.references import give_out
from holdfast.stores.rows import (
    Found,
    Head,
    Space,
    folded,
    found,
    head,
    ids_of,
    plain,
    refuse_closed,
)
from holdfast.stores.values import NewMessage, StoredMessage

FIRST_ASK_CHARS = 200
_AT_ONCE = 400
"""Values of one statement."""


class Piece(Struct, frozen=True, gc=False):
    """Positions of a log that one session owns."""

    owner: int
    start: int
    stop: int


class Ready(Struct, frozen=True, gc=False):
    """A message packed before the database is asked, so that nobody waits for it."""

    packed: Packed
    text: str
    message: NewMessage


def made_ready(messages: Sequence[NewMessage]) -> list[Ready]:
    """Return messages with their bodies packed."""
    ready: list[Ready] = []
    for message in messages:
        text = message.text
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                text = text.encode(errors="replace").decode()
        if "\0" in text:
            text = text.replace("\0", " ")
        ready.append(Ready(pack(message.body, text), text, message))
    return ready


def append(
    space: Space,
    tx: Statements,
    session_id: str,
    ready: Sequence[Ready],
    expect: int | None,
    references: Sequence[Reference] = (),
) -> range:
    """Write what is new, and where its references lead; return its positions."""
    session = head(space, tx, session_id)
    refuse_closed(space, tx, session)
    start = session.length
    new = _unknown(space, tx, session, ready)
    if not new:
        return range(start, start)
    if expect is not None and expect != start:
        raise Conflict(session.id, f"its log has {start} messages, not {expect}")
    database = space.database
    now = database.now(tx)
    bodies = database.put_bodies(tx, [each.packed for each in new])
    rows = [_row(each, body, now) for each, body in zip(new, bodies, strict=True)]
    database.put_messages(tx, session.key, start, rows)
    _note(space, tx, session, rows)
    if references:
        give_out(space, tx, session.key, references)
    return range(start, start + len(rows))


def read(
    space: Space, tx: Statements, session_id: str, start: int, stop: int | None
) -> list[StoredMessage]:
    """Return the messages from `start` up to `stop`, of whoever owns them."""
    session = found(space, tx, session_id)
    length = session.info.length
    stop = length if stop is None else min(stop, length)
    owners = [
        Piece(piece.owner, max(start, piece.start), min(stop, piece.stop))
        for piece in pieces(space, tx, session.key, length)
        if piece.start < stop and piece.stop > start
    ]
    names = ids_of(space, tx, {piece.owner for piece in owners})
    return [
        message for piece in owners for message in _of_owner(space, tx, piece, names[piece.owner])
    ]


def keys(space: Space, tx: Statements, session_id: str) -> frozenset[str]:
    """Return all keys of a log."""
    session = found(space, tx, session_id)
    return frozenset(
        row[0]
        for piece in pieces(space, tx, session.key, session.info.length)
        for row in tx.rows(
            "SELECT key FROM messages WHERE tenant = ? AND session = ? AND key <> ''"
            " AND position >= ? AND position < ?",
            (space.tenant, piece.owner, piece.start, piece.stop),
        )
    )


def pieces(space: Space, tx: Statements, key: int, length: int) -> list[Piece]:
    """Return who owns which positions of a log: its segments, and itself for the rest."""
    rows = tx.rows(
        "SELECT owner, start, stop FROM segments WHERE tenant = ? AND session = ? ORDER BY start",
        (space.tenant, key),
    )
    result: list[Piece] = []
    done = 0
    for owner, start, stop in rows:
        if start > done:
            result.append(Piece(key, done, start))
        result.append(Piece(owner, start, stop))
        done = stop
    if length > done:
        result.append(Piece(key, done, length))
    return result


def clip(parts: Sequence[Piece], stop: int) -> list[Piece]:
    """Return what lies before `stop`."""
    return [
        Piece(piece.owner, piece.start, min(stop, piece.stop))
        for piece in parts
        if piece.start < stop
    ]


def tokens_of(space: Space, tx: Statements, session: Found, stop: int) -> int:
    """Return the tokens of the first `stop` messages."""
    if stop == session.info.length:
        return session.info.tokens
    total = 0
    for piece in clip(pieces(space, tx, session.key, session.info.length), stop):
        row = tx.row(
            "SELECT coalesce(sum(tokens), 0) FROM messages WHERE tenant = ? AND session = ?"
            " AND position >= ? AND position < ?",
            (space.tenant, piece.owner, piece.start, piece.stop),
        )
        total += int(row[0]) if row else 0
    return total


def _unknown(
    space: Space, tx: Statements, session: Head, ready: Sequence[Ready]
) -> Sequence[Ready]:
    """Return what the log does not hold yet, each key once."""
    wanted = list({plain(each.message.key) for each in ready if each.message.key})
    if not wanted:
        return ready
    known: set[str] = set()
    for piece in pieces(space, tx, session.key, session.length):
        for first in range(0, len(wanted), _AT_ONCE):
            some = wanted[first : first + _AT_ONCE]
            rows = tx.rows(
                "SELECT key FROM messages WHERE tenant = ? AND session = ? AND key <> ''"
                f" AND key IN ({', '.join('?' * len(some))}) AND position >= ? AND position < ?",
                (space.tenant, piece.owner, *some, piece.start, piece.stop),
            )
            known.update(row[0] for row in rows)
    new: list[Ready] = []
    for each in ready:
        key = plain(each.message.key)
        if key not in known:
            new.append(each)
            if key:
                known.add(key)
    return new


def _row(ready: Ready, body: object, now: float) -> MessageRow:
    message = ready.message
    return MessageRow(
        body,
        plain(message.role),
        _as_json(message.tools) if message.tools else "",
        now if message.time is None else message.time,
        plain(message.key),
        message.tokens,
        int(message.generated),
        ready.text,
    )


def _as_json(names: Sequence[str]) -> str:
    return msgspec.json.encode([plain(name) for name in names]).decode()


def _note(space: Space, tx: Statements, session: Head, rows: Sequence[MessageRow]) -> None:
    """Bring the row of the session up to date. What is imported is as old as its messages."""
    length, tokens, now = session.length + len(rows), session.tokens, session.updated
    for row in rows:
        tokens += row.tokens
        now = max(now, row.time)
    ask = "" if session.first_ask else _first_ask(rows)
    if ask:
        tx.run(
            "UPDATE sessions SET length = ?, tokens = ?, updated = ?, first_ask = ?, folded = ?"
            " WHERE tenant = ? AND key = ?",
            (length, tokens, now, ask, folded(session.title, ask), space.tenant, session.key),
        )
    else:
        tx.run(
            "UPDATE sessions SET length = ?, tokens = ?, updated = ? WHERE tenant = ? AND key = ?",
            (length, tokens, now, space.tenant, session.key),
        )


def _first_ask(rows: Sequence[MessageRow]) -> str:
    for row in rows:
        if row.role == "user" and not row.generated and (text := row.text[:1000].strip()):
            return " ".join(text.split())[:FIRST_ASK_CHARS]
    return ""


def _of_owner(space: Space, tx: Statements, piece: Piece, owner_id: str) -> list[StoredMessage]:
    rows = tx.rows(
        "SELECT m.position, m.role, m.tools, m.time, m.key, m.tokens, m.generated, b.tenant,"
        " b.key, b.parts, b.packed FROM messages m JOIN bodies b ON b.tenant = m.tenant"
        " AND b.key = m.body WHERE m.tenant = ? AND m.session = ? AND m.position >= ?"
        " AND m.position < ? ORDER BY m.position",
        (space.tenant, piece.owner, piece.start, piece.stop),
    )
    return [
        StoredMessage(
            position=row[0],
            body=unpack(tx, *row[7:])[0],
            role=row[1],
            tools=tuple(msgspec.json.decode(row[2], type=list[str])) if row[2] else (),
            time=row[3],
            key=row[4],
            tokens=row[5],
            generated=bool(row[6]),
            owner_id=owner_id,
        )
        for row in rows
    ]
