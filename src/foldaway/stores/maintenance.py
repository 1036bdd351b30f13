"""How a store is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import zstandard
from msgspec import Struct

from foldaway.errors import Conflict, StoreUnavailable
from foldaway.stores.bodies import content_of
from foldaway.stores.database import BodyKey, Statements
from foldaway.stores.lineage import outdate_sums
from foldaway.stores.log import Piece, split_in_chunks
from foldaway.stores.rows import Found, Space, fetch_own, key_of
from foldaway.stores.values import Health, LineageSize, SessionInfo

_AT_ONCE = 500
_MOST_NAMED = 20
_OF_SESSION = ("segments", "views", "refs", "pins", "turns", "leases", "states")


def health(space: Space, *, deep: bool) -> Health:
    """Return counts and sizes, and what a check finds; `deep` reads every body."""
    database = space.database
    problems = list(database.problems(deep))
    counts, written_by = (0, 0, 0, 0), ""
    try:
        written_by = database.read(_read_writer)
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
        written_by=written_by,
        sessions=sessions,
        messages=messages,
        text_bytes=text_bytes,
        stored_bytes=database.stored_bytes(),
        unindexed=unindexed,
        problems=tuple(problems),
    )


def _read_writer(tx: Statements) -> str:
    notes = [
        str(row[0])
        for row in tx.rows(
            "SELECT name FROM meta WHERE name LIKE ? OR name LIKE ? ORDER BY value, name",
            ("created by %", "migrated by %"),
        )
    ]
    began = [] if notes and notes[0].startswith("created") else ["created before 0.2"]
    return ", ".join([*began, *notes])


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
    yield from _check_logs(space, tx)
    yield from _check_bodies(space, tx)
    yield from _check_messages(space, tx)


def _check_logs(space: Space, tx: Statements) -> Iterator[str]:
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


def _check_bodies(space: Space, tx: Statements) -> Iterator[str]:
    row = tx.row(
        "SELECT count(*) FROM messages m WHERE m.tenant = ? AND NOT EXISTS"
        " (SELECT 1 FROM bodies b WHERE b.tenant = m.tenant AND b.key = m.body)",
        (space.tenant,),
    )
    if row and row[0]:
        yield f"{row[0]} messages have no body"


def _check_messages(space: Space, tx: Statements) -> Iterator[str]:
    keys = [
        row[0]
        for row in tx.rows("SELECT key FROM bodies WHERE tenant = ? ORDER BY key", (space.tenant,))
    ]
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


class Gone(Struct, frozen=True):
    """What one transaction took out."""

    sessions: int
    messages: int
    bodies: int
    kept_for: tuple[str, ...]


def erase(space: Space, tx: Statements, ids: Sequence[str]) -> Gone:
    """Take sessions out. Messages that a living one shares go over to it, with their references;
    a child whose parent is gone is a session of its own, in the same lineage.
    """
    sessions = _parents_first([fetch_own(space, tx, name) for name in dict.fromkeys(ids)])
    going = {session.key for session in sessions}
    kept: set[str] = set()
    for session in sessions:
        kept.update(_hand_over(space, tx, session, going))
    bodies = dict.fromkeys(key for session in sessions for key in _bodies_of(space, tx, session))
    messages = sum(space.database.remove_messages(tx, session.key) for session in sessions)
    for session in sessions:
        _reopen_parent(space, tx, session)
        outdate_sums(space, tx, session.info.id)
        _orphan(space, tx, session, going)
        for table in _OF_SESSION:
            _delete(space, tx, table, "session", session.key)
        _delete(space, tx, "sessions", "key", session.key)
    for root in {session.info.root_id for session in sessions}:
        _give_root(space, tx, root)
    return Gone(len(sessions), messages, _remove_unused(space, tx, bodies), tuple(sorted(kept)))


def _reopen_parent(space: Space, tx: Statements, session: Found) -> None:
    """Have a session go on that had gone on in one that is erased. Of several that took over its
    log, after it was opened again each time, it is the last one.
    """
    info = session.info
    if info.descent != "compression" or not info.parent_id:
        return
    row = tx.row(
        "SELECT key FROM sessions WHERE tenant = ? AND parent = ? AND descent = ?"
        " ORDER BY started DESC, id DESC LIMIT 1",
        (space.tenant, info.parent_id, info.descent),
    )
    if row and row[0] == session.key:
        tx.run(
            "UPDATE sessions SET ended = NULL, end_reason = '' WHERE tenant = ? AND id = ?"
            " AND end_reason = ?",
            (space.tenant, info.parent_id, info.descent),
        )


def take_out(space: Space, tx: Statements, known: SessionInfo) -> None:
    """Erase one session; raise `Conflict` if it is not as it was known."""
    now = fetch_own(space, tx, known.id).info
    if (now.length, now.view, now.compactions) != (known.length, known.view, known.compactions):
        raise Conflict(known.id, "it was appended to or compacted")
    erase(space, tx, [known.id])


def count_unshared(space: Space, tx: Statements, ids: Sequence[str]) -> int:
    """Return how many messages would go with sessions: those that no living one shares."""
    going = {key_of(space, tx, name) for name in ids}
    total = 0
    for key in going:
        places = {
            int(row[0])
            for row in tx.rows(
                "SELECT position FROM messages WHERE tenant = ? AND session = ?",
                (space.tenant, key),
            )
        }
        for session, start, stop in tx.rows(
            "SELECT session, start, stop FROM segments WHERE tenant = ? AND owner = ?",
            (space.tenant, key),
        ):
            if session not in going:
                places.difference_update(range(start, stop))
        total += len(places)
    return total


def lineages(space: Space, tx: Statements) -> list[LineageSize]:
    """Return the lineages, the one that was used longest ago first, each with its share of what
    the store takes.
    """
    rows = tx.rows(
        "SELECT s.root, s.id, s.updated, s.cwd, (SELECT coalesce(sum(length(b.packed)), 0)"
        " FROM messages m JOIN bodies b ON b.tenant = m.tenant AND b.key = m.body"
        " WHERE m.tenant = s.tenant AND m.session = s.key) FROM sessions s WHERE s.tenant = ?"
        " ORDER BY s.updated, s.id",
        (space.tenant,),
    )
    by_root: dict[str, list[tuple[str, float, str, int]]] = {}
    for root, name, updated, cwd, size in rows:
        by_root.setdefault(root, []).append((name, updated, cwd, int(size)))
    total = sum(size for each in by_root.values() for *_, size in each)
    scale = space.database.stored_bytes() / total if total else 0.0
    found = [
        LineageSize(
            tuple(name for name, *_ in each),
            max(updated for _, updated, *_ in each),
            round(scale * sum(size for *_, size in each)),
            tuple(dict.fromkeys(cwd for _, _, cwd, _ in each)),
        )
        for each in by_root.values()
    ]
    return sorted(found, key=lambda each: (each.updated, each.ids))


def _parents_first(sessions: Sequence[Found]) -> list[Found]:
    """Return sessions so that what one hands to its child is handed on by it."""
    waiting = {session.info.id: session for session in sessions}
    result: list[Found] = []
    while waiting:
        ready = [each for each in waiting.values() if each.info.parent_id not in waiting]
        result += ready
        for each in ready:
            del waiting[each.info.id]
    return result


def _hand_over(space: Space, tx: Statements, session: Found, going: set[int]) -> set[str]:
    """Give what living sessions share of one that goes to the one that shares most of it."""
    rows = tx.rows(
        "SELECT g.session, s.id, g.start, g.stop FROM segments g JOIN sessions s"
        " ON s.tenant = g.tenant AND s.key = g.session WHERE g.tenant = ? AND g.owner = ?",
        (space.tenant, session.key),
    )
    living = [row for row in rows if row[0] not in going]
    for start in {int(row[2]) for row in living}:
        sharing = [row for row in living if row[2] == start]
        heir, _, _, stop = max(sharing, key=lambda row: (row[3], row[1]))
        _move(space, tx, Piece(session.key, start, stop), heir)
    return {str(row[1]) for row in living}


def _move(space: Space, tx: Statements, piece: Piece, heir: int) -> None:
    """Make `heir` the owner of messages, for all who share them."""
    tenant = space.tenant
    tx.run(
        "UPDATE messages SET session = ? WHERE tenant = ? AND session = ? AND position >= ?"
        " AND position < ?",
        (heir, tenant, piece.owner, piece.start, piece.stop),
    )
    tx.run(
        "DELETE FROM segments WHERE tenant = ? AND session = ? AND start = ?",
        (tenant, heir, piece.start),
    )
    tx.run(
        "UPDATE segments SET owner = ? WHERE tenant = ? AND owner = ? AND start = ?",
        (heir, tenant, piece.owner, piece.start),
    )


def _orphan(space: Space, tx: Statements, session: Found, going: set[int]) -> None:
    """Give the children the references that lead into what they share, and no parent."""
    children = tx.rows(
        "SELECT key, forked_at FROM sessions WHERE tenant = ? AND parent = ? AND parent <> ''",
        (space.tenant, session.info.id),
    )
    for key, forked_at in children:
        tx.run(
            "INSERT INTO refs (tenant, ref, session, start, stop, kind)"
            " SELECT tenant, ref, ?, start, stop, kind FROM refs"
            " WHERE tenant = ? AND session = ? AND stop <= ?"
            " ON CONFLICT (tenant, ref, session) DO NOTHING",
            (key, space.tenant, session.key, forked_at),
        )
        if key not in going:
            tx.run(
                "UPDATE sessions SET parent = '', descent = '', forked_at = 0"
                " WHERE tenant = ? AND key = ?",
                (space.tenant, key),
            )


def _give_root(space: Space, tx: Statements, root: str) -> None:
    """Name a lineage that lost its root after the oldest that is left."""
    rows = tx.rows(
        "SELECT id FROM sessions WHERE tenant = ? AND root = ? ORDER BY started, id",
        (space.tenant, root),
    )
    if rows and root not in {row[0] for row in rows}:
        tx.run(
            "UPDATE sessions SET root = ? WHERE tenant = ? AND root = ?",
            (rows[0][0], space.tenant, root),
        )


def sweep(space: Space, tx: Statements) -> int:
    """Delete bodies that nothing refers to, then what was cut out of them."""
    tenant = space.tenant
    used = (
        "SELECT body FROM messages WHERE tenant = ? UNION SELECT frame FROM sessions"
        " WHERE tenant = ? AND frame IS NOT NULL UNION SELECT part FROM parts WHERE tenant = ?"
    )
    dead = f"SELECT key FROM bodies WHERE tenant = ? AND key NOT IN ({used})"
    return _remove_unused(space, tx, [row[0] for row in tx.rows(dead, (tenant,) * 4)])


def _bodies_of(space: Space, tx: Statements, session: Found) -> list[BodyKey]:
    """Return the bodies that a session refers to."""
    own = (space.tenant, session.key)
    rows = tx.rows("SELECT body FROM messages WHERE tenant = ? AND session = ?", own)
    rows += tx.rows(
        "SELECT frame FROM sessions WHERE tenant = ? AND key = ? AND frame IS NOT NULL", own
    )
    return [row[0] for row in rows]


def _remove_unused(space: Space, tx: Statements, keys: Iterable[BodyKey]) -> int:
    """Delete those of some bodies that nothing refers to, then what was cut out of them."""
    tenant, total, waiting = space.tenant, 0, list(keys)
    while waiting:
        cut: dict[BodyKey, None] = {}
        for some in split_in_chunks(waiting):
            marks = ", ".join("?" * len(some))
            dead = [row[0] for row in tx.rows(_UNUSED.format(marks), (tenant, *some))]
            if not dead:
                continue
            total += len(dead)
            for key in dead:
                rows = tx.rows(
                    "SELECT part FROM parts WHERE tenant = ? AND body = ?", (tenant, key)
                )
                cut |= {row[0]: None for row in rows}
            space.database.remove_bodies(tx, dead)
            tx.many(
                "DELETE FROM parts WHERE tenant = ? AND body = ?", [(tenant, key) for key in dead]
            )
        waiting = list(cut)
    return total


_UNUSED = (
    "SELECT b.key FROM bodies b WHERE b.tenant = ? AND b.key IN ({})"
    " AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.tenant = b.tenant AND m.body = b.key)"
    " AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = b.tenant AND s.frame = b.key)"
    " AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.tenant = b.tenant AND p.part = b.key)"
)


def _delete(space: Space, tx: Statements, table: str, column: str, key: int) -> None:
    tx.run(f"DELETE FROM {table} WHERE tenant = ? AND {column} = ?", (space.tenant, key))
