"""What a session is, as programs are told: its facts, requests, views and pins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from foldaway._core import Report
from foldaway.caching import PriceList
from foldaway.sessions.rows import usage_in
from foldaway.stores import Descent, Pin, SessionInfo, SessionKind, Store, StoredView, TurnUsage

_REPORT = msgspec.json.Decoder(Report)
_PROBED = 64
"""Messages at either end of a log that are looked at for a report: a few turns. An agent that
writes reports into its answers writes them into all."""
_READ_AT_ONCE = 1_000
"""Messages that are in memory at a time: some megabytes."""


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


def session_row(info: SessionInfo) -> SessionRow:
    """Return a session as programs are told about it: without its frame."""
    return SessionRow(
        session=info.id, source=info.source, source_id=info.source_id, title=info.title,
        goal=info.goal, model=info.model, kind=info.kind, dialect=info.dialect, folder=info.cwd,
        profile=info.profile, started=info.started, updated=info.updated, ended=info.ended,
        end_reason=info.end_reason, messages=info.length, tokens=info.tokens,
        compactions=info.compactions, view=info.view, mode=info.mode, parent=info.parent_id,
        root=info.root_id, descent=info.descent, forked_at=info.forked_at,
        first_ask=info.first_ask,
    )  # fmt: skip


class RequestRow(TurnUsage, frozen=True, kw_only=True):
    """One request, beside what happened before it; its cost by the list price of its model.

    If that is not known, it is what was recorded.
    """

    compacted: bool
    """Whether another view was sent than the time before."""
    cache_miss: bool
    """Whether less came out of the cache than the time before, although the prompt had more."""


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


class RequestTotals(Struct, frozen=True, kw_only=True):
    """All requests together."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_hit_rate: float
    """The share of the input that came out of the cache."""
    cache_misses: int
    misses_after_compaction: int
    """Those that a compaction explains."""
    cost: float | None
    """None if no request says what it cost."""


class SessionDetails(Struct, frozen=True, kw_only=True):
    """What the log and the records of a session say."""

    roles: dict[str, int]
    tools: dict[str, int]
    """How many messages call a tool, the most first."""
    generated: int
    """Messages that another agent's compaction wrote."""
    pins: tuple[Pin, ...]
    steps: list[ViewRow]
    turns: list[RequestRow]
    totals: RequestTotals


def session_details(store: Store, info: SessionInfo) -> SessionDetails:
    """Return what is known of a session beside its facts; bodies are read only for their usage."""
    rows = store.outline(info.id)
    tools = Counter(tool for row in rows if row.role == "assistant" for tool in row.tools)
    requests = request_rows(recorded_usage(store, info))
    return SessionDetails(
        roles=dict(Counter(row.role for row in rows)), tools=dict(tools.most_common()),
        generated=sum(row.generated for row in rows), pins=store.pins(info.id),
        steps=view_rows(store.views(info.id, lean=True), info.view), turns=requests,
        totals=request_totals(requests),
    )  # fmt: skip


def recorded_usage(store: Store, info: SessionInfo) -> tuple[TurnUsage, ...]:
    """Return what is known of the requests of a session: the store's records, otherwise what its
    messages say.

    All messages are read only if one of the first or last ones has a report, some at a time.
    """
    if found := store.usage(info.id):
        return found
    ends = (store.read(info.id, 0, _PROBED), store.read(info.id, max(info.length - _PROBED, 0)))
    if not any(map(usage_in, ends)):
        return ()
    return usage_in(
        row
        for start in range(0, info.length, _READ_AT_ONCE)
        for row in store.read(info.id, start, start + _READ_AT_ONCE)
    )


def request_rows(usage: Sequence[TurnUsage]) -> list[RequestRow]:
    """Return the requests in order."""
    prices = PriceList()
    found: list[RequestRow] = []
    before: TurnUsage | None = None
    for one in usage:
        cost = prices.cost(
            one.model, one.input_tokens, one.output_tokens, read_tokens=one.cache_read_tokens,
            written_tokens=one.cache_write_tokens, hour_tokens=one.cache_hour_tokens,
            recorded=one.cost,
        )  # fmt: skip
        found.append(RequestRow(
            position=one.position, time=one.time, model=one.model, input_tokens=one.input_tokens,
            output_tokens=one.output_tokens, cache_read_tokens=one.cache_read_tokens,
            cache_write_tokens=one.cache_write_tokens, cache_hour_tokens=one.cache_hour_tokens,
            cost=cost, view=one.view, compacted=before is not None and one.view != before.view,
            cache_miss=before is not None
            and one.cache_read_tokens < min(before.cache_read_tokens, one.input_tokens),
        ))  # fmt: skip
        before = one
    return found


def request_totals(turns: Sequence[RequestRow]) -> RequestTotals:
    """Return what all requests used together."""
    costs = [turn.cost for turn in turns if turn.cost is not None]
    read, given = _sum(turns, "cache_read_tokens"), _sum(turns, "input_tokens")
    return RequestTotals(
        requests=len(turns), input_tokens=given, output_tokens=_sum(turns, "output_tokens"),
        cache_read_tokens=read, cache_hit_rate=round(read / given, 4) if given else 0.0,
        cache_misses=sum(turn.cache_miss for turn in turns),
        misses_after_compaction=sum(turn.cache_miss and turn.compacted for turn in turns),
        cost=round(sum(costs), 6) if costs else None,
    )  # fmt: skip


def view_rows(views: Sequence[StoredView], current: int) -> list[ViewRow]:
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
        number=view.number, previous=view.previous, created=view.created, reason=view.reason,
        current=view.number == current, undone=undone,
    )  # fmt: skip
    try:
        report = _REPORT.decode(view.report)
    except msgspec.DecodeError:  # none, or one of another version
        return row
    return msgspec.structs.replace(
        row, messages_before=report.messages_before, messages_after=report.messages_after,
        tokens_before=report.tokens_before, tokens_after=report.tokens_after,
        summary=report.summary_source.name or report.summary_source.source,
    )  # fmt: skip


def _sum(turns: Sequence[RequestRow], field: str) -> int:
    return sum(getattr(turn, field) for turn in turns)
