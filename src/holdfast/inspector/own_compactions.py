"""What Holdfast itself compacted, from the reports that it keeps in a store."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from holdfast.sessions.details import view_rows
from holdfast.stores.store import Store
from holdfast.stores.values import SessionFilter, SessionInfo

_SESSIONS_AT_ONCE = 500
"""Sessions of one page of a store: few queries, little memory."""


class OwnCompaction(Struct, frozen=True):
    """One compaction, of a session of an agent in a project."""

    session: str
    agent: str
    project: str
    model: str
    time: float
    tokens_before: int
    tokens_after: int


def own_compactions(store: Store) -> list[OwnCompaction]:
    """Return the compactions of all sessions of a store, without those that were undone."""
    return [
        OwnCompaction(
            info.id, info.source or "holdfast", info.cwd, info.model, row.created,
            row.tokens_before, row.tokens_after,
        )
        for info in _compacted(store)
        for row in view_rows(store.views(info.id), info.view)
        if row.tokens_before and not row.undone
    ]  # fmt: skip


def _compacted(store: Store) -> Iterator[SessionInfo]:
    after, is_last = "", False
    while not is_last:
        page = store.sessions(SessionFilter(kind="any"), most=_SESSIONS_AT_ONCE, after=after)
        yield from (info for info in page.sessions if info.compactions)
        after, is_last = page.next, not page.next
