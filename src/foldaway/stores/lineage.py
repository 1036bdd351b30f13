"""Sessions: made, found, listed, ended, and what they descend from."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote, unquote

from foldaway.errors import (
    AmbiguousSession,
    Conflict,
    InvalidSetting,
    UnknownPosition,
    UnknownSession,
)
from foldaway.stores.bodies import pack
from foldaway.stores.database import BodyKey, Row, Statements, Value
from foldaway.stores.log import clip, pieces, split_in_chunks, tokens_of
from foldaway.stores.rows import (
    LEAN,
    SELECT,
    SELECT_KEYS,
    Found,
    Space,
    as_found,
    as_lean,
    fetch,
    fetch_own,
    fold_titles,
    plain,
)
from foldaway.stores.values import (
    NAMES_FIRST,
    Descent,
    NewSession,
    Page,
    SessionFilter,
    SessionInfo,
    SessionOrder,
)

_NUMBERED = re.compile(r"^(.*) #([0-9]{1,9})$", re.DOTALL)
_MOST_NAMED = 5
_SHARING: tuple[Descent, ...] = ("branch", "compression")


def create(
    space: Space,
    tx: Statements,
    new: NewSession,
    *,
    parent_id: str = "",
    descent: Descent = "",
    at: int | None = None,
) -> SessionInfo:
    """Make a session. A branch shares its parent's log up to `at`, the whole if it is None."""
    if not parent_id:
        return insert(space, tx, new, None, descent="", at=0).info
    parent = fetch_own(space, tx, parent_id)
    length = parent.info.length
    shared = (length if at is None else at) if descent in _SHARING else 0
    if not 0 <= shared <= length:
        raise UnknownPosition(parent.info.id, shared, length)
    child = insert(space, tx, new, parent, descent=descent, at=shared)
    if descent in _SHARING:
        if copy_view(space, tx, parent, child):
            update(space, tx, child.key, {"view": 1, "compactions": parent.info.compactions})
            copy_state(space, tx, parent, child)
        copy_pins(space, tx, parent, child)
    return fetch(space, tx, child.info.id).info


def insert(
    space: Space,
    tx: Statements,
    new: NewSession,
    parent: Found | None,
    *,
    descent: Descent,
    at: int,
) -> Found:
    """Write the row of a new session, and what it shares with its parent."""
    database, tenant = space.database, space.tenant
    now = database.now(tx)
    started = now if new.started is None else new.started
    stamp = _stamp(started) or _stamp(now)
    name = plain(new.id) or f"{stamp}-{secrets.token_hex(4)}"
    _refuse_known(space, tx, new, name)
    heir = parent.info if parent and descent in _SHARING else None
    title = plain(new.title) or _number_title(space, tx, parent, descent)
    first_ask = heir.first_ask if heir and at else ""
    row: dict[str, Value] = {
        "key": database.new_key(tx),
        "tenant": tenant,
        "id": name,
        "parent": parent.info.id if parent else "",
        "root": parent.info.root_id if parent and descent != "reset" else name,
        "descent": descent,
        "forked_at": at,
        "dialect": plain(new.dialect),
        "title": title,
        "goal": plain(new.goal) or (heir.goal if heir else ""),
        "model": plain(new.model) or (heir.model if heir else ""),
        "source": plain(new.source),
        "source_id": plain(new.source_id),
        "kind": new.kind,
        "cwd": plain(new.cwd) or (heir.cwd if heir else ""),
        "mode": new.mode,
        "started": started,
        "updated": started,
        "ended": None,
        "end_reason": "",
        "length": at,
        "view": 0,
        "compactions": 0,
        "tokens": tokens_of(space, tx, parent, at) if parent and at else 0,
        "first_ask": first_ask,
        "folded": fold_titles(title, first_ask),
        "frame": _frame(space, tx, new.frame, parent if heir else None),
        "requests": 0,
    }
    tx.run(
        f"INSERT INTO sessions ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
        list(row.values()),
    )
    child = fetch(space, tx, name)
    if parent and at:
        shared = clip(pieces(space, tx, parent.key, parent.info.length), at)
        tx.many(
            "INSERT INTO segments (tenant, session, owner, start, stop) VALUES (?, ?, ?, ?, ?)",
            [(tenant, child.key, piece.owner, piece.start, piece.stop) for piece in shared],
        )
    return child


def _stamp(seconds: float) -> str:
    """Return a moment as an id begins with it, "" for one that no clock shows."""
    try:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
    except (OverflowError, OSError, ValueError):
        return ""
    return stamp if len(stamp) == len("20260131-120000") else ""


def list_names(space: Space, tx: Statements) -> tuple[tuple[str, str, str], ...]:
    """Return the agents, models and folders that sessions have together."""
    rows = tx.rows(
        "SELECT DISTINCT source, model, cwd FROM sessions WHERE tenant = ?", (space.tenant,)
    )
    return tuple((str(row[0]), str(row[1]), str(row[2])) for row in rows)


def folders(space: Space, tx: Statements) -> dict[str, int]:
    """Return the folders that sessions ran in, "" if unknown, each with its number of sessions."""
    rows = tx.rows(
        "SELECT cwd, count(*) FROM sessions WHERE tenant = ? GROUP BY cwd ORDER BY cwd",
        (space.tenant,),
    )
    return {str(row[0]): int(row[1]) for row in rows}


def find(
    space: Space, tx: Statements, text: str, among: tuple[str, ...] | None = None
) -> SessionInfo:
    """Return the session of an id, a source id, the beginning or end of exactly one id, or a
    title; `last` is the one that was used last.

    With `among`, sessions that ran in other folders do not exist: they are neither found nor named.
    """
    name = plain(text)
    limit, values = _match_folders("s.cwd", among)
    for order, condition, given in _names_of(name) if name else ():
        fitting = f"s.tenant = ? AND {condition} AND {limit}"
        found = SELECT_KEYS.format(keys=f"SELECT s.key FROM sessions s WHERE {fitting} LIMIT ?")
        rows = tx.rows(
            f"{found} WHERE s.tenant = ? AND s.key = f.key ORDER BY {order}",
            (space.tenant, *given, *values, _MOST_NAMED, space.tenant),
        )
        if rows:
            return _pick_session(space, tx, text, rows)
    if name == _LAST:
        rows = tx.rows(
            f"{SELECT} WHERE s.tenant = ? AND s.kind = 'main' AND {limit}"
            " ORDER BY s.updated DESC, s.id DESC LIMIT 1",
            (space.tenant, *values),
        )
        if rows:
            return _pick_session(space, tx, text, rows)
    raise UnknownSession(text)


def _names_of(name: str) -> Iterator[tuple[str, str, tuple[Value, ...]]]:
    """Yield how a session may be named, the surest way first: in what order several are told, a
    condition and its values. An index answers each, but an end of fewer than four characters.
    """
    after = name + _LAST_CHARACTER
    yield "s.id", "s.id = ?", (name,)
    yield "s.updated DESC", "s.source_id = ? AND s.source_id <> ''", (name,)
    yield "s.id", "s.id >= ? AND s.id < ?", (name, after)
    yield "s.id", "s.source_id >= ? AND s.source_id < ? AND s.source_id <> ''", (name, after)
    ends, given = "substr(s.id, length(s.id) - ? + 1) = ?", (len(name), name)
    if len(name) < _END_CHARACTERS:
        yield "s.id", ends, given
    else:
        yield "s.id", f"{_END_OF_ID} = ? AND {ends}", (name[-_END_CHARACTERS:], *given)
    yield "s.id", "lower(s.title) = lower(?) AND s.title <> ''", (name,)


_LAST_CHARACTER = "\U0010ffff"
"""No character comes after it."""
_END_CHARACTERS = 4
_END_OF_ID = "substr(s.id, length(s.id) - 3)"
"""Written as in the index: the last characters of an id."""
_LAST = "last"


def find_by_source(space: Space, tx: Statements, source: str, source_id: str) -> SessionInfo | None:
    """Return the session that a source knows by this id, None if there is none."""
    row = tx.row(
        f"{SELECT} WHERE s.tenant = ? AND s.source = ? AND s.source_id = ? AND s.source_id <> ''",
        (space.tenant, plain(source), plain(source_id)),
    )
    return None if row is None else as_found(space, tx, row).info


def list_known_as(
    space: Space, tx: Statements, source: str, source_ids: Iterable[str]
) -> list[str]:
    """Return the ids of all sessions of a source, and of those that any knows by one of its ids."""
    sql = "SELECT id FROM sessions WHERE tenant = ? AND source = ? AND source <> ''"
    found = {row[0] for row in tx.rows(sql, (space.tenant, plain(source)))}
    sql = "SELECT id FROM sessions WHERE tenant = ? AND source_id = ? AND source_id <> ''"
    for one in source_ids:
        found.update(row[0] for row in tx.rows(sql, (space.tenant, plain(one))))
    return sorted(found)


def list_path_ids(space: Space, tx: Statements, source: str, key: str) -> list[str]:
    """Return source ids that are absolute paths, of sessions that hold a message of this key."""
    rows = tx.rows(
        "SELECT s.source_id FROM sessions s WHERE s.tenant = ? AND s.source = ?"
        " AND s.source_id >= '/' AND s.source_id < '0' AND s.source_id <> '' AND EXISTS (SELECT 1"
        " FROM messages m WHERE m.tenant = s.tenant AND m.session = s.key AND m.key = ?"
        " AND m.key <> '') ORDER BY s.started, s.id",
        (space.tenant, plain(source), plain(key)),
    )
    return [str(row[0]) for row in rows]


def adopt(space: Space, tx: Statements, name: str, source_id: str, keys: Sequence[str]) -> None:
    """Give a session another source id, and its own messages these keys by their position."""
    session = fetch_own(space, tx, name)
    _refuse_source(space, tx, session.info.source, source_id)
    update(space, tx, session.key, {"source_id": plain(source_id)})
    tx.many(
        "UPDATE messages SET key = ? WHERE tenant = ? AND session = ? AND position = ?",
        [(plain(key), space.tenant, session.key, at) for at, key in enumerate(keys)],
    )


def list_page(
    space: Space,
    tx: Statements,
    wanted: SessionFilter,
    *,
    most: int,
    after: str,
    order: SessionOrder = "updated",
) -> Page:
    """Return sessions that were in use between `since` and `until`, in an order."""
    conditions, values = _conditions_of_list(space, wanted)
    is_named = order in NAMES_FIRST
    if after:
        value, last_id = _mark(space, tx, after, order)
        sign = ">" if is_named else "<"
        conditions.append(f"s.{order} {sign}= ? AND (s.{order} {sign} ? OR s.id < ?)")
        values += (value, value, last_id)
    by = f"s.{order} {'ASC' if is_named else 'DESC'}, s.id DESC"
    keys = f"SELECT s.key FROM sessions s WHERE {' AND '.join(conditions)} ORDER BY {by} LIMIT ?"
    rows = tx.rows(
        f"{SELECT_KEYS.format(keys=keys)} WHERE s.tenant = ? AND s.key = f.key ORDER BY {by}",
        (*values, most + 1, space.tenant),
    )
    sessions = tuple(as_found(space, tx, row).info for row in rows[:most])
    if len(rows) <= most or not sessions:
        return Page(sessions)
    return Page(sessions, make_mark(getattr(sessions[-1], order), sessions[-1].id))


def make_mark(value: float | str, name: str) -> str:
    """Return the mark of a place in a list: what it is sorted by there, and a name."""
    said = quote(value, safe="") if isinstance(value, str) else float(value).hex()
    return f"{said} {name}"


def read_mark(mark: str, order: SessionOrder) -> tuple[float | str, str]:
    """Return what a mark was made from; raises `ValueError` and `OverflowError`."""
    value, _, name = mark.partition(" ")
    return plain(unquote(value)) if order in NAMES_FIRST else float.fromhex(value), plain(name)


def count(space: Space, tx: Statements, wanted: SessionFilter) -> int:
    """Return how many sessions `list_page` has on all pages."""
    conditions, values = _conditions_of_list(space, wanted)
    row = tx.row(f"SELECT count(*) FROM sessions s WHERE {' AND '.join(conditions)}", values)
    return int(row[0]) if row else 0


def _conditions_of_list(space: Space, wanted: SessionFilter) -> tuple[list[str], list[Value]]:
    conditions, values = _conditions(space, wanted)
    if wanted.only_leaves:  # the newest of those that fit: a younger branch may be called otherwise
        younger, given = _conditions(space, wanted, "t")
        conditions.append(
            f"NOT EXISTS (SELECT 1 FROM sessions t WHERE {' AND '.join(younger)} AND"
            " t.root = s.root AND (+t.updated > s.updated OR (+t.updated = s.updated"
            " AND t.id > s.id)))"  # the plus keeps SQLite from an index that all sessions are in
        )
        values += given
    return conditions, values


def _mark(space: Space, tx: Statements, after: str, order: SessionOrder) -> tuple[float | str, str]:
    """Return where a page ended: by the mark, or by a session's name."""
    try:
        if " " not in after:
            last = find(space, tx, after)
            return getattr(last, order), last.id
        return read_mark(after, order)
    except (ValueError, OverflowError, UnknownSession):
        raise InvalidSetting(
            "after", after, "the mark or the session that the page before ended with"
        ) from None


def lineage(space: Space, tx: Statements, session_id: str) -> tuple[SessionInfo, ...]:
    """Return all sessions of the same root, in order of their start."""
    rows = tx.rows(
        f"{SELECT} WHERE s.tenant = ? AND s.root = ? ORDER BY s.started, s.id",
        (space.tenant, fetch(space, tx, session_id).info.root_id),
    )
    return tuple(as_found(space, tx, row).info for row in rows)


def list_replacements(space: Space, tx: Statements, root_id: str) -> tuple[SessionInfo, ...]:
    """Return the sessions that were begun in the place of one of this root."""
    rows = tx.rows(
        f"{SELECT} WHERE s.tenant = ? AND s.descent = 'reset' AND s.parent <> '' AND s.parent IN"
        " (SELECT p.id FROM sessions p WHERE p.tenant = ? AND p.root = ?) ORDER BY s.started, s.id",
        (space.tenant, space.tenant, plain(root_id)),
    )
    return tuple(as_found(space, tx, row).info for row in rows)


def newest_leaf(space: Space, tx: Statements, session_id: str) -> SessionInfo:
    """Return where a session goes on: the newest child by compression, to the end."""
    info = fetch(space, tx, session_id).info
    while True:
        row = tx.row(
            f"{SELECT} WHERE s.tenant = ? AND s.parent = ? AND s.parent <> ''"
            " AND s.descent = 'compression' ORDER BY s.started DESC, s.id DESC LIMIT 1",
            (space.tenant, info.id),
        )
        if row is None:
            return info
        info = as_found(space, tx, row).info


def leaves(
    space: Space, tx: Statements, ids: Sequence[str]
) -> dict[str, tuple[SessionInfo, SessionInfo]]:
    """Return each session, and where it goes on; both without their frames."""
    found: dict[str, SessionInfo] = {}
    rotated: set[str] = set()
    for some in split_in_chunks(list(dict.fromkeys(map(plain, ids)))):
        marks = ", ".join("?" * len(some))
        rows = tx.rows(
            f"{LEAN} FROM sessions s WHERE s.tenant = ? AND s.id IN ({marks})",
            (space.tenant, *some),
        )
        found.update((row[0], as_lean(space, row).info) for row in rows)
        rotated.update(
            row[0]
            for row in tx.rows(
                "SELECT parent FROM sessions WHERE tenant = ? AND parent <> ''"
                f" AND descent = 'compression' AND parent IN ({marks})",
                (space.tenant, *some),
            )
        )
    return {
        name: (info, newest_leaf(space, tx, name) if name in rotated else info)
        for name, info in found.items()
    }


def change(
    space: Space,
    tx: Statements,
    session_id: str,
    *,
    title: str | None,
    goal: str | None,
    model: str | None,
    dialect: str | None,
    frame: bytes | None,
) -> SessionInfo:
    """Set what is not None."""
    session = fetch_own(space, tx, session_id)
    values: dict[str, Value] = {
        name: plain(value)
        for name, value in (
            ("title", title),
            ("goal", goal),
            ("model", model),
            ("dialect", dialect),
        )
        if value is not None
    }
    if title is not None:
        values["folded"] = fold_titles(plain(title), session.info.first_ask)
    if frame is not None:
        values["frame"] = _frame(space, tx, frame, None)
    if values:
        update(space, tx, session.key, values)
    return fetch(space, tx, session_id).info


def end(space: Space, tx: Statements, session_id: str, reason: str) -> None:
    """Mark a session as ended; it can still be read, searched and reopened."""
    session = fetch_own(space, tx, session_id)
    ended = space.database.now(tx)
    update(space, tx, session.key, {"ended": ended, "end_reason": plain(reason)})


def reopen(space: Space, tx: Statements, session_id: str) -> None:
    """Take back that a session has ended."""
    update(space, tx, fetch_own(space, tx, session_id).key, {"ended": None, "end_reason": ""})


def update(space: Space, tx: Statements, key: int, values: dict[str, Value]) -> None:
    """Set columns of a session's row."""
    settings = ", ".join(f"{name} = ?" for name in values)
    tx.run(
        f"UPDATE sessions SET {settings} WHERE tenant = ? AND key = ?",
        (*values.values(), space.tenant, key),
    )


def outdate_sums(space: Space, tx: Statements, session_id: str) -> None:
    """Have the sums of a session counted again, and those of the sessions that it works for."""
    name, sql = plain(session_id), "SELECT kind, parent FROM sessions WHERE tenant = ? AND id = ?"
    while row := tx.row(sql, (space.tenant, name)):
        tx.run(
            "UPDATE sessions SET requests = NULL WHERE tenant = ? AND id = ? AND requests >= 0",
            (space.tenant, name),
        )
        name = str(row[1]) if row[0] == "subagent" else ""


def _frame(space: Space, tx: Statements, frame: bytes, parent: Found | None) -> BodyKey:
    """Return the key of a frame, of the parent's if there is none, or None."""
    if frame:
        return space.database.put_bodies(tx, [pack(frame, "")])[0]
    row = parent and tx.row(
        "SELECT frame FROM sessions WHERE tenant = ? AND key = ?", (space.tenant, parent.key)
    )
    return row[0] if row else None


def _refuse_known(space: Space, tx: Statements, new: NewSession, session_id: str) -> None:
    if tx.row("SELECT 1 FROM sessions WHERE tenant = ? AND id = ?", (space.tenant, session_id)):
        raise Conflict(session_id, "there is one of that id already")
    _refuse_source(space, tx, new.source, new.source_id)


def _refuse_source(space: Space, tx: Statements, source: str, source_id: str) -> None:
    known = source_id and tx.row(
        "SELECT id FROM sessions WHERE tenant = ? AND source = ? AND source_id = ?"
        " AND source_id <> ''",
        (space.tenant, plain(source), plain(source_id)),
    )
    if known:
        raise Conflict(str(known[0]), f"it has the source id {source_id!r} already")


def _pick_session(space: Space, tx: Statements, text: str, rows: list[Row]) -> SessionInfo:
    if len(rows) > 1:
        raise AmbiguousSession(text, [str(row[0]) for row in rows[:_MOST_NAMED]])
    return as_found(space, tx, rows[0]).info


def _conditions(
    space: Space, wanted: SessionFilter, row: str = "s"
) -> tuple[list[str], list[Value]]:
    conditions, values = [f"{row}.tenant = ?"], list[Value]([space.tenant])

    def add(condition: str, *given: Value) -> None:
        conditions.append(f"{row}.{condition}")
        values.extend(given)

    if wanted.source:
        add("source = ?", plain(wanted.source))
    if wanted.model:
        add("model = ?", plain(wanted.model))
    if wanted.kind != "any":
        add("kind = ?", wanted.kind)
    if wanted.since is not None:
        add("updated >= ?", wanted.since)
    if wanted.until is not None:
        add("started < ?", wanted.until)
    if wanted.root_id:
        add("root = ?", plain(wanted.root_id))
    if wanted.folders is not None:
        limit, among = _match_folders(f"{row}.cwd", wanted.folders)
        conditions.append(limit)
        values.extend(among)
    if wanted.text:
        pattern = re.sub(r"([\\%_])", r"\\\1", plain(wanted.text[:1000]).casefold())
        add("folded LIKE ? ESCAPE '\\'", f"%{pattern}%")
    return conditions, values


def _match_folders(column: str, among: tuple[str, ...] | None) -> tuple[str, tuple[Value, ...]]:
    """Return the condition that a session ran in one of these folders, and its values."""
    if among is None:
        return "1 = 1", ()
    if not among:
        return "1 = 0", ()
    return f"{column} IN ({', '.join('?' * len(among))})", among


def _number_title(space: Space, tx: Statements, parent: Found | None, descent: Descent) -> str:
    """Return the parent's title with the next free number of the lineage."""
    if parent is None or not parent.info.title or descent == "delegation":
        return ""
    base = _base(parent.info.title)[0]
    rows = tx.rows(
        "SELECT title FROM sessions WHERE tenant = ? AND root = ?",
        (space.tenant, parent.info.root_id),
    )
    taken = [number for name, number in (_base(row[0]) for row in rows) if name == base]
    return f"{base} #{max(taken, default=1) + 1}"


def _base(title: str) -> tuple[str, int]:
    numbered = _NUMBERED.match(title)
    return (numbered[1], int(numbered[2])) if numbered else (title, 1)


def copy_view(space: Space, tx: Statements, parent: Found, child: Found) -> int:
    """Give a child its parent's view, if that covers no more than what is shared.

    Return its number there, 0 where the child begins with the log as it is.
    """
    copied = tx.run(
        "INSERT INTO views (tenant, session, number, previous, created, reason, length, items,"
        " state, report) SELECT tenant, ?, 1, 0, created, reason, length, items, state, report"
        " FROM views WHERE tenant = ? AND session = ? AND number = ? AND length <= ?",
        (child.key, space.tenant, parent.key, parent.info.view, child.info.forked_at),
    )
    return 1 if copied else 0


def copy_state(space: Space, tx: Statements, parent: Found, child: Found) -> None:
    """Carry the state between compactions over."""
    tx.run(
        "INSERT INTO states (tenant, session, state) SELECT tenant, ?, state FROM states"
        " WHERE tenant = ? AND session = ?",
        (child.key, space.tenant, parent.key),
    )


def copy_pins(space: Space, tx: Statements, parent: Found, child: Found) -> None:
    """Pin what is shared in the child too."""
    tx.run(
        "INSERT INTO pins (tenant, session, position, note) SELECT tenant, ?, position, note"
        " FROM pins WHERE tenant = ? AND session = ? AND position < ?",
        (child.key, space.tenant, parent.key, child.info.forked_at),
    )
