"""Sessions of other agents into a store: the first time whole, then only what is new."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.dialects.jsontext import dump
from holdfast.errors import NotReadable
from holdfast.importers.draft import file_stem
from holdfast.importers.imported import Agent, ImportedSession, Note, Relation, message_keys
from holdfast.pipeline.measure import Estimator, message_tokens
from holdfast.sessions.rows import new_message, tool_names
from holdfast.stores.rows import plain
from holdfast.stores.store import Store
from holdfast.stores.values import Descent, NewMessage, NewSession, SessionInfo
from holdfast.transcript import Transcript

Mode: TypeAlias = Literal["in-place", "rotate"]

_NAMES_ITS_SESSIONS: frozenset[Agent] = frozenset(
    ("claude-code", "codex", "opencode", "pi", "hermes", "openhands")
)
"""Agents whose ids are unique in the world; others number their runs, or name them by file."""

_MOST_WAITING = 100_000
"""Messages of sessions that are held back until their parents come."""

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
    nothing; None is then a store that is not there yet.
    """
    for one in _parents_first(store, found):
        if isinstance(one, NotReadable):
            yield Taken(path=one.where, problem=str(one))
        elif store is None or dry_run:
            yield looked_at(store, one)
        else:
            yield take(store, one, mode=mode)


def take(store: Store, found: ImportedSession, *, mode: Mode = "in-place") -> Taken:
    """Take one session, whole or not at all; of one that is there only what is new is added."""
    name, there, rows, known = _compared(store, found)
    info = there or _created(store, found, name, mode)
    if rows:
        store.append(info.id, rows)
        info = store.session(info.id)
    return _taken(found, info, len(rows), known, is_new=there is None)


def looked_at(store: Store | None, found: ImportedSession) -> Taken:
    """Return what `take` would do."""
    if store is None:
        return _taken(found, None, len(found.transcript.messages), 0, is_new=True)
    _, there, rows, known = _compared(store, found)
    return _taken(found, there, len(rows), known, is_new=there is None)


def _compared(
    store: Store, found: ImportedSession
) -> tuple[str, SessionInfo | None, list[NewMessage], int]:
    """Return the name of a session, the one that is there, what is new and how much is known."""
    keys = tuple(plain(key) for key in message_keys(found))
    name = _name(store, found, keys)
    info = store.by_source(found.agent, name)
    known = frozenset[str]() if info is None else store.keys(info.id)
    rows = [row for row in _rows(found, keys) if row.key not in known]
    return name, info, rows, len(keys) - len(rows)


def _taken(
    found: ImportedSession,
    info: SessionInfo | None,
    added: int,
    known: int,
    *,
    is_new: bool,
) -> Taken:
    return Taken(
        path=found.path, agent=found.agent, source_id=found.source_id, session=info,
        added=added, known=known, is_new=is_new, notes=found.notes,
    )  # fmt: skip


def _parents_first(
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
            continue
        if _waits_for_parent(store, one, seen):
            waiting.append(one)
            while sum(len(each.transcript.messages) for each in waiting) > _MOST_WAITING:
                yield waiting.pop(0)
            continue
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
        children = [child for child in waiting if (child.agent, child.parent_id)
                    == (one.agent, one.source_id)]  # fmt: skip
        for child in children:
            waiting.remove(child)
        ready += reversed(children)


def _waits_for_parent(
    store: Store | None, one: ImportedSession, seen: set[tuple[str, str]]
) -> bool:
    if not one.parent_id or (one.agent, one.parent_id) in seen:
        return False
    return store is None or store.by_source(one.agent, one.parent_id) is None


def _name(store: Store, found: ImportedSession, keys: Sequence[str]) -> str:
    """Return the id of a session within its agent: the one that the file gave, or the path.

    An id stands for the same session only where one of the two goes on from the other: runs that
    are only numbered share their numbers from file to file, and so may files of tests.
    """
    given, path = found.source_id, str(Path(found.path).absolute())
    stem = file_stem(found.path)
    names_itself = found.agent in _NAMES_ITS_SESSIONS
    if not names_itself and (
        given == stem or given.startswith((f"{stem}#", f"{stem}/", f"{stem}:"))
    ):
        return _apart(store, found.agent, path + given[len(stem) :], keys)
    there = store.by_source(found.agent, given)
    if there is None:
        return given
    known = store.keys(there.id)
    news = [at for at, key in enumerate(keys) if key not in known]
    is_part = not news or news == list(range(news[0], len(keys)))
    if names_itself:
        return given if is_part else f"{path}#{given}"
    return given if known <= set(keys) or not news else f"{path}#{given}"


def _apart(store: Store, agent: str, name: str, keys: Sequence[str]) -> str:
    """Return the name, with a mark where the file was edited since it was taken under it."""
    there = store.by_source(agent, name)
    known = frozenset[str]() if there is None else store.keys(there.id)
    news = [key for key in keys if key not in known]
    if not news or known <= set(keys):
        return name
    return f"{name}@{hashlib.sha256(news[0].encode('utf-8', 'replace')).hexdigest()[:8]}"


def _rows(found: ImportedSession, keys: Iterable[str]) -> Iterator[NewMessage]:
    counter, summaries = Estimator(), frozenset(found.summaries)
    names = tool_names(found.transcript.messages)
    for at, (message, key, time) in enumerate(
        zip(found.transcript.messages, keys, found.times, strict=True)
    ):
        tokens = message_tokens(message, counter)
        yield new_message(
            message, tokens, names=names, time=time, key=key, generated=at in summaries
        )


def _created(store: Store, found: ImportedSession, name: str, mode: Mode) -> SessionInfo:
    new = NewSession(
        dialect=found.transcript.dialect, title=found.title, model=found.model,
        source=found.agent, source_id=name, cwd=found.cwd, started=found.started,
        frame=_frame(found.transcript), mode=mode,
        kind="subagent" if _is_subagent(found) else "main",
    )  # fmt: skip
    lineage = found.lineage
    parent = None if lineage is None else store.by_source(found.agent, lineage.parent_id)
    if lineage is None or parent is None:
        return store.create(new)
    descent = _DESCENT[lineage.relation]
    shared = _shared(store, parent, lineage.at) if descent == "branch" else 0
    return store.create(new, parent_id=parent.id, descent=descent, at=shared)


def _is_subagent(found: ImportedSession) -> bool:
    return found.lineage is not None and _DESCENT[found.lineage.relation] == "delegation"


def _shared(store: Store, parent: SessionInfo, entry_id: str) -> int:
    """Return how many messages a branch shares with its parent; 0 where the file does not say."""
    rows = store.read(parent.id) if entry_id else []
    return next((row.position + 1 for row in rows if row.key == entry_id), 0)


def _frame(transcript: Transcript) -> bytes:
    """Return what stands around the message list, as JSON."""
    frame = transcript.frame
    if frame.body is None:
        return b""
    body = {key: value for key, value in frame.body.items() if key != frame.key}
    return dump({"key": frame.key, "body": body})
