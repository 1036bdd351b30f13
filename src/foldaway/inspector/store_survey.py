"""One look at all sessions of a store: whose they are, and what Foldaway itself compacted."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from foldaway.sessions import name_in_words, view_rows
from foldaway.stores import SessionFilter, SessionInfo, Store

_SESSIONS_AT_ONCE = 500
"""Sessions of one page of a store: few queries, little memory."""


class OwnCompaction(Struct, frozen=True):
    """One compaction, of a session of an agent in a project."""

    session: str
    """The id of the session."""
    number: int
    """Of the view that it made."""
    title: str
    agent: str
    project: str
    model: str
    time: float
    tokens_before: int
    tokens_after: int


class StoreSurvey(Struct, frozen=True):
    """What the sessions of a store are."""

    keys: frozenset[tuple[str, str]] = frozenset()
    """Agent and id of each session that an agent knows by an id."""
    count: int = 0
    """All sessions; if there are more or fewer now, the rest is out of date."""
    compactions: tuple[OwnCompaction, ...] = ()
    """Without those that were undone."""


def survey(store: Store) -> StoreSurvey:
    """Look at all sessions of a store."""
    keys: set[tuple[str, str]] = set()
    count, found = 0, list[OwnCompaction]()
    for info in _sessions(store):
        count += 1
        if info.source_id:
            keys.add((info.source, info.source_id))
        if info.compactions:
            found += _compactions(store, info)
    return StoreSurvey(frozenset(keys), count, tuple(found))


def _compactions(store: Store, info: SessionInfo) -> Iterator[OwnCompaction]:
    for row in view_rows(store.views(info.id), info.view):
        if row.tokens_before and not row.undone:
            yield OwnCompaction(
                info.id, row.number, name_in_words(info), info.source or "foldaway",
                info.cwd, info.model, row.created, row.tokens_before, row.tokens_after,
            )  # fmt: skip


def _sessions(store: Store) -> Iterator[SessionInfo]:
    after, is_last = "", False
    while not is_last:
        page = store.sessions(SessionFilter(kind="any"), most=_SESSIONS_AT_ONCE, after=after)
        yield from page.sessions
        after, is_last = page.next, not page.next
