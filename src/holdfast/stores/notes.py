"""What is kept beside a log: state between compactions, pins, usage."""

from __future__ import annotations

from typing import Final

from holdfast.errors import InvalidSetting, UnknownPosition
from holdfast.stores.bodies import expand, squeeze
from holdfast.stores.database import Statements
from holdfast.stores.rows import Space, found, key_of, owned, plain
from holdfast.stores.values import Pin, TurnUsage

NOTE_CHARS: Final = 1_000
"""Of the note of a pin: a few sentences on why it is kept; the message itself says the rest."""
_TURN = (
    "position, time, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,"
    " cost, view"
)


def save_state(space: Space, tx: Statements, session_id: str, state: bytes) -> None:
    """Keep a state in the place of the one before."""
    tx.run(
        "INSERT INTO states (tenant, session, state) VALUES (?, ?, ?)"
        " ON CONFLICT (tenant, session) DO UPDATE SET state = excluded.state",
        (space.tenant, key_of(space, tx, session_id), squeeze(state)),
    )


def state(space: Space, tx: Statements, session_id: str) -> bytes:
    """Return the state that was kept last, nothing where there is none."""
    row = tx.row(
        "SELECT state FROM states WHERE tenant = ? AND session = ?",
        (space.tenant, key_of(space, tx, session_id)),
    )
    return expand(row[0]) if row else b""


def pin(space: Space, tx: Statements, session_id: str, position: int, note: str) -> None:
    """Pin a message of the log; a second time changes the note."""
    if len(note) > NOTE_CHARS:
        said = f"the note has {len(note):,} characters; at most {NOTE_CHARS:,} are kept: shorten it"
        raise InvalidSetting("note", len(note), f"at most {NOTE_CHARS:,} characters", message=said)
    session = found(space, tx, session_id)
    if not 0 <= position < session.info.length:
        raise UnknownPosition(session.info.id, position, session.info.length - 1)
    tx.run(
        "INSERT INTO pins (tenant, session, position, note) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (tenant, session, position) DO UPDATE SET note = excluded.note",
        (space.tenant, session.key, position, plain(note)),
    )


def unpin(space: Space, tx: Statements, session_id: str, position: int) -> None:
    """Take a pin away; nothing happens where there is none."""
    tx.run(
        "DELETE FROM pins WHERE tenant = ? AND session = ? AND position = ?",
        (space.tenant, key_of(space, tx, session_id), position),
    )


def pins(space: Space, tx: Statements, session_id: str) -> tuple[Pin, ...]:
    """Return the pins in order of their positions."""
    rows = tx.rows(
        "SELECT position, note FROM pins WHERE tenant = ? AND session = ? ORDER BY position",
        (space.tenant, key_of(space, tx, session_id)),
    )
    return tuple(Pin(*row) for row in rows)


def add_usage(space: Space, tx: Statements, session_id: str, usage: TurnUsage) -> None:
    """Keep what one request cost."""
    key = owned(space, tx, session_id).key
    row = tx.row(
        "SELECT coalesce(max(number), 0) + 1 FROM turns WHERE tenant = ? AND session = ?",
        (space.tenant, key),
    )
    time = space.database.now(tx) if usage.time is None else usage.time
    tx.run(
        f"INSERT INTO turns (tenant, session, number, {_TURN})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            space.tenant, key, row[0] if row else 1, usage.position, time, plain(usage.model),
            usage.input_tokens, usage.output_tokens, usage.cache_read_tokens,
            usage.cache_write_tokens, usage.cost, usage.view,
        ),
    )  # fmt: skip


def usage(space: Space, tx: Statements, session_id: str) -> tuple[TurnUsage, ...]:
    """Return what was kept, in its order."""
    rows = tx.rows(
        f"SELECT {_TURN} FROM turns WHERE tenant = ? AND session = ? ORDER BY number",
        (space.tenant, key_of(space, tx, session_id)),
    )
    names = [name.strip() for name in _TURN.split(",")]
    return tuple(TurnUsage(**dict(zip(names, row, strict=True))) for row in rows)
