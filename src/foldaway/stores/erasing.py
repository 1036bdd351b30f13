"""Everything that a store holds, looked through for words, and words taken out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway.stores.bodies import content_of, expand, pack, squeeze, unpack
from foldaway.stores.database import BodyKey, MessageRow, Statements, Value
from foldaway.stores.lineage import update
from foldaway.stores.log import (
    Ready,
    first_ask_of,
    message_row,
    pack_messages,
    pieces,
    split_in_chunks,
)
from foldaway.stores.rows import Found, Space, fetch_own, fold_titles
from foldaway.stores.values import NewMessage

Holds: TypeAlias = Callable[[bytes], bool]
"""Whether JSON, or a text in UTF-8, has the words."""

Sift: TypeAlias = Callable[[Sequence[bytes]], Iterable[int]]
"""Which of several may have the words, by their numbers: all that do, and few others."""

HeldKind: TypeAlias = Literal["message", "frame", "session", "view", "state", "pin", "unused"]
"""`frame` is what is kept around the messages; `unused` is a body that nothing refers to."""

CLEARED = ("title", "goal", "cwd")
"""Columns of a session that are emptied if they have the words; its id and key are not."""
_NAMED = ("id", "parent", "root", "model", "source", "source_id", "end_reason")
_PAGE = 200
_PAGE_BYTES = 8_000_000
"""One transaction reads at most `_PAGE` bodies, and stops after the body that reaches this size."""
_ASKED = 20
"""Messages of a user that are read for what was asked first: the first few words of a person."""


class HeldPiece(Struct, frozen=True):
    """A place in a store that holds something: a message, or the number of a view or pin."""

    kind: HeldKind
    session_id: str = ""
    root_id: str = ""
    position: int = 0
    data: bytes = b""
    key: BodyKey = None

    def reword(self, owner_id: str, position: int, new: NewMessage) -> Rewording:
        """Return the change that puts another message in its place, packed already."""
        (ready,) = pack_messages([new])
        return Rewording(owner_id, position, self.key, ready)

    @property
    def place(self) -> str:
        """Return where it is, in words."""
        at = {
            "message": f", m{self.position}",
            "view": f", view {self.position}",
            "pin": f", the note of the pin at m{self.position}",
            "session": ", its name or goal",
            "state": ", its state",
            "frame": ", its frame",
        }.get(self.kind, "")
        return f"session {self.session_id}{at}" if self.session_id else "a body that nobody uses"


class Rewording(Struct, frozen=True):
    """A message whose words are taken out: where it is, the body that it had, what it becomes."""

    session_id: str
    """Who owns it."""
    position: int
    key: BodyKey
    ready: Ready


class Reworded(Struct, frozen=True):
    """What one transaction changed."""

    messages: int = 0
    views: int = 0
    """Views that were dropped, because they may quote what was taken out."""
    sessions: tuple[str, ...] = ()
    """All whose log, view, name, goal, pins or frame changed."""


def look_through(
    space: Space,
    holds: Holds,
    tell: Callable[[int, int], object] | None,
    sift: Sift = lambda several: range(len(several)),
) -> Iterator[HeldPiece]:
    """Yield all that has the words, bodies unpacked; `tell` is told how many of how many bodies
    were read. Only what `sift` returns is looked into.
    """
    read = space.database.read
    row = read(lambda tx: tx.row("SELECT count(*) FROM bodies WHERE tenant = ?", (space.tenant,)))
    total, done, last = int(row[0]) if row else 0, 0, -1
    while True:
        keys, found = read(lambda tx, last=last: _bodies_after(space, tx, last, holds, sift))
        if not keys:
            break
        last = keys[-1]
        done += len(keys)
        if tell is not None:
            tell(done, max(done, total))
        yield from found
    for place in _HELD:
        yield from _rows_holding(space, place, holds, sift)


def reword(
    space: Space,
    tx: Statements,
    root_id: str,
    changes: Sequence[Rewording],
    holds: Holds,
    mend: Callable[[bytes], bytes],
    blank: bytes,
) -> Reworded:
    """Take words out of the sessions of one root, all or nothing.

    Views that cover a changed message, or have the words, are dropped, and every session that is
    touched gets a view of a new number: that of the newest view that is left, or `blank`. So a
    process that still has the words in memory cannot bring them back. `mend` takes the words out
    of JSON.
    """
    names = [
        str(row[0])
        for row in tx.rows(
            "SELECT id FROM sessions WHERE tenant = ? AND root = ? ORDER BY id",
            (space.tenant, root_id),
        )
    ]
    sessions = [fetch_own(space, tx, name) for name in names]
    first = _write_changes(space, tx, sessions, changes)
    views, touched = 0, list[str]()
    for session in sessions:
        at = first.get(session.key)
        is_cleared = _clear(space, tx, session, holds, mend)
        dropped = _drop_views(space, tx, session, at, holds, blank)
        if at is not None:
            _count_again(space, tx, session)
        if is_cleared or dropped is not None:
            touched.append(session.info.id)
        views += dropped or 0
    return Reworded(len(changes), views, tuple(touched))


def descendants(space: Space, tx: Statements, ids: Iterable[str]) -> tuple[str, ...]:
    """Return sessions and all that came from them, in whatever way."""
    children: dict[str, list[str]] = {}
    for name, parent in tx.rows(
        "SELECT id, parent FROM sessions WHERE tenant = ? AND parent <> '' ORDER BY id",
        (space.tenant,),
    ):
        children.setdefault(str(parent), []).append(str(name))
    found = dict.fromkeys(ids)
    waiting = list(found)
    while waiting:
        new = [name for name in children.get(waiting.pop(), ()) if name not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return tuple(found)


# What has the words


def _bodies_after(
    space: Space, tx: Statements, last: int, holds: Holds, sift: Sift
) -> tuple[list[BodyKey], list[HeldPiece]]:
    """Return the keys of the next bodies, and where those are used that have the words in them or
    in their texts; what was cut out of a body has no text.
    """
    sizes = tx.rows(
        "SELECT key, size FROM bodies WHERE tenant = ? AND key > ? ORDER BY key LIMIT ?",
        (space.tenant, last, _PAGE),
    )
    before = accumulate((size for _, size in sizes), initial=0)
    keys = [key for (key, _), size in zip(sizes, before, strict=False) if size < _PAGE_BYTES]
    rows = tx.rows(
        "SELECT tenant, key, parts, packed FROM bodies WHERE tenant = ? AND key > ? AND key <= ?"
        " ORDER BY key",
        (space.tenant, last, keys[-1] if keys else last),
    )
    several = [content_of(tx, *row) if row[2] else expand(row[3]) for row in rows]
    found: dict[BodyKey, bytes] = {}
    for at in sift(several):
        key = rows[at][1]
        is_part = tx.row(
            "SELECT 1 FROM parts WHERE tenant = ? AND part = ? LIMIT 1", (space.tenant, key)
        )
        body, text = (several[at], b"") if is_part else unpack(tx, *rows[at])
        if holds(body) or (text and holds(text)):
            found[key] = body
    return keys, list(_users(space, tx, found)) if found else []


def _users(space: Space, tx: Statements, found: Mapping[BodyKey, bytes]) -> Iterator[HeldPiece]:
    """Yield where bodies are used: by messages, by sessions, or by nobody. What was cut out of a
    body is found with it.
    """
    used: set[BodyKey] = set()
    for some in split_in_chunks(list(found)):
        marks = ", ".join("?" * len(some))
        for key, name, root, position in tx.rows(
            "SELECT m.body, s.id, s.root, m.position FROM messages m JOIN sessions s"
            f" ON s.tenant = m.tenant AND s.key = m.session WHERE m.tenant = ? AND m.body IN"
            f" ({marks}) ORDER BY s.id, m.position",
            (space.tenant, *some),
        ):
            used.add(key)
            yield HeldPiece("message", name, root, position, found[key], key)
        for key, name, root in tx.rows(
            f"SELECT frame, id, root FROM sessions WHERE tenant = ? AND frame IN ({marks})",
            (space.tenant, *some),
        ):
            used.add(key)
            yield HeldPiece("frame", name, root, 0, found[key], key)
        used.update(
            row[0]
            for row in tx.rows(
                f"SELECT part FROM parts WHERE tenant = ? AND part IN ({marks})",
                (space.tenant, *some),
            )
        )
    yield from (HeldPiece("unused", data=found[key], key=key) for key in found if key not in used)


class _HeldIn(Struct, frozen=True):
    """A table that holds texts, or what is packed, and how it is gone through."""

    kind: HeldKind
    table: str
    order: tuple[str, ...]
    """Which session it is, and which of its rows."""
    texts: tuple[str, ...]
    page: int = _PAGE
    where: str = ""
    named_by: str = "key"


_HELD = (
    _HeldIn(
        "session", "sessions", ("id",), (*CLEARED, *_NAMED, "first_ask", "folded"), named_by="id"
    ),
    _HeldIn("view", "views", ("session", "number"), ("items", "state", "report", "sent"), 10),
    _HeldIn("state", "states", ("session",), ("state",)),
    _HeldIn("pin", "pins", ("session", "position"), ("note",)),
    _HeldIn(
        "message", "messages", ("session", "position"), ("key", "tools"), 2_000,
        " AND (key <> '' OR tools <> '')",
    ),
)  # fmt: skip


def _rows_holding(space: Space, place: _HeldIn, holds: Holds, sift: Sift) -> Iterator[HeldPiece]:
    """Yield what is in the rows of sessions, views, states, pins or messages."""
    order, width = ", ".join(place.order), len(place.order)
    sql = (
        f"SELECT {', '.join((*place.order, *place.texts))} FROM {place.table} WHERE tenant = ?"
        f" AND ({order}) > ({', '.join('?' * width)}){place.where} ORDER BY {order} LIMIT ?"
    )
    last: tuple[Value, ...] = ("" if place.named_by == "id" else -1, -1)[:width]

    def read_page(tx: Statements) -> tuple[tuple[Value, ...], list[HeldPiece]]:
        rows = tx.rows(sql, (space.tenant, *last, place.page))
        held = [[_as_read(one) for one in row[width:] if one] for row in rows]
        joined, found = list(map(b"\n".join, held)), list[HeldPiece]()
        for at in sift(joined):
            if not any(map(holds, held[at])):
                continue
            session, *number = rows[at][:width]
            row = tx.row(
                f"SELECT id, root FROM sessions WHERE tenant = ? AND {place.named_by} = ?",
                (space.tenant, session),
            )
            if row:
                found.append(HeldPiece(place.kind, row[0], row[1], sum(number), joined[at]))
        return tuple(rows[-1][:width]) if rows else (), found

    while last:
        last, found = space.database.read(read_page)
        yield from found


def _as_read(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else expand(value)


def _read_held_texts(
    space: Space, tx: Statements, key: int
) -> Iterator[tuple[HeldKind, int, *tuple[bytes, ...]]]:
    """Yield what a session has beside the bodies of its messages, a row at a time."""
    own = (space.tenant, key)
    for (number,) in tx.rows("SELECT number FROM views WHERE tenant = ? AND session = ?", own):
        row = tx.row(
            "SELECT items, state, report, sent FROM views WHERE tenant = ? AND session = ?"
            " AND number = ?",
            (*own, number),
        )
        yield "view", number, *(expand(one) for one in row or () if one)
    for (packed,) in tx.rows("SELECT state FROM states WHERE tenant = ? AND session = ?", own):
        yield "state", 0, expand(packed)
    for at, note in tx.rows(
        "SELECT position, note FROM pins WHERE tenant = ? AND session = ?", own
    ):
        yield "pin", at, note.encode()
    for at, given, tools in tx.rows(
        "SELECT position, key, tools FROM messages WHERE tenant = ? AND session = ?"
        " AND (key <> '' OR tools <> '')",
        own,
    ):
        yield "message", at, given.encode(), tools.encode()


def _has(holds: Holds, texts: Iterable[str]) -> bool:
    return any(text and holds(text.encode()) for text in texts)


# What is taken out


def _write_changes(
    space: Space, tx: Statements, sessions: Sequence[Found], changes: Sequence[Rewording]
) -> dict[int, int]:
    """Write messages again; return the first changed position of each log that has one of them.

    A message that is not the one that was looked at stays as it is.
    """
    database, first = space.database, dict[int, int]()
    keys = {session.info.id: session.key for session in sessions}
    for change in changes:
        place = (space.tenant, keys.get(change.session_id), change.position)
        row = tx.row(
            "SELECT body FROM messages WHERE tenant = ? AND session = ? AND position = ?", place
        )
        if row is None or row[0] != change.key:
            continue
        (body,) = database.put_bodies(tx, [change.ready.packed])
        new = message_row(change.ready, body, database.now(tx))
        database.replace_message(tx, keys[change.session_id], change.position, new)
        sharing = tx.rows(
            "SELECT session FROM segments WHERE tenant = ? AND owner = ? AND start <= ?"
            " AND stop > ?",
            (*place, change.position),
        )
        for key in (keys[change.session_id], *(int(row[0]) for row in sharing)):
            first[key] = min(first.get(key, change.position), change.position)
    return first


def _clear(
    space: Space, tx: Statements, session: Found, holds: Holds, mend: Callable[[bytes], bytes]
) -> bool:
    """Take words out of the row, the pins and the frame of a session; return whether any had."""
    info, own = session.info, (space.tenant, session.key)
    new: dict[str, Value] = {
        name: "" for name in CLEARED if _has(holds, [str(getattr(info, name))])
    }
    if _has(holds, [info.first_ask]):
        new["first_ask"] = ""
    if new:
        new["folded"] = fold_titles(*(str(new.get(one, getattr(info, one))) for one in _FOLDED))
    frame = tx.row(
        "SELECT b.tenant, b.key, b.parts, b.packed FROM sessions s JOIN bodies b"
        " ON b.tenant = s.tenant AND b.key = s.frame WHERE s.tenant = ? AND s.key = ?",
        own,
    )
    if frame and holds(held := unpack(tx, *frame)[0]):
        new["frame"] = space.database.put_bodies(tx, [pack(mend(held), "")])[0]
    if new:
        update(space, tx, session.key, new)
    places = [
        (kind, at)
        for kind, at, *held in _read_held_texts(space, tx, session.key)
        if kind in ("pin", "message") and any(map(holds, held))
    ]
    for kind, at in places:
        table, column = ("pins", "note") if kind == "pin" else ("messages", "key")
        tx.run(
            f"UPDATE {table} SET {column} = '' WHERE tenant = ? AND session = ? AND position = ?",
            (*own, at),
        )
    return bool(new or places)


_FOLDED = ("title", "first_ask")


def _drop_views(
    space: Space, tx: Statements, session: Found, at: int | None, holds: Holds, blank: bytes
) -> int | None:
    """Drop the views that may quote what was taken out, and show the session by another one.

    Return how many; None if neither its log nor a view nor its state had anything.
    """
    own = (space.tenant, session.key)
    rows = tx.rows(
        "SELECT number, previous, length FROM views WHERE tenant = ? AND session = ?", own
    )
    held = {
        (kind, number)
        for kind, number, *data in _read_held_texts(space, tx, session.key)
        if kind in ("view", "state") and any(map(holds, data))
    }
    if at is None and not held:
        return None
    before = {int(number): int(previous) for number, previous, _ in rows}
    going = {
        int(number)
        for number, _, length in rows
        if ("view", number) in held or (at is not None and length > at)
    }

    def left(number: int) -> int:
        while number in going:
            number = before[number]
        return number

    tx.run("DELETE FROM states WHERE tenant = ? AND session = ?", own)
    gone = "DELETE FROM views WHERE tenant = ? AND session = ? AND number = ?"
    tx.many(gone, [(*own, number) for number in sorted(going)])
    new, shown = max(before, default=0) + 1, left(session.info.view)
    if shown:
        _renumber(tx, own, shown, new)
    else:
        _show_log(space, tx, session, new, blank)
    for number in before.keys() - going:
        tx.run(
            "UPDATE views SET previous = ? WHERE tenant = ? AND session = ? AND number = ?",
            (left(before[number]), *own, new if number == shown else number),
        )
    steps, number = 0, shown
    while number:
        steps, number = steps + 1, left(before[number])
    update(space, tx, session.key, {"view": new, "compactions": steps})
    return len(going)


def _renumber(tx: Statements, own: tuple[str, int], number: int, new: int) -> None:
    tx.run(
        "UPDATE views SET number = ?, reason = 'erasure' WHERE tenant = ? AND session = ?"
        " AND number = ?",
        (new, *own, number),
    )


def _show_log(space: Space, tx: Statements, session: Found, number: int, blank: bytes) -> None:
    tx.run(
        "INSERT INTO views (tenant, session, number, previous, created, reason, length, items,"
        " state, report) VALUES (?, ?, ?, 0, ?, 'erasure', 0, ?, ?, ?)",
        (
            space.tenant,
            session.key,
            number,
            space.database.now(tx),
            squeeze(blank),
            squeeze(b""),
            squeeze(b""),
        ),
    )


def _count_again(space: Space, tx: Statements, session: Found) -> None:
    """Bring tokens and the first ask of a session up to its log."""
    tokens, ask = 0, ""
    for piece in pieces(space, tx, session.key, session.info.length):
        part = (space.tenant, piece.owner, piece.start, piece.stop)
        inside = "m.tenant = ? AND m.session = ? AND m.position >= ? AND m.position < ?"
        row = tx.row(f"SELECT coalesce(sum(m.tokens), 0) FROM messages m WHERE {inside}", part)
        tokens += int(row[0]) if row else 0
        said = (
            ()
            if ask
            else tx.rows(
                "SELECT b.tenant, b.key, b.parts, b.packed FROM messages m JOIN bodies b"
                f" ON b.tenant = m.tenant AND b.key = m.body WHERE {inside} AND m.role = 'user'"
                " AND m.generated = 0 ORDER BY m.position LIMIT ?",
                (*part, _ASKED),
            )
        )
        ask = ask or first_ask_of(
            [
                MessageRow(None, "user", "", 0.0, "", 0, 0, unpack(tx, *one)[1].decode())
                for one in said
            ]
        )
    row = tx.row(
        "SELECT title FROM sessions WHERE tenant = ? AND key = ?", (space.tenant, session.key)
    )
    title = str(row[0]) if row else ""
    new: dict[str, Value] = {"tokens": tokens, "first_ask": ask, "folded": fold_titles(title, ask)}
    update(space, tx, session.key, new)
