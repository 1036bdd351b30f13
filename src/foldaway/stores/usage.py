"""What requests cost, as it was reported, and the sums that are kept with their session.

A report only marks the sums as out of date: they are counted later, many at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from foldaway.stores.database import Row, Statements
from foldaway.stores.lineage import update
from foldaway.stores.rows import Space, fetch_own, key_of, plain
from foldaway.stores.values import TurnUsage

Price = Callable[[TurnUsage], float | None]
"""Returns what a request costs in dollars, None if nobody knows."""
_TURN = (
    "position, time, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,"
    " cache_hour_tokens, cost, view"
)
_NAMES = _TURN.split(", ")
_OF_SESSION = f"SELECT {_TURN} FROM turns WHERE tenant = ? AND session = ?"
_ITSELF = "SELECT key, id, model FROM sessions WHERE tenant = ? AND key = ?"
_SUBAGENTS = (
    "SELECT key, id, model FROM sessions WHERE tenant = ? AND parent = ? AND parent <> ''"
    " AND kind = 'subagent'"
)


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


def outdate_sums(space: Space, tx: Statements, session_id: str) -> None:
    """Have the sums of a session counted again, and those of the sessions that it works for."""
    name, sql = plain(session_id), "SELECT kind, parent FROM sessions WHERE tenant = ? AND id = ?"
    while row := tx.row(sql, (space.tenant, name)):
        tx.run(
            "UPDATE sessions SET requests = NULL WHERE tenant = ? AND id = ? AND requests >= 0",
            (space.tenant, name),
        )
        name = str(row[1]) if row[0] == "subagent" else ""


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
