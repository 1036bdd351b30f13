"""`holdfast sessions show`: what a session is, its compactions, cache misses and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from holdfast.caching.economics import usd
from holdfast.caching.prices import Prices
from holdfast.catalog import prices_of
from holdfast.cli.draw import Picture, Piece, saving, text_of
from holdfast.cli.files import counted, format_time, shortened
from holdfast.cli.inputs import COUNT, print_json
from holdfast.cli.stores import opened, session_command, session_line, session_row
from holdfast.errors import MissingExtra
from holdfast.report import Report
from holdfast.sessions.rows import usage_in
from holdfast.stores.store import Store
from holdfast.stores.values import Pin, SessionInfo, StoredView, TurnUsage

BAR_COLUMNS = 30
"""The width of the bar of the largest request; the table has four more columns."""
SHOWN_NAMES = 6
"""Roles or tools that fit on a line."""


class RequestRow(TurnUsage, frozen=True, kw_only=True):
    """One request, beside what happened before it; its cost as reported, else by known prices."""

    compacted: bool
    """Whether another view was sent than the time before."""
    cache_miss: bool
    """Whether less came out of the cache than the time before."""


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
    """All that is shown of a session."""

    info: SessionInfo
    roles: dict[str, int]
    tools: dict[str, int]
    """How many messages call a tool, the most first."""
    generated: int
    """Messages that another agent's compaction wrote."""
    pins: tuple[Pin, ...]
    steps: list[ViewRow]
    turns: list[RequestRow]
    totals: RequestTotals


@session_command(
    ("--most", COUNT, "N", "How many requests the picture shows, the newest ones.", 20)
)
def show(session: str, most: int, as_json: bool, **given: Any) -> int:
    """Show a session: what it is, its compactions, cache misses and cost.

    A request misses the cache if it reads less from it than the one before; the picture shows
    compactions next to misses. For an imported session the figures are those that the agent
    recorded. `holdfast sessions read` prints what was said.

    \b
    holdfast sessions show 20260131-1200
    """
    with opened(given, "read") as store:
        details = _details(store, store.find(session))
    if as_json:
        row = to_builtins(details)
        del row["info"]
        print_json({**session_row(details.info), **row})
    else:
        show_session(details, most)
    return 0


def _details(store: Store, info: SessionInfo) -> SessionDetails:
    rows = store.read(info.id)
    tools = Counter(tool for row in rows if row.role == "assistant" for tool in row.tools)
    requests = _requests(store.usage(info.id) or usage_in(rows))
    return SessionDetails(
        info=info, roles=dict(Counter(row.role for row in rows)), tools=dict(tools.most_common()),
        generated=sum(row.generated for row in rows), pins=store.pins(info.id),
        steps=_views(store.views(info.id), info.view), turns=requests, totals=_totals(requests),
    )  # fmt: skip


def _prices(model: str) -> Prices | None:
    """Return what a model costs, None if that is not known here."""
    try:
        return prices_of(model)
    except MissingExtra:
        return None


def _requests(usage: Sequence[TurnUsage]) -> list[RequestRow]:
    """Return the requests in order."""
    known = {model: _prices(model) for model in {one.model for one in usage if one.cost is None}}
    found: list[RequestRow] = []
    for at, one in enumerate(usage):
        before = usage[at - 1] if at else None
        figures: dict[str, Any] = {**asdict(one), "cost": _cost(one, known.get(one.model))}
        found.append(RequestRow(
            **figures, compacted=before is not None and one.view != before.view,
            cache_miss=before is not None and one.cache_read_tokens < before.cache_read_tokens,
        ))  # fmt: skip
    return found


def _cost(one: TurnUsage, prices: Prices | None) -> float | None:
    if one.cost is not None or prices is None:
        return one.cost
    here = prices.at(one.input_tokens)
    plain = max(one.input_tokens - one.cache_read_tokens - one.cache_write_tokens, 0)
    return (
        one.cache_read_tokens * here.cache_read
        + one.cache_write_tokens * here.cache_write_5m
        + plain * here.input
        + one.output_tokens * here.output
    ) / 1e6


def _totals(turns: Sequence[RequestRow]) -> RequestTotals:
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


def _views(views: Sequence[StoredView], current: int) -> list[ViewRow]:
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
        report = msgspec.json.decode(view.report, type=Report)
    except msgspec.DecodeError:  # none, or one of another version
        return row
    return msgspec.structs.replace(
        row, messages_before=report.messages_before, messages_after=report.messages_after,
        tokens_before=report.tokens_before, tokens_after=report.tokens_after,
        summary=report.summary_source.name or report.summary_source.source,
    )  # fmt: skip


def _sum(turns: Sequence[RequestRow], field: str) -> int:
    return sum(getattr(turn, field) for turn in turns)


def show_session(details: SessionDetails, most: int) -> None:
    """Print a session; of its requests the newest `most`."""
    picture, info = Picture(), details.info
    picture.line(*session_line(info))
    parent = f"{info.parent_id} ({info.descent}, m{info.forked_at})" if info.parent_id else ""
    rows = (
        ("from", f"{info.source} {info.source_id}".strip()), ("model", info.model),
        ("goal", info.goal), ("folder", info.cwd),
        ("messages", f"{info.length:,} ({_name_counts(details.roles)})"),
        ("tokens", f"{info.tokens:,}"), ("tools", _name_counts(details.tools)),
        ("began", format_time(info.started)),
        ("ended", f"{format_time(info.ended)} {info.end_reason}".strip()),
        ("comes from", parent), ("pinned", ", ".join(f"m{pin.position}" for pin in details.pins)),
    )  # fmt: skip
    picture.table("ff", [((name, "dim"), shortened(value)) for name, value in rows if value])
    _show_views(picture, details)
    _show_requests(picture, details, most)


def _show_views(picture: Picture, details: SessionDetails) -> None:
    if not details.steps:
        picture.line(("\n  no compactions: the model sees the log as it is", "dim"))
        return
    picture.paragraph(("\n  views", "bold"))
    rows: list[tuple[Piece, ...]] = []
    for view in details.steps:
        state = "shown now" if view.current else "undone" if view.undone else view.reason
        change = saving(view.tokens_before, view.tokens_after)
        rows.append((
            (f"{view.number}", "bold green" if view.current else "dim"),
            format_time(view.created), f"{view.tokens_before:,}",
            f"{picture.arrow} {view.tokens_after:,} ({change})", view.summary, (state, "dim"),
        ))  # fmt: skip
    picture.table("rlrlll", rows, indent=4)


def _show_requests(picture: Picture, details: SessionDetails, most: int) -> None:
    if not details.turns:
        picture.line(("\n  no usage was recorded", "dim"))
        return
    picture.paragraph(("\n  requests", "bold"))
    full = max(request.input_tokens for request in details.turns) or 1
    rows: list[tuple[Piece, ...]] = []
    for request in details.turns[-most:]:
        wide = len(picture.bar(request.input_tokens, full, BAR_COLUMNS))
        read = min(wide, round(BAR_COLUMNS * request.cache_read_tokens / full))
        cost = "" if request.cost is None else usd(request.cost)
        marks = [("compacted", "magenta")] if request.compacted else []
        if request.cache_miss:
            marks += [("  ", "")] * request.compacted + [("cache miss", "bold red")]
        rows.append((
            (f"m{request.position}", "dim"), f"{request.input_tokens:,}",
            picture.meter(read, wide), cost, text_of(*marks),
        ))  # fmt: skip
    picture.table("rrlrl", rows, indent=4)
    picture.more(len(details.turns), most)
    picture.line((f"    {picture.block} read from the cache   {picture.shade} not in it", "dim"))
    totals = details.totals
    picture.line(
        f"  {counted(totals.requests, 'request')}, {totals.cache_hit_rate:.0%} of the input from "
        f"the cache, {counted(totals.cache_misses, 'cache miss', 'cache misses')} "
        f"({totals.misses_after_compaction:,} after a compaction)"
        f"{'' if totals.cost is None else f', {usd(totals.cost)}'}"
    )


def _name_counts(counts: Mapping[str, int]) -> str:
    shown = [f"{number:,} {name}" for name, number in list(counts.items())[:SHOWN_NAMES]]
    more = len(counts) - SHOWN_NAMES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
