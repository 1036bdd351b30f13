"""Pieces of many logs at once, with their texts: what a list shows of sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec

from holdfast.errors import UnknownSession
from holdfast.search.values import Written
from holdfast.stores.bodies import unpack
from holdfast.stores.database import Statements
from holdfast.stores.lineage import newest_leaf
from holdfast.stores.log import Piece, pieces
from holdfast.stores.rows import LEAN, Space, as_lean, ids_of, plain
from holdfast.stores.values import Line, SessionInfo, Stretch

T = TypeVar("T")

_AT_ONCE = 200
"""Values of one statement."""


def leaves(
    space: Space, tx: Statements, ids: Sequence[str]
) -> dict[str, tuple[SessionInfo, SessionInfo]]:
    """Return each session, and where it goes on; both without their frames."""
    found: dict[str, SessionInfo] = {}
    rotated: set[str] = set()
    for some in _some(list(dict.fromkeys(map(plain, ids)))):
        marks = ", ".join("?" * len(some))
        rows = tx.rows(
            f"{LEAN} FROM sessions s WHERE s.tenant = ? AND s.id IN ({marks})",
            (space.tenant, *some),
        )
        found.update((row[0], as_lean(space, row).info) for row in rows)
        rotated.update(row[0] for row in tx.rows(
            "SELECT parent FROM sessions WHERE tenant = ? AND parent <> ''"
            f" AND descent = 'compression' AND parent IN ({marks})",
            (space.tenant, *some),
        ))  # fmt: skip
    return {
        name: (info, newest_leaf(space, tx, name) if name in rotated else info)
        for name, info in found.items()
    }


def glance(space: Space, tx: Statements, wanted: Sequence[Stretch]) -> list[tuple[Line, ...]]:
    """Return the messages of each stretch; one that several share is read once."""
    logs = {name: _log(space, tx, name) for name in {one.session_id for one in wanted}}
    owned = [_owned(logs[one.session_id], one) for one in wanted]
    lines = _lines(space, tx, [piece for some in owned for piece in some])
    return [
        tuple(
            lines[piece.owner, at]
            for piece in some
            for at in range(piece.start, piece.stop)
            if (piece.owner, at) in lines
        )
        for some in owned
    ]


def owners(space: Space, tx: Statements, session_id: str) -> tuple[tuple[str, int, int], ...]:
    """Return who owns the messages of a log: a session, the first and one past the last."""
    log = _log(space, tx, session_id)
    names = ids_of(space, tx, {piece.owner for piece in log})
    return tuple((names[piece.owner], piece.start, piece.stop) for piece in log)


def _log(space: Space, tx: Statements, session_id: str) -> list[Piece]:
    """Return who owns which messages of a log."""
    row = tx.row(
        "SELECT key, length FROM sessions WHERE tenant = ? AND id = ?",
        (space.tenant, plain(session_id)),
    )
    if row is None:
        raise UnknownSession(session_id)
    return pieces(space, tx, row[0], row[1])


def _owned(log: Sequence[Piece], wanted: Stretch) -> list[Piece]:
    stop = wanted.stop if wanted.stop is not None else (log[-1].stop if log else 0)
    return [
        Piece(piece.owner, max(wanted.start, piece.start), min(stop, piece.stop))
        for piece in log
        if piece.start < stop and piece.stop > wanted.start
    ]


def _lines(space: Space, tx: Statements, wanted: Sequence[Piece]) -> dict[tuple[int, int], Line]:
    """Return messages by their owners and positions."""
    found: dict[tuple[int, int], Line] = {}
    for some in _some(_merged(wanted)):
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
            body, text = unpack(tx, *stored)
            calls = tools != "" and role != "tool"
            found[owner, position] = Line(
                position=position, role=role, time=time, generated=bool(generated),
                tools=tuple(msgspec.json.decode(tools, type=list[str])) if tools else (),
                written=Written(dialect, body, text.decode(), calls),
            )  # fmt: skip
    return found


def _merged(wanted: Sequence[Piece]) -> list[Piece]:
    """Return the same messages in as few pieces as can be."""
    merged: list[Piece] = []
    for piece in sorted(wanted, key=lambda one: (one.owner, one.start)):
        last = merged[-1] if merged else None
        if last and last.owner == piece.owner and piece.start <= last.stop:
            merged[-1] = Piece(last.owner, last.start, max(last.stop, piece.stop))
        else:
            merged.append(piece)
    return merged


def _some(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
