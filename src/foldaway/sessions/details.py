"""What a session is, as programs are told: its facts and its views."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from foldaway._core import Report
from foldaway.stores import Descent, SessionInfo, SessionKind, StoredView

_REPORT = msgspec.json.Decoder(Report)
_NAMES = {
    "session": "id",
    "folder": "cwd",
    "messages": "length",
    "parent": "parent_id",
    "root": "root_id",
}
"""Fields of a row that the store calls otherwise."""


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session; times are in seconds since 1970."""

    session: str
    """Its id."""
    source: str
    """The agent that it comes from."""
    source_id: str
    title: str
    goal: str
    model: str
    kind: SessionKind
    dialect: str
    folder: str
    profile: str
    started: float
    updated: float
    ended: float | None
    end_reason: str
    messages: int
    tokens: int
    compactions: int
    view: int
    """The number of the view that the model sees; 0 is the log as it is."""
    mode: str
    parent: str
    root: str
    descent: Descent
    forked_at: int
    """How many messages it shares with its parent."""
    first_ask: str

    @classmethod
    def of(cls, info: SessionInfo) -> SessionRow:
        """Return a session as programs are told about it: without its frame."""
        found = {name: getattr(info, _NAMES.get(name, name)) for name in cls.__struct_fields__}
        return cls(**found)


class ViewRow(Struct, frozen=True, kw_only=True):
    """One view: how it came about, and what it saved."""

    number: int
    previous: int
    created: float
    reason: str
    current: bool
    undone: bool = False
    """Whether it was undone, and nothing that is shown was made from it."""
    messages_before: int = 0
    messages_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    summary: str = ""
    """Who wrote the summary."""

    @classmethod
    def list_of(cls, views: Sequence[StoredView], current: int) -> list[ViewRow]:
        """Return the views of a session, in order."""
        previous = {view.number: view.previous for view in views}
        live: set[int] = set()
        at = current
        while at in previous and at not in live:
            live.add(at)
            at = previous[at]
        return [_view(view, current, undone=view.number not in live) for view in views]


def _view(view: StoredView, current: int, *, undone: bool) -> ViewRow:
    row = ViewRow(
        number=view.number,
        previous=view.previous,
        created=view.created,
        reason=view.reason,
        current=view.number == current,
        undone=undone,
    )
    try:
        report = _REPORT.decode(view.report)
    except msgspec.DecodeError:  # none, or one of another version
        return row
    return msgspec.structs.replace(
        row,
        messages_before=report.messages_before,
        messages_after=report.messages_after,
        tokens_before=report.tokens_before,
        tokens_after=report.tokens_after,
        summary=report.summary_source.name or report.summary_source.source,
    )
