"""Compactions beside cache misses and cost: what each request of a session used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from holdfast.caching.prices import Prices
from holdfast.report import Report
from holdfast.stores.values import StoredView, TurnUsage


class Turn(Struct, frozen=True, kw_only=True):
    """One request, beside what happened before it."""

    position: int
    """How many messages the log had."""
    time: float | None
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost: float | None
    """In dollars: as it was reported, else by the prices of the model where they are known."""
    view: int
    compacted: bool
    """Whether another view was sent than the time before."""
    cache_miss: bool
    """Whether less came out of the cache than the time before."""


class Step(Struct, frozen=True, kw_only=True):
    """One view: how it came about, and what it saved."""

    number: int
    previous: int
    created: float
    reason: str
    current: bool
    undone: bool = False
    """Whether an undo went back behind it, and nothing that is shown was made from it."""
    messages_before: int = 0
    messages_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    summary: str = ""
    """Who wrote the summary."""


class Totals(Struct, frozen=True, kw_only=True):
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
    """None where no request says what it cost."""


PricesOf: TypeAlias = Callable[[str], Prices | None]


def turns_of(usage: Sequence[TurnUsage], prices_of: PricesOf) -> list[Turn]:
    """Return the requests in order."""
    known: dict[str, Prices | None] = {one.model: None for one in usage if one.cost is None}
    known = {model: prices_of(model) for model in known}
    found: list[Turn] = []
    for at, one in enumerate(usage):
        before = usage[at - 1] if at else None
        found.append(Turn(
            position=one.position, time=one.time, model=one.model,
            input_tokens=one.input_tokens, output_tokens=one.output_tokens,
            cache_read_tokens=one.cache_read_tokens, cache_write_tokens=one.cache_write_tokens,
            cost=_cost(one, known.get(one.model)), view=one.view,
            compacted=before is not None and one.view != before.view,
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


def totals_of(turns: Sequence[Turn]) -> Totals:
    """Return what all requests used together."""
    costs = [turn.cost for turn in turns if turn.cost is not None]
    read, given = _sum(turns, "cache_read_tokens"), _sum(turns, "input_tokens")
    return Totals(
        requests=len(turns), input_tokens=given, output_tokens=_sum(turns, "output_tokens"),
        cache_read_tokens=read, cache_hit_rate=round(read / given, 4) if given else 0.0,
        cache_misses=sum(turn.cache_miss for turn in turns),
        misses_after_compaction=sum(turn.cache_miss and turn.compacted for turn in turns),
        cost=round(sum(costs), 6) if costs else None,
    )  # fmt: skip


def steps_of(views: Sequence[StoredView], current: int) -> list[Step]:
    """Return the views of a session, in order."""
    previous = {view.number: view.previous for view in views}
    live: set[int] = set()
    at = current
    while at in previous and at not in live:
        live.add(at)
        at = previous[at]
    return [_step(view, current, undone=view.number not in live) for view in views]


def _step(view: StoredView, current: int, *, undone: bool) -> Step:
    step = Step(
        number=view.number, previous=view.previous, created=view.created, reason=view.reason,
        current=view.number == current, undone=undone,
    )  # fmt: skip
    try:
        report = msgspec.json.decode(view.report, type=Report)
    except msgspec.DecodeError:  # none, or one of another version
        return step
    return msgspec.structs.replace(
        step, messages_before=report.messages_before, messages_after=report.messages_after,
        tokens_before=report.tokens_before, tokens_after=report.tokens_after,
        summary=report.summary_source.name or report.summary_source.source,
    )  # fmt: skip


def _sum(turns: Sequence[Turn], field: str) -> int:
    return sum(getattr(turn, field) for turn in turns)
