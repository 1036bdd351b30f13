"""Sessions of other agents into a store: the first time whole, then only what is new."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import eq
from typing import Any, Literal, TypeAlias

from msgspec import Struct, convert
from msgspec.structs import replace

from foldaway._core import log_event
from foldaway.agents.importers.imported import ImportedSession, Note, Relation, message_keys
from foldaway.agents.known import find_agent
from foldaway.compaction import message_tokens
from foldaway.dialects import dump_bytes, parse
from foldaway.errors import Conflict, NotReadable, UnknownSession
from foldaway.sessions import decode_rows, digest, new_message, tool_names
from foldaway.stores import Descent, NewMessage, NewSession, SessionInfo, Store, TurnUsage, plain
from foldaway.transcript import Estimator

Mode: TypeAlias = Literal["in-place", "rotate"]

_TRIES = 8
"""Looks at a session that another process changes at the same time; the second one sees it."""

_MOST_WAITING = 20_000
"""Messages of sessions that are held back until their parents come: two long sessions."""

_DESCENT: Mapping[Relation, Descent] = {
    "sidechain": "delegation",
    "subagent": "delegation",
    "branch": "branch",
    "resumed": "compression",
    "compression": "compression",
}


class Taken(Struct, frozen=True, kw_only=True):
    """What became of one session of a file, or why a file gave none."""

    path: str
    agent: str = ""
    source_id: str = ""
    """The id that the file gave."""
    session: SessionInfo | None = None
    added: int = 0
    """Messages that are new."""
    known: int = 0
    """Messages that were there already."""
    is_new: bool = False
    notes: tuple[Note, ...] = ()
    problem: str = ""
    """Why the file could not be read; empty where it was."""


def take_all(
    store: Store | None,
    found: Iterable[ImportedSession | NotReadable],
    *,
    mode: Mode = "in-place",
    dry_run: bool = False,
) -> Iterator[Taken]:
    """Take sessions in the order in which they come; each is durable when it is yielded.

    `mode` is how later compactions of new ones are kept. A dry run says the same and changes
    nothing; None is then a store that is not there yet. A session that cannot be taken because
    others keep changing it is yielded with that problem; the rest is taken.
    """
    written = 0
    for one in _sort_by_parent(store, found):
        if isinstance(one, NotReadable):
            log_event("import.skipped", file=os.path.basename(one.where))
            yield Taken(path=one.where, problem=str(one))
        elif store is None or dry_run:
            yield preview(store, one)
        else:
            try:
                taken = take(store, one, mode=mode)
                written += taken.added
                yield taken
            except Conflict as error:
                log_event("import.skipped", file=os.path.basename(one.path), agent=one.agent)
                yield Taken(path=one.path, problem=f"{one.path}: {error}")
    if store is not None:
        store.note_filled(written)


def take(store: Store, found: ImportedSession, *, mode: Mode = "in-place") -> Taken:
    """Take one session, whole or not at all; of one that is there only what is new is added.

    If another process takes it at the same time, each adds what the other has not. Raises
    `Conflict` if that fails many times in a row.
    """
    for _ in range(_TRIES - 1):
        try:
            return _take(store, found, mode)
        except (Conflict, UnknownSession):  # another process was first: look again
            continue
    return _take(store, found, mode)


def _take(store: Store, found: ImportedSession, mode: Mode) -> Taken:
    to_do = _compare(store, found)
    there, added = to_do.there, to_do.added
    if to_do.path and (adopted := store.by_source(found.agent, to_do.path)):
        store.adopt(adopted.id, to_do.name, to_do.keys)
    if there is None or to_do.is_rewrite:
        there = _create(store, found, to_do, mode)
    elif added:
        added = len(store.append(there.id, to_do.rows))
        there = store.session(there.id)
    _keep_usage(store, found, there, len(to_do.rows))
    log_event("import.taken", agent=found.agent, added=added, known=len(found.times) - added)
    return _report(found, there, added, is_new=to_do.there is None)


def _keep_usage(store: Store, found: ImportedSession, there: SessionInfo, new: int) -> None:
    """Keep what the answers among the last `new` messages used, or all of them if the store has
    nothing: the session was imported by a version that did not keep it.

    Not for a session that may be written again: what it used counts as in use then.
    """
    if not found.usage or find_agent(found.agent).files.last_may_grow:
        return
    known = len(found.times) - new if store.usage(there.id) else 0
    before = max(there.length - len(found.times), 0)
    rows = [
        convert(replace(one, position=before + one.position), TurnUsage, from_attributes=True)
        for one in found.usage
        if one.position >= known
    ]
    if rows:
        store.add_usage(there.id, *rows)


def preview(store: Store | None, found: ImportedSession) -> Taken:
    """Return what `take` would do."""
    if store is None:
        return _report(found, None, len(found.times), is_new=True)
    to_do = _compare(store, found)
    return _report(found, to_do.there, to_do.added, is_new=to_do.there is None)


class _ToDo(Struct, frozen=True):
    """What a session of a file is in the store, and what has to be written."""

    name: str
    """Its id within its agent."""
    there: SessionInfo | None
    rows: list[NewMessage]
    added: int
    """How many of the rows are new."""
    path: str = ""
    """By which an earlier version knew the session; it gets its name, and the `keys` of today."""
    keys: Sequence[str] = ()
    is_rewrite: bool = False
    """Whether all of it is written again: the last message that is there is not whole."""


def _compare(store: Store, found: ImportedSession) -> _ToDo:
    keys = tuple(plain(key) for key in message_keys(found))
    name, there, known = _identify(store, found, keys)
    path, new = "", keys[:0]
    if there is None:
        path, there, known, new = _find_by_path(store, found, keys)
    is_rewrite = (
        there is not None
        and find_agent(found.agent).files.last_may_grow
        and not _is_same(found.agent, keys, known)
        and _is_unreferenced(store, there)
    )
    rows = list(_rows(found, keys, frozenset() if is_rewrite else known))
    is_known = there.length - 1 if there is not None and is_rewrite else 0
    return _ToDo(name, there, rows, len(rows) - is_known, path, new, is_rewrite)


def _report(found: ImportedSession, info: SessionInfo | None, added: int, *, is_new: bool) -> Taken:
    return Taken(
        path=found.path,
        agent=found.agent,
        source_id=found.source_id,
        session=info,
        added=added,
        known=len(found.times) - added,
        is_new=is_new,
        notes=found.notes,
    )


def _sort_by_parent(
    store: Store | None, found: Iterable[ImportedSession | NotReadable]
) -> Iterator[ImportedSession | NotReadable]:
    """Yield a session whose parent has not come yet after it, or at the end.

    Only so many messages wait; a parent that comes later still is not known as one.
    """
    seen: set[tuple[str, str]] = set()
    waiting: list[ImportedSession] = []
    for one in found:
        if isinstance(one, NotReadable):
            yield one
        elif _is_waiting(store, one, seen):
            waiting.append(one)
            while sum(len(each.times) for each in waiting) > _MOST_WAITING:
                yield waiting.pop(0)
        else:
            yield from _with_children(one, waiting, seen)
    while waiting:
        yield from _with_children(waiting.pop(0), waiting, seen)


def _with_children(
    first: ImportedSession, waiting: list[ImportedSession], seen: set[tuple[str, str]]
) -> Iterator[ImportedSession]:
    """Yield a session and all that waited for it, each after its parent."""
    ready = [first]
    while ready:
        one = ready.pop()
        seen.add((one.agent, one.source_id))
        yield one
        children = [
            child
            for child in waiting
            if (child.agent, child.parent_id) == (one.agent, one.source_id)
        ]
        for child in children:
            waiting.remove(child)
        ready += reversed(children)


def _is_waiting(store: Store | None, one: ImportedSession, seen: set[tuple[str, str]]) -> bool:
    if not one.parent_id or (one.agent, one.parent_id) in seen:
        return False
    return store is None or store.by_source(one.agent, one.parent_id) is None


def _identify(
    store: Store, found: ImportedSession, keys: Sequence[str]
) -> tuple[str, SessionInfo | None, frozenset[str]]:
    """Return the id of a session within its agent, the stored one of that id, and its keys.

    It is the id that the file gave, or one made from the name of the file. An id stands for the
    same session only if one of the two goes on from the other: runs that are only numbered share
    their numbers from file to file. Another session of that id gets a mark made from the first
    message that differs, so that a file is known again wherever it lies.
    """
    name = found.source_id
    there, known = _find_stored(store, found.agent, name)
    tried = {name}
    while there is not None and not _is_continued(store, found, there, keys, known):
        name = _add_mark(found.source_id, keys, known)
        if name in tried:  # two that differ from each other in turn: by all that it says
            name = _add_mark(found.source_id, [" ".join(keys)], frozenset())
            return name, *_find_stored(store, found.agent, name)
        tried.add(name)
        there, known = _find_stored(store, found.agent, name)
    return name, there, known


def _find_by_path(
    store: Store, found: ImportedSession, keys: tuple[str, ...]
) -> tuple[str, SessionInfo | None, frozenset[str], tuple[str, ...]]:
    """Return the path that names a session of this content, where it goes on today, its keys, and
    new ones if it was kept with fields that are left out today: then a file of the same name has to
    say the same. Of several sessions it is the one whose path ends like the new name.
    """
    named = store.named_by_path(found.agent, keys[0]) if keys else []
    ending = found.source_id[::-1]
    named.sort(key=lambda one: -len(os.path.commonprefix((one[::-1], ending))))  # noqa: RUF071
    for name in named:
        there, known = _find_stored(store, found.agent, name)
        if _is_continued(store, found, there, keys, known):
            return name, there, known, ()
        if there and os.path.basename(found.path) in name:
            before = decode_rows(store.read(there.id), there.dialect)
            if all(map(eq, map(digest, before), map(digest, found.transcript.messages))):
                new = keys[: there.length]
                return name, there, frozenset(new), new
    return "", None, frozenset(), ()


def _find_stored(store: Store, agent: str, name: str) -> tuple[SessionInfo | None, frozenset[str]]:
    """Return the stored session of an id, where it goes on today, and its keys."""
    there = store.by_source(agent, name) if name else None
    if there is None:
        return None, frozenset()
    if there.end_reason == "compression":  # it was rotated: nothing more may be added to it
        there = store.newest_leaf(there.id)
    return there, store.keys(there.id)


def _add_mark(name: str, keys: Sequence[str], known: frozenset[str]) -> str:
    """Return the name with a mark made from the first message that is not known."""
    first = next((key for key in keys if key not in known), "")
    return f"{name}@{hashlib.sha256(first.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _is_continued(
    store: Store,
    found: ImportedSession,
    there: SessionInfo | None,
    keys: Sequence[str],
    known: frozenset[str],
) -> bool:
    """Return whether the stored session and the one of the file are the same, one maybe longer."""
    if there is None:
        return False
    return _is_same(found.agent, keys, known) or (
        find_agent(found.agent).files.last_may_grow and _has_grown(store, found, there, keys)
    )


def _is_same(agent: str, keys: Sequence[str], known: frozenset[str]) -> bool:
    """Return whether what is new stands at the end; an agent that gives no ids must go on from
    all that is known.
    """
    news = [at for at, key in enumerate(keys) if key not in known]
    if not news:
        return True
    at_end = news[0] == len(keys) - len(news)
    return at_end and (find_agent(agent).files.has_unique_ids or known <= set(keys))


def _has_grown(
    store: Store, found: ImportedSession, there: SessionInfo, keys: Sequence[str]
) -> bool:
    """Return whether all but the last message are those of the file, and that one begins its."""
    rows = store.read(there.id)
    last = len(rows) - 1
    if not 0 <= last < len(keys) or [row.key for row in rows[:-1]] != list(keys[:last]):
        return False
    before, now = parse(rows[last].body), found.transcript.messages[last].wire
    return before["role"] == now["role"] and str(now["content"]).startswith(before["content"])


def _is_unreferenced(store: Store, there: SessionInfo) -> bool:
    """Return whether nothing refers to the messages of a session: no view, pin, child or cost."""
    return (
        there.view == there.compactions == 0
        and len(store.lineage(there.id)) == 1
        and not store.pins(there.id)
        and not store.usage(there.id)
    )


def _rows(
    found: ImportedSession, keys: Iterable[str], known: frozenset[str]
) -> Iterator[NewMessage]:
    """Yield the messages that are not known, as the store keeps them."""
    counter, summaries = Estimator(), frozenset(found.summaries)
    names = tool_names(found.transcript.messages)
    last = _date(found)
    for at, (message, key, time) in enumerate(
        zip(found.transcript.messages, keys, found.times, strict=True)
    ):
        time = last = last if time is None else time
        if key not in known:
            tokens = message_tokens(message, counter)
            yield new_message(
                message, tokens, names=names, time=time, key=key, generated=at in summaries
            )


def _date(found: ImportedSession) -> float | None:
    """Return when a session began, or if nothing in it has a date when its file was changed."""
    for one in (found.started, *found.times):
        if one is not None:
            return one
    try:
        return os.path.getmtime(found.path)
    except (OSError, ValueError):
        return None


def _create(store: Store, found: ImportedSession, to_do: _ToDo, mode: Mode) -> SessionInfo:
    """Make a session with all of its messages, in the place of one that was not whole."""
    old = to_do.there
    new = NewSession(
        id=old.id if old else "",
        dialect=found.transcript.dialect,
        title=found.title,
        model=found.model,
        source=found.agent,
        source_id=to_do.name,
        cwd=found.cwd,
        started=_date(found),
        frame=_frame(found),
        mode=mode,
        kind="subagent" if _is_subagent(found) else "main",
    )
    lineage = found.lineage
    parent = None if lineage is None else store.by_source(found.agent, lineage.parent_id)
    if lineage is None or parent is None:
        return store.create(new, messages=to_do.rows, replaces=old)
    descent = _DESCENT[lineage.relation]
    shared = _count_shared(store, parent, lineage.at) if descent == "branch" else 0
    return store.create(
        new, parent_id=parent.id, descent=descent, at=shared, messages=to_do.rows, replaces=old
    )


def _is_subagent(found: ImportedSession) -> bool:
    return found.lineage is not None and _DESCENT[found.lineage.relation] == "delegation"


def _count_shared(store: Store, parent: SessionInfo, entry_id: str) -> int:
    """Return how many messages a branch shares with its parent; 0 where the file does not say."""
    rows = store.read(parent.id) if entry_id else []
    return next((row.position + 1 for row in rows if row.key == entry_id), 0)


def _frame(found: ImportedSession) -> bytes:
    """Return what stands around the message list and the window of the agent, as JSON."""
    frame = found.transcript.frame
    noted: dict[str, Any] = {}
    if frame.body is not None:
        body = {key: value for key, value in frame.body.items() if key != frame.key}
        noted = {"key": frame.key, "body": body}
    if found.window_tokens:
        noted["window"] = found.window_tokens
    return dump_bytes(noted) if noted else b""
