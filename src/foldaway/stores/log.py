"""Logs: appended to, read, and shown in lists.

A child shares the beginning of its parent's log without a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from foldaway._core import Reference
from foldaway.errors import Conflict
from foldaway.stores.bodies import pack, unpack, unpack_written
from foldaway.stores.database import MessageRow, Packed, Statements
from foldaway.stores.rows import (
    Found,
    Head,
    Space,
    fetch,
    fold_titles,
    head,
    ids_of,
    plain,
    read_row,
    refuse_closed,
)
from foldaway.stores.values import Line, NewMessage, OutlineRow, StoredMessage, Stretch, TokenSum

T = TypeVar("T")
FIRST_ASK_CHARS = 200
_READ_CHARS = 50_000
"""Of a message whose words are looked for; chosen, not measured."""
_AT_ONCE = 400
"""Values of one statement, far below what either database takes."""


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


def pack_messages(messages: Sequence[NewMessage]) -> list[Ready]:
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
    if references:
        give_out(space, tx, session.key, references)
    new = _list_unknown(space, tx, session, ready)
    if not new:
        return range(start, start)
    if expect is not None and expect != start:
        raise Conflict(session.id, f"its log has {start} messages, not {expect}")
    database = space.database
    now = database.now(tx)
    bodies = database.put_bodies(tx, [each.packed for each in new])
    rows = [message_row(each, body, now) for each, body in zip(new, bodies, strict=True)]
    database.put_messages(tx, session.key, start, rows)
    _note(space, tx, session, rows)
    return range(start, start + len(rows))


def read(
    space: Space, tx: Statements, session_id: str, start: int, stop: int | None
) -> list[StoredMessage]:
    """Return the messages from `start` up to `stop`, of anyone who owns them."""
    session = fetch(space, tx, session_id)
    length = session.info.length
    owners = clip(pieces(space, tx, session.key, length), length if stop is None else stop, start)
    names = ids_of(space, tx, {piece.owner for piece in owners})
    return [
        message for piece in owners for message in _read_own(space, tx, piece, names[piece.owner])
    ]


def outline(
    space: Space, tx: Statements, session_id: str, start: int, stop: int | None
) -> list[OutlineRow]:
    """Return what is known of messages without their bodies, from `start` up to `stop`."""
    log = _log(space, tx, session_id)
    if stop is None:
        stop = log[-1].stop if log else 0
    owners = clip(log, stop, start)
    names = ids_of(space, tx, {piece.owner for piece in owners})
    tools: dict[str, tuple[str, ...]] = {"": ()}
    found: list[OutlineRow] = []
    for piece in owners:
        owner_id = names[piece.owner]
        for position, role, called, time, tokens, generated in tx.rows(
            "SELECT position, role, tools, time, tokens, generated FROM messages"
            " WHERE tenant = ? AND session = ? AND position >= ? AND position < ?"
            " ORDER BY position",
            (space.tenant, piece.owner, piece.start, piece.stop),
        ):
            if called not in tools:  # few tools are called many times
                tools[called] = _from_json(called)
            found.append(
                OutlineRow(position, role, tools[called], time, tokens, bool(generated), owner_id)
            )
    return found


def sums(
    space: Space, tx: Statements, session_id: str, ranges: Sequence[tuple[int, int]]
) -> list[TokenSum]:
    """Return the tokens of ranges of a log, added up by the database."""
    log = _log(space, tx, session_id)
    return [
        TokenSum(role, bool(has_tools), bool(generated), int(tokens))
        for start, stop in ranges
        for piece in clip(log, stop, start)
        for role, has_tools, generated, tokens in tx.rows(
            "SELECT role, CASE WHEN tools = '' THEN 0 ELSE 1 END AS called, generated, sum(tokens)"
            " FROM messages WHERE tenant = ? AND session = ? AND position >= ? AND position < ?"
            " GROUP BY role, called, generated",
            (space.tenant, piece.owner, piece.start, piece.stop),
        )
    ]


def keys(space: Space, tx: Statements, session_id: str) -> frozenset[str]:
    """Return all keys of a log."""
    session = fetch(space, tx, session_id)
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


def clip(parts: Sequence[Piece], stop: int, start: int = 0) -> list[Piece]:
    """Return what lies between `start` and `stop`."""
    return [
        Piece(piece.owner, max(start, piece.start), min(stop, piece.stop))
        for piece in parts
        if piece.start < stop and piece.stop > start
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


def give_out(space: Space, tx: Statements, key: int, references: Iterable[Reference]) -> None:
    """Write where references of a session lead; those that are known stay as they are."""
    tx.many(
        "INSERT INTO refs (tenant, ref, session, start, stop, kind) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (tenant, ref, session) DO NOTHING",
        [
            (space.tenant, plain(given.ref), key, given.start, given.stop, given.kind)
            for given in references
        ],
    )


def _list_unknown(
    space: Space, tx: Statements, session: Head, ready: Sequence[Ready]
) -> Sequence[Ready]:
    """Return what the log does not hold yet, each key once."""
    wanted = list({plain(each.message.key) for each in ready if each.message.key})
    if not wanted:
        return ready
    known: set[str] = set()
    for piece in pieces(space, tx, session.key, session.length):
        for some in split_in_chunks(wanted):
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


def message_row(ready: Ready, body: object, now: float) -> MessageRow:
    """Return a message as a database writes it, its body already there."""
    message = ready.message
    return MessageRow(
        body,
        plain(message.role),
        _as_json(message.tools),
        now if message.time is None else message.time,
        plain(message.key),
        message.tokens,
        int(message.generated),
        ready.text,
    )


def _as_json(names: Sequence[str]) -> str:
    return msgspec.json.encode([plain(name) for name in names]).decode() if names else ""


def _from_json(names: str) -> tuple[str, ...]:
    return msgspec.json.decode(names, type=tuple[str, ...]) if names else ()


def _note(space: Space, tx: Statements, session: Head, rows: Sequence[MessageRow]) -> None:
    """Bring the row of the session up to date. What is imported is as old as its messages."""
    length, tokens, now = session.length + len(rows), session.tokens, session.updated
    for row in rows:
        tokens += row.tokens
        now = max(now, row.time)
    ask = "" if session.first_ask else first_ask_of(rows)
    if ask:
        tx.run(
            "UPDATE sessions SET length = ?, tokens = ?, updated = ?, first_ask = ?, folded = ?"
            " WHERE tenant = ? AND key = ?",
            (length, tokens, now, ask, fold_titles(session.title, ask), space.tenant, session.key),
        )
    else:
        tx.run(
            "UPDATE sessions SET length = ?, tokens = ?, updated = ? WHERE tenant = ? AND key = ?",
            (length, tokens, now, space.tenant, session.key),
        )


def first_ask_of(rows: Sequence[MessageRow]) -> str:
    """Return the first words of the user in the rows of a session."""
    return first_ask_in(row.text for row in rows if row.role == "user" and not row.generated)


def first_ask_in(texts: Iterable[str]) -> str:
    """Return the first words of the user in texts of the role `user`: nothing that the agent put
    there, and no bare command.
    """
    from foldaway.memory import extract_user_words  # read only if something is asked

    for text in texts:
        words = extract_user_words(text[:_READ_CHARS]).split()
        if words and not (len(words) == 1 and words[0].startswith("/")):
            return " ".join(words)[:FIRST_ASK_CHARS]
    return ""


def _read_own(space: Space, tx: Statements, piece: Piece, owner_id: str) -> list[StoredMessage]:
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
            tools=_from_json(row[2]),
            time=row[3],
            key=row[4],
            tokens=row[5],
            generated=bool(row[6]),
            owner_id=owner_id,
        )
        for row in rows
    ]


def read_lines(space: Space, tx: Statements, wanted: Sequence[Stretch]) -> list[tuple[Line, ...]]:
    """Return the messages of each stretch; one that several share is read once."""
    logs = {name: _log(space, tx, name) for name in {one.session_id for one in wanted}}
    asked: list[list[Piece]] = []
    for one in wanted:
        log = logs[one.session_id]
        end = log[-1].stop if log else 0
        asked.append(clip(log, end if one.stop is None else one.stop, one.start))
    lines = _lines(space, tx, [piece for some in asked for piece in some])
    return [
        tuple(
            lines[piece.owner, at]
            for piece in some
            for at in range(piece.start, piece.stop)
            if (piece.owner, at) in lines
        )
        for some in asked
    ]


def owners(space: Space, tx: Statements, session_id: str) -> tuple[tuple[str, int, int], ...]:
    """Return who owns the messages of a log: a session, the first and one past the last."""
    log = _log(space, tx, session_id)
    names = ids_of(space, tx, {piece.owner for piece in log})
    return tuple((names[piece.owner], piece.start, piece.stop) for piece in log)


def _log(space: Space, tx: Statements, session_id: str) -> list[Piece]:
    """Return who owns which messages of a log."""
    key, length = read_row(
        space, tx, session_id, "SELECT key, length FROM sessions WHERE tenant = ? AND id = ?"
    )
    return pieces(space, tx, key, length)


def _lines(space: Space, tx: Statements, wanted: Sequence[Piece]) -> dict[tuple[int, int], Line]:
    """Return messages by their owners and positions."""
    found: dict[tuple[int, int], Line] = {}
    for some in split_in_chunks(_merge_pieces(wanted)):
        # in this order: SQLite would read all messages first
        rows = tx.rows(
            f"WITH p (owner, start, stop) AS (VALUES {', '.join(['(?, ?, ?)'] * len(some))})"
            " SELECT m.session, m.position, m.role, m.tools, m.time, m.generated, s.dialect,"
            " b.tenant, b.key, b.parts, b.packed"
            " FROM p CROSS JOIN messages m CROSS JOIN bodies b CROSS JOIN sessions s"
            " WHERE m.tenant = ? AND m.session = p.owner AND m.position >= p.start"
            " AND m.position < p.stop AND b.tenant = m.tenant AND b.key = m.body"
            " AND s.tenant = m.tenant AND s.key = m.session",
            (*(value for one in some for value in (one.owner, one.start, one.stop)), space.tenant),
        )
        for owner, position, role, tools, time, generated, dialect, *stored in rows:
            found[owner, position] = Line(
                position=position,
                role=role,
                time=time,
                generated=bool(generated),
                tools=_from_json(tools),
                written=unpack_written(tx, dialect, role, tools, *stored),
            )
    return found


def _merge_pieces(wanted: Sequence[Piece]) -> list[Piece]:
    """Return the same messages in as few pieces as can be."""
    merged: list[Piece] = []
    for piece in sorted(wanted, key=lambda one: (one.owner, one.start)):
        last = merged[-1] if merged else None
        if last and last.owner == piece.owner and piece.start <= last.stop:
            merged[-1] = Piece(last.owner, last.start, max(last.stop, piece.stop))
        else:
            merged.append(piece)
    return merged


def split_in_chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield values by as many as one statement takes."""
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
