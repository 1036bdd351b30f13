"""Sessions of other agents into a store: the first time whole, then only what is new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from holdfast.dialects.jsontext import dump
from holdfast.errors import NotReadable
from holdfast.importers.draft import file_stem
from holdfast.importers.imported import Agent, ImportedSession, Note, Relation, message_keys
from holdfast.pipeline.measure import Estimator, message_tokens
from holdfast.sessions.rows import new_message
from holdfast.stores.store import Store
from holdfast.stores.values import Descent, NewMessage, NewSession, SessionInfo
from holdfast.transcript import Transcript

_NAMES_ITS_SESSIONS: frozenset[Agent] = frozenset(
    ("claude-code", "codex", "opencode", "pi", "hermes", "openhands")
)
"""Agents whose ids are unique in the world; others number their runs, or name them by file."""

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
    session: SessionInfo | None = None
    added: int = 0
    """Messages that are new."""
    known: int = 0
    """Messages that were there already."""
    is_new: bool = False
    notes: tuple[Note, ...] = ()
    problem: str = ""
    """Why the file could not be read; empty where it was."""


def take_all(store: Store, found: Iterable[ImportedSession | NotReadable]) -> Iterator[Taken]:
    """Take sessions in the order in which they come; each is durable when it is yielded."""
    for one in found:
        if isinstance(one, NotReadable):
            yield Taken(path=one.where, problem=str(one))
        else:
            yield take(store, one)


def take(store: Store, found: ImportedSession) -> Taken:
    """Take one session, whole or not at all; of one that is there only what is new is added."""
    keys = message_keys(found)
    name = _name(store, found, frozenset(keys))
    info = store.by_source(found.agent, name)
    is_new = info is None
    known = frozenset[str]() if info is None else store.keys(info.id)
    rows = [row for row in _rows(found, keys) if row.key not in known]
    if info is None:
        info = _created(store, found, name)
    if rows:
        store.append(info.id, rows)
        info = store.session(info.id)
    return Taken(
        path=found.path, agent=found.agent, session=info, added=len(rows),
        known=len(keys) - len(rows), is_new=is_new, notes=found.notes,
    )  # fmt: skip


def _name(store: Store, found: ImportedSession, keys: frozenset[str]) -> str:
    """Return the id of a session within its agent: the one that the file gave, or the path.

    Runs that are only numbered share their numbers from file to file. Such a number stands for
    the same session only where one of the two goes on from the other.
    """
    given = found.source_id
    if found.agent in _NAMES_ITS_SESSIONS:
        return given
    stem, path = file_stem(found.path), str(Path(found.path).absolute())
    if given == stem or given.startswith((f"{stem}#", f"{stem}/", f"{stem}:")):
        return path + given[len(stem) :]
    there = store.by_source(found.agent, given)
    if there is None:
        return given
    known = store.keys(there.id)
    return given if known <= keys or keys <= known else f"{path}#{given}"


def _rows(found: ImportedSession, keys: Iterable[str]) -> Iterator[NewMessage]:
    counter, summaries = Estimator(), frozenset(found.summaries)
    for at, (message, key, time) in enumerate(
        zip(found.transcript.messages, keys, found.times, strict=True)
    ):
        tokens = message_tokens(message, counter)
        yield new_message(message, tokens, time=time, key=key, generated=at in summaries)


def _created(store: Store, found: ImportedSession, name: str) -> SessionInfo:
    new = NewSession(
        dialect=found.transcript.dialect, title=found.title, model=found.model,
        source=found.agent, source_id=name, cwd=found.cwd, started=found.started,
        frame=_frame(found.transcript),
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
