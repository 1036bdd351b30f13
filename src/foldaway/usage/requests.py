"""The requests of a stored session: what each one used and cost, and all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from foldaway.caching import PriceList
from foldaway.errors import UnknownSession
from foldaway.sessions import ViewRow, usage_in
from foldaway.stores import Pin, SessionInfo, Store, TurnUsage
from foldaway.usage.sums import UsageSum, missed_tokens

_PROBED = 64
"""Messages at either end of a log that are looked at for a report: a few turns. An agent that
writes reports into its answers writes them into all."""
_READ_AT_ONCE = 1_000
"""Messages that are in memory at a time: some megabytes."""


class RequestRow(TurnUsage, frozen=True, kw_only=True):
    """One request, beside what happened before it; its cost by the list price of its model.

    If that is not known, it is what was recorded.
    """

    compacted: bool
    """Whether another view was sent than the time before."""
    cache_miss: bool
    """Whether less came out of the cache than the time before, although the prompt had more."""


class RequestTotals(Struct, frozen=True, kw_only=True):
    """All requests together."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cache_hit_rate: float
    """The share of the input that came out of the cache."""
    cache_misses: int
    misses_after_compaction: int
    """Those that a compaction explains."""
    cost: float | None
    """None if no request says what it cost."""

    @classmethod
    def of(cls, turns: Sequence[RequestRow]) -> RequestTotals:
        """Return what all requests used together."""
        whole = UsageSum()
        for turn in turns:
            whole.add(turn, turn.cost)
        return cls(
            requests=whole.requests,
            input_tokens=whole.input_tokens,
            output_tokens=whole.output_tokens,
            cache_read_tokens=whole.cache_read_tokens,
            cache_write_tokens=whole.cache_write_tokens,
            cache_hit_rate=round(whole.hit_rate, 4),
            cache_misses=sum(turn.cache_miss for turn in turns),
            misses_after_compaction=sum(turn.cache_miss and turn.compacted for turn in turns),
            cost=None if whole.known_cost is None else round(whole.known_cost, 6),
        )


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
        roles=dict(Counter(row.role for row in rows)),
        tools=dict(tools.most_common()),
        generated=sum(row.generated for row in rows),
        pins=store.pins(info.id),
        steps=ViewRow.list_of(store.views(info.id, lean=True), info.view),
        turns=requests,
        totals=RequestTotals.of(requests),
    )


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


def conversation_usage(store: Store, info: SessionInfo) -> tuple[TurnUsage, ...]:
    """Return what is known of the requests of a conversation: those of its session, and of the
    sessions that this one goes on from, until it left them.
    """
    found, shared = recorded_usage(store, info), info.length
    while info.descent in ("branch", "compression"):
        shared = min(shared, info.forked_at)
        try:
            info = store.session(info.parent_id)
        except UnknownSession:  # it was erased
            break
        earlier = (one for one in recorded_usage(store, info) if one.position <= shared)
        found = (*earlier, *found)
    return found


def request_rows(usage: Sequence[TurnUsage]) -> list[RequestRow]:
    """Return the requests in order."""
    prices, found = PriceList(), list[RequestRow]()
    before: TurnUsage | None = None
    for one in usage:
        own: dict[str, Any] = {**asdict(one), "cost": prices.cost(one)}
        found.append(
            RequestRow(
                **own,
                compacted=before is not None and one.view != before.view,
                cache_miss=missed_tokens(before, one) > 0,
            )
        )
        before = one
    return found
