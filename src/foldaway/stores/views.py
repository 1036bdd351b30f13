"""Views: swapped in, taken back, carried into a child; and where references lead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from foldaway._core import Reference
from foldaway.errors import (
    Conflict,
    InvalidSetting,
    InvalidView,
    LeaseLost,
    NothingToUndo,
    UnknownPosition,
)
from foldaway.stores.bodies import expand, squeeze
from foldaway.stores.database import Row, Statements, Value
from foldaway.stores.lineage import copy_pins, copy_state, copy_view, insert, outdate_sums, update
from foldaway.stores.log import give_out
from foldaway.stores.rows import (
    LEAN,
    Found,
    Space,
    as_lean,
    fetch,
    fetch_own,
    key_of,
    plain,
    refuse_closed,
)
from foldaway.stores.values import (
    Held,
    Lease,
    NewSession,
    NewView,
    Pin,
    Place,
    SessionInfo,
    StoredView,
    TurnUsage,
)

_COLUMNS = "number, previous, created, reason, length, items, state, report"
NOTE_CHARS: Final = 1_000
"""Of the note of a pin: a few sentences on why it is kept; the message itself says the rest."""
_LEAN = "number, previous, created, reason, length, items, NULL, report"
Price = Callable[[TurnUsage], float | None]
"""Returns what a request costs in dollars, None if nobody knows."""
_NAMES = TurnUsage.__struct_fields__
_TURN = ", ".join(_NAMES)
"""The columns of a request that are ours: the fields of its value."""
_OF_SESSION = f"SELECT {_TURN} FROM turns WHERE tenant = ? AND session = ?"
_ITSELF = "SELECT key, id, model FROM sessions WHERE tenant = ? AND key = ?"
_SUBAGENTS = (
    "SELECT key, id, model FROM sessions WHERE tenant = ? AND parent = ? AND parent <> ''"
    " AND kind = 'subagent'"
)


def commit(
    space: Space, tx: Statements, session_id: str, new: NewView, *, expect: int, fence: int | None
) -> SessionInfo:
    """Swap a view in. The messages and their index are not touched."""
    session = _require_ready(space, tx, session_id, new, expect=expect, fence=fence)
    number = _write(space, tx, session.key, new, previous=session.info.view)
    _swap(space, tx, session, number, compactions=session.info.compactions + 1)
    return fetch(space, tx, session_id).info


def undo(
    space: Space, tx: Statements, session_id: str, *, expect: int | None, fence: int | None
) -> SessionInfo:
    """Swap the view before back in; what was undone stays for the record."""
    session = fetch_own(space, tx, session_id)
    info = session.info
    refuse_lost(space, tx, session, fence)
    refuse_closed(space, tx, session.info)
    if expect is not None:
        _refuse_other_view(info, expect)
    if not info.view:
        raise NothingToUndo(info.id)
    row = tx.row(
        "SELECT previous FROM views WHERE tenant = ? AND session = ? AND number = ?",
        (space.tenant, session.key, info.view),
    )
    previous = int(row[0]) if row else 0
    fewer = max(0, info.compactions - 1) if previous else 0
    _swap(space, tx, session, previous, compactions=fewer)
    return fetch(space, tx, session_id).info


def rotate(
    space: Space,
    tx: Statements,
    session_id: str,
    child: NewSession,
    new: NewView,
    *,
    expect: int,
    fence: int | None,
) -> SessionInfo:
    """End a session and go on in a child that shares its whole log and begins with a view."""
    parent = _require_ready(space, tx, session_id, new, expect=expect, fence=fence)
    made = insert(space, tx, child, parent, descent="compression", at=parent.info.length)
    copied = copy_view(space, tx, parent, made)  # so that an undo shows what was before
    number = _write(space, tx, made.key, new, previous=copied)
    _swap(space, tx, made, number, compactions=parent.info.compactions + 1)
    copy_state(space, tx, parent, made)
    copy_pins(space, tx, parent, made)
    ended = space.database.now(tx)
    update(space, tx, parent.key, {"ended": ended, "end_reason": "compression"})
    return fetch(space, tx, made.info.id).info


def view(
    space: Space, tx: Statements, session_id: str, number: int | None, *, lean: bool
) -> StoredView | None:
    """Return a view, the current one if none is named; None if that is the log as it is."""
    session = fetch(space, tx, session_id)
    row = tx.row(
        f"SELECT {_LEAN if lean else _COLUMNS} FROM views"
        " WHERE tenant = ? AND session = ? AND number = ?",
        (space.tenant, session.key, session.info.view if number is None else number),
    )
    return None if row is None else _as_view(row)


def views(space: Space, tx: Statements, session_id: str, *, lean: bool) -> tuple[StoredView, ...]:
    """Return all views of a session in order, also those that were undone."""
    rows = tx.rows(
        f"SELECT {_LEAN if lean else _COLUMNS} FROM views"
        " WHERE tenant = ? AND session = ? ORDER BY number",
        (space.tenant, fetch(space, tx, session_id).key),
    )
    return tuple(map(_as_view, rows))


def places(space: Space, tx: Statements, ref: str, *, session_id: str) -> tuple[Place, ...]:
    """Return where a reference leads: in one session, also what its ancestors gave out for the
    log that it shares with them; otherwise in each session that gave it out.
    """
    if not session_id:
        rows = tx.rows(
            "SELECT s.id, r.ref, r.start, r.stop, r.kind FROM refs r JOIN sessions s"
            " ON s.tenant = r.tenant AND s.key = r.session WHERE r.tenant = ? AND r.ref = ?"
            " ORDER BY s.started, s.id",
            (space.tenant, plain(ref)),
        )
        return tuple(_as_place(row) for row in rows)
    asked = session = fetch(space, tx, session_id)
    limit = asked.info.length
    while True:
        row = tx.row(
            "SELECT ref, start, stop, kind FROM refs WHERE tenant = ? AND ref = ? AND session = ?"
            " AND stop <= ?",
            (space.tenant, plain(ref), session.key, limit),
        )
        if row:
            return (_as_place((asked.info.id, *row)),)
        limit = min(limit, session.info.forked_at)
        if not limit or not session.info.parent_id:
            return ()
        session = fetch(space, tx, session.info.parent_id)


def references(space: Space, tx: Statements, session_id: str) -> tuple[Reference, ...]:
    """Return all references of a session by position, and those that its ancestors gave out for
    the log that it shares with them.
    """
    session = fetch(space, tx, session_id)
    limit = session.info.length
    given: dict[str, Reference] = {}
    while True:
        for ref, start, stop, kind in tx.rows(
            "SELECT ref, start, stop, kind FROM refs WHERE tenant = ? AND session = ?"
            " AND stop <= ?",
            (space.tenant, session.key, limit),
        ):
            given.setdefault(ref, Reference(ref, (start, stop), kind))
        limit = min(limit, session.info.forked_at)
        if not limit or not session.info.parent_id:
            return tuple(sorted(given.values(), key=lambda one: (one.positions, one.ref)))
        session = fetch(space, tx, session.info.parent_id)


def _require_ready(
    space: Space, tx: Statements, session_id: str, new: NewView, *, expect: int, fence: int | None
) -> Found:
    """Return the session where a new view may be swapped in; raise what stands against it."""
    session = fetch_own(space, tx, session_id)
    refuse_lost(space, tx, session, fence)
    refuse_closed(space, tx, session.info)
    _refuse_other_view(session.info, expect)
    if not 0 <= new.length <= session.info.length:
        raise InvalidView("the view ends beyond the log", position=session.info.length)
    return session


def _refuse_other_view(info: SessionInfo, expect: int) -> None:
    if info.view != expect:
        raise Conflict(info.id, f"its view is number {info.view}, not {expect}")


def _write(space: Space, tx: Statements, key: int, new: NewView, *, previous: int) -> int:
    """Write a view under a fresh number, and its references."""
    tenant = space.tenant
    row = tx.row(
        "SELECT coalesce(max(number), 0) + 1 FROM views WHERE tenant = ? AND session = ?",
        (tenant, key),
    )
    number = int(row[0]) if row else 1
    values: tuple[Value, ...] = (
        tenant,
        key,
        number,
        previous,
        space.database.now(tx),
        new.reason,
        new.length,
        squeeze(new.items),
        squeeze(new.state),
        squeeze(new.report),
    )
    tx.run(
        f"INSERT INTO views (tenant, session, {_COLUMNS}) VALUES ({', '.join('?' * len(values))})",
        values,
    )
    give_out(space, tx, key, new.references)
    return number


def _swap(space: Space, tx: Statements, session: Found, number: int, *, compactions: int) -> None:
    update(space, tx, session.key, {"view": number, "compactions": compactions})


def _as_view(row: Row) -> StoredView:
    number, previous, created, reason, length, items, state, report = row
    return StoredView(
        number=number,
        previous=previous,
        created=created,
        reason=reason,
        length=length,
        items=expand(items),
        state=b"" if state is None else expand(state),
        report=expand(report),
    )


def _as_place(row: Row) -> Place:
    session_id, ref, start, stop, kind = row
    return Place(session_id, Reference(ref, (start, stop), kind))


def acquire(
    space: Space, tx: Statements, session_id: str, holder: str, ttl: float, gone: str = ""
) -> Lease | Held:
    """Return a lease, or who has it. One that has expired is taken over, and so is one of the same
    holder: its answer may have been lost. `gone` is a holder whose process has ended.
    """
    session = fetch_own(space, tx, session_id)
    clock = space.database.ticks(tx)
    row = tx.row(
        "SELECT fence, holder, epoch, expires FROM leases WHERE tenant = ? AND session = ?",
        (space.tenant, session.key),
    )
    fence = 1
    if row:
        fence, other, epoch, expires = int(row[0]) + 1, str(row[1]), row[2], row[3]
        is_free = other in ("", plain(holder), gone)
        if not is_free and epoch == clock.epoch and expires > clock.seconds:
            return Held(other, expires - clock.seconds)
    tx.run(
        "INSERT INTO leases (tenant, session, fence, holder, epoch, expires)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, session) DO UPDATE SET"
        " fence = excluded.fence, holder = excluded.holder, epoch = excluded.epoch,"
        " expires = excluded.expires",
        (space.tenant, session.key, fence, plain(holder), clock.epoch, clock.seconds + ttl),
    )
    return Lease(session.info.id, fence, plain(holder), ttl)


def renew(space: Space, tx: Statements, lease: Lease) -> bool:
    """Return whether the lease was still ours, and prolong it then.

    Also one that has expired, if nobody took it over meanwhile.
    """
    clock = space.database.ticks(tx)
    changed = tx.run(
        "UPDATE leases SET expires = ?, epoch = ? WHERE tenant = ? AND session = ? AND fence = ?"
        " AND holder = ?",
        (clock.seconds + lease.ttl, clock.epoch, *_match_lease(space, tx, lease)),
    )
    return changed > 0


def release(space: Space, tx: Statements, lease: Lease) -> None:
    """Give a lease back; nothing happens if it is not ours any more."""
    tx.run(
        "UPDATE leases SET holder = '' WHERE tenant = ? AND session = ? AND fence = ?"
        " AND holder = ?",
        _match_lease(space, tx, lease),
    )


def refuse_lost(space: Space, tx: Statements, session: Found, fence: int | None) -> None:
    """Raise `LeaseLost` if another lease followed the one of `fence`, or it was given back."""
    if fence is None:
        return
    row = tx.row(
        "SELECT fence, holder FROM leases WHERE tenant = ? AND session = ?",
        (space.tenant, session.key),
    )
    if not row or row[0] != fence or not row[1]:
        raise LeaseLost(session.info.id)


def _match_lease(space: Space, tx: Statements, lease: Lease) -> tuple[str, int, int, str]:
    return space.tenant, key_of(space, tx, lease.session_id), lease.fence, lease.holder


def save_state(
    space: Space, tx: Statements, session_id: str, state: bytes, view: int | None = None
) -> None:
    """Keep a state in the place of the one before, unless the view is no longer number `view`."""
    session = fetch_own(space, tx, session_id)
    if view is not None and session.info.view != view:
        return
    tx.run(
        "INSERT INTO states (tenant, session, state) VALUES (?, ?, ?)"
        " ON CONFLICT (tenant, session) DO UPDATE SET state = excluded.state",
        (space.tenant, session.key, squeeze(state)),
    )


def state(space: Space, tx: Statements, session_id: str) -> bytes:
    """Return the state that was kept last, nothing if there is none."""
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
    session = fetch(space, tx, session_id)
    if not 0 <= position < session.info.length:
        raise UnknownPosition(session.info.id, position, session.info.length - 1)
    tx.run(
        "INSERT INTO pins (tenant, session, position, note) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (tenant, session, position) DO UPDATE SET note = excluded.note",
        (space.tenant, session.key, position, plain(note)),
    )


def unpin(space: Space, tx: Statements, session_id: str, position: int) -> None:
    """Take a pin away; nothing happens if there is none."""
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


def add_usage(space: Space, tx: Statements, session_id: str, usage: tuple[TurnUsage, ...]) -> None:
    """Keep what requests cost, in this order."""
    key = fetch_own(space, tx, session_id).key
    row = tx.row(
        "SELECT coalesce(max(number), 0) + 1 FROM turns WHERE tenant = ? AND session = ?",
        (space.tenant, key),
    )
    marks = ", ".join("?" * len(_NAMES))
    for number, one in enumerate(usage, row[0] if row else 1):
        time = space.database.now(tx) if one.time is None else one.time
        told = replace(one, time=time, model=plain(one.model))
        tx.run(
            f"INSERT INTO turns (tenant, session, number, {_TURN}) VALUES (?, ?, ?, {marks})",
            (space.tenant, key, number, *(getattr(told, name) for name in _NAMES)),
        )
    outdate_sums(space, tx, session_id)


def usage(space: Space, tx: Statements, session_id: str, last: int | None) -> tuple[TurnUsage, ...]:
    """Return what was kept, in its order; only the `last` ones if that is given."""
    rows = tx.rows(
        f"{_OF_SESSION} ORDER BY number DESC{'' if last is None else f' LIMIT {int(last)}'}",
        (space.tenant, key_of(space, tx, session_id)),
    )
    return tuple(map(_as_turn, reversed(rows)))


def recorded(
    space: Space, tx: Statements, after: int, most: int
) -> list[tuple[int, SessionInfo, int]]:
    """Return sessions by the number that they were created with, and how many requests each has."""
    rows = tx.rows(
        f"{LEAN}, (SELECT count(*) FROM turns t WHERE t.tenant = s.tenant AND t.session = s.key)"
        " FROM sessions s WHERE s.tenant = ? AND s.key > ? ORDER BY s.key LIMIT ?",
        (space.tenant, after, most),
    )
    found = ((as_lean(space, row[:-1]), int(row[-1])) for row in rows)
    return [(one.key, one.info, requests) for one, requests in found]


def count_used(space: Space, tx: Statements, price: Price, most: int) -> int:
    """Count the sums of at most `most` sessions that lack them; return of how many."""
    tenant = space.tenant
    keys = tx.rows(
        "SELECT key FROM sessions WHERE tenant = ? AND requests IS NULL ORDER BY key LIMIT ?"
        f"{space.database.for_update}",
        (tenant, most),
    )
    for (key,) in keys:
        turns: list[TurnUsage] = []
        waiting = tx.rows(_ITSELF, (tenant, key))
        for session, name, model in waiting:  # which grows by those that worked for it
            waiting += tx.rows(_SUBAGENTS, (tenant, name))
            for one in tx.rows(_OF_SESSION, (tenant, session)):
                turn = _as_turn(one)
                turns.append(turn if turn.model else replace(turn, model=model))
        costs = [price(one) for one in turns]
        sums = {
            "requests": len(turns),
            "used_tokens": sum(one.input_tokens + one.output_tokens for one in turns),
            "cost": sum(one or 0.0 for one in costs),
            "unpriced": costs.count(None),
        }
        update(space, tx, key, {**sums})
    return len(keys)


def _as_turn(row: Row) -> TurnUsage:
    return TurnUsage(**dict(zip(_NAMES, row, strict=True)))


def save_sent(space: Space, tx: Statements, session_id: str, sent: bytes, view: int) -> None:
    """Keep how the view was sent, unless that is no longer number `view`."""
    session = fetch_own(space, tx, session_id)
    if session.info.view == view:
        tx.run(
            "UPDATE views SET sent = ? WHERE tenant = ? AND session = ? AND number = ?",
            (squeeze(sent), space.tenant, session.key, view),
        )


def read_sent(space: Space, tx: Statements, session_id: str) -> bytes:
    """Return how the view of now was sent, nothing if it was not yet."""
    session = fetch(space, tx, session_id)
    row = tx.row(
        "SELECT sent FROM views WHERE tenant = ? AND session = ? AND number = ?",
        (space.tenant, session.key, session.info.view),
    )
    return expand(row[0]) if row and row[0] else b""
