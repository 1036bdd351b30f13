"""How a store is."""

from __future__ import annotations

from collections.abc import Iterator

import zstandard

from holdfast.errors import StoreUnavailable
from holdfast.stores.bodies import content_of
from holdfast.stores.database import Statements
from holdfast.stores.rows import Space
from holdfast.stores.values import Health

_AT_ONCE = 500
_MOST_NAMED = 20


def health(space: Space, *, deep: bool) -> Health:
    """Return counts and sizes, and what a check finds; `deep` reads every body."""
    database = space.database
    problems = list(database.problems(deep))
    counts = (0, 0, 0, 0)
    try:
        counts = database.read(lambda tx: _counts(space, tx))
        if deep:
            problems += database.read(lambda tx: list(_flaws(space, tx))[:_MOST_NAMED])
    except StoreUnavailable as error:
        problems.append(error.what)
    sessions, messages, text_bytes, unindexed = counts
    return Health(
        backend=database.backend,
        version=database.version(),
        where=database.where,
        schema=database.schema(),
        sessions=sessions,
        messages=messages,
        text_bytes=text_bytes,
        stored_bytes=database.stored_bytes(),
        unindexed=unindexed,
        problems=tuple(problems),
    )


def _counts(space: Space, tx: Statements) -> tuple[int, int, int, int]:
    tenant = (space.tenant,)
    sessions = tx.row("SELECT count(*) FROM sessions WHERE tenant = ?", tenant)
    messages = tx.row(
        "SELECT count(*), coalesce(sum(b.size), 0) FROM messages m JOIN bodies b"
        " ON b.tenant = m.tenant AND b.key = m.body WHERE m.tenant = ?",
        tenant,
    )
    assert sessions is not None
    assert messages is not None
    unindexed = space.database.unindexed(tx)
    return int(sessions[0]), int(messages[0]), int(messages[1]), unindexed


def _flaws(space: Space, tx: Statements) -> Iterator[str]:
    """Yield what does not fit together in the tables, without any content."""
    yield from _short_logs(space, tx)
    yield from _lost_bodies(space, tx)
    yield from _unreadable(space, tx)


def _short_logs(space: Space, tx: Statements) -> Iterator[str]:
    """Every position of a log is owned by somebody, once."""
    shared = {
        int(row[0]): int(row[1])
        for row in tx.rows(
            "SELECT session, sum(stop - start) FROM segments WHERE tenant = ? GROUP BY session",
            (space.tenant,),
        )
    }
    own = {
        int(row[0]): int(row[1])
        for row in tx.rows(
            "SELECT session, count(*) FROM messages WHERE tenant = ? GROUP BY session",
            (space.tenant,),
        )
    }
    rows = tx.rows("SELECT key, id, length FROM sessions WHERE tenant = ?", (space.tenant,))
    for key, name, length in rows:
        there = shared.get(key, 0) + own.get(key, 0)
        if there != length:
            yield f"session {name} has {there} of its {length} messages"


def _lost_bodies(space: Space, tx: Statements) -> Iterator[str]:
    row = tx.row(
        "SELECT count(*) FROM messages m WHERE m.tenant = ? AND NOT EXISTS"
        " (SELECT 1 FROM bodies b WHERE b.tenant = m.tenant AND b.key = m.body)",
        (space.tenant,),
    )
    if row and row[0]:
        yield f"{row[0]} messages have no body"


def _unreadable(space: Space, tx: Statements) -> Iterator[str]:
    keys = [row[0] for row in tx.rows(
        "SELECT key FROM bodies WHERE tenant = ? ORDER BY key", (space.tenant,)
    )]  # fmt: skip
    for key in keys:
        row = tx.row(
            "SELECT tenant, key, parts, packed FROM bodies WHERE tenant = ? AND key = ?",
            (space.tenant, key),
        )
        try:
            if row:
                content_of(tx, *row)
        except (zstandard.ZstdError, IndexError):
            yield f"body {key!r} cannot be unpacked"
