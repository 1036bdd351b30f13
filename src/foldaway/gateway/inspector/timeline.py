"""What the context window of a session held, request by request."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct

from foldaway._core import Policy, budget_for
from foldaway.errors import InvalidSetting
from foldaway.gateway import told_window
from foldaway.gateway.inspector.window_amounts import (
    NOTHING,
    Amounts,
    Context,
    last_report,
    plus,
    scale,
)
from foldaway.sessions import ViewRow, frame_of
from foldaway.stores import OutlineRow, SessionInfo, Store, StoredView, TurnUsage
from foldaway.usage import (
    KINDS,
    Kind,
    RequestRow,
    RequestTotals,
    recorded_usage,
    request_rows,
    usual_threshold,
    window_for,
)

ESTIMATE_ERROR: Final = 0.15
"""A first prompt that is longer than estimated by no more than this share holds nothing unknown.
The median error of an estimate is at most 8 % (bench/tokens.py); this is about twice that."""

_LONGEST_ANSWER = 3_600
"""Seconds: what took longer was a pause, not an answer; chosen."""

_BY_HAND = 0.4
"""An agent that compacts below this share of its window was told to: the lowest share at which one
does it by itself is 0.5 (`agents/known`)."""


_KEPT = 4
"""Timelines that are kept: a reader and a comparison. One of 10,000 requests has about 7 MB."""


class ContextStep(Struct, frozen=True, kw_only=True):
    """One compaction, seen from the window: the context before and after."""

    request: int
    """The first request that was sent with it; one past the last if there was none since."""
    position: int
    """How many messages the log had."""
    view: int
    """The number of the view that is sent since; 0 if the agent compacted by itself."""
    tokens_before: int
    """As its report has it, otherwise the last prompt before it."""
    tokens_after: int
    """As its report has it; otherwise the first prompt with it, which has more messages."""
    reason: str
    """`compaction`, `undo`, `rotation`, `import`, or `agent` for one of the agent's own."""


class Timeline(Struct, frozen=True, kw_only=True):
    """The requests of a session, and what each prompt held."""

    requests: list[RequestRow]
    held: list[Amounts]
    """For each request its prompt by kind, in the order of `KINDS`. They add up to what the
    provider counted, or to the estimate if it did not say."""
    lengths: list[int]
    """For each request how many messages the log had when it was sent."""
    seconds: list[float | None]
    """For each request the time from the newest message in it to its answer, None if unknown."""
    source: Literal["measured", "estimated", "none"]
    """Whether the requests were recorded. If not, one is assumed before each answer."""
    window_tokens: int
    window_source: str
    """`given`, by the `model`, or `assumed`."""
    threshold_tokens: int
    """From how many tokens on it is compacted."""
    steps: tuple[ContextStep, ...]
    totals: RequestTotals


def timeline(store: Store, info: SessionInfo) -> Timeline:
    """Return what the context window of a session held. No more than a few bodies are read, unless
    what was used is recorded in the messages alone.
    """
    rows = store.outline(info.id)
    views = store.views(info.id, lean=True)
    usage = recorded_usage(store, info)
    context = Context(store, info, rows, views)
    requests = request_rows(usage or _assume_requests(info, rows, views))
    lengths = _lengths(requests, rows)
    held = _measure_prompts(requests, lengths, context)
    if not usage:  # what was cached, and so what it cost, is not known
        requests = [
            msgspec.structs.replace(one, input_tokens=sum(prompt), cost=None)
            for one, prompt in zip(requests, held, strict=True)
        ]
    steps = _steps(info, requests, held, views, context)
    window, source, threshold = limits(store, info, requests, held, views, steps)
    return Timeline(
        requests=requests,
        held=held,
        lengths=lengths,
        seconds=[_wait(one, rows, at) for one, at in zip(requests, lengths, strict=True)],
        source="measured" if usage else "estimated" if requests else "none",
        window_tokens=window,
        window_source=source,
        threshold_tokens=threshold,
        steps=steps,
        totals=RequestTotals.of(requests),
    )


class Timelines:
    """The timelines of the sessions that were asked for last: each page of a session needs it, and
    it is made from the whole log.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], tuple[object, int | None, Timeline]] = {}

    def find(self, store: Store, info: SessionInfo) -> Timeline:
        """Return the timeline of a session; it is made again if anything in it changed."""
        place = store.where, info.id
        mark = info, store.usage(info.id, last=1), len(store.views(info.id, lean=True))
        known = self._kept.get(place)
        if (
            known is None
            or known[0] != mark
            or known[1] != given_window(store, info, _last_model(info, known[2].requests))
        ):
            made = timeline(store, info)
            given = given_window(store, info, _last_model(info, made.requests))
            known = mark, given, made
        with self._lock:
            self._kept.pop(place, None)
            self._kept[place] = known
            for oldest in list(self._kept)[:-_KEPT]:
                del self._kept[oldest]
        return known[2]


def _assume_requests(
    info: SessionInfo, rows: Sequence[OutlineRow], views: Sequence[StoredView]
) -> list[TurnUsage]:
    """Return one request before each run of messages of the agent that the session owns."""
    live = [one.number for one in ViewRow.list_of(views, info.view) if not one.undone]
    known = [view for view in views if view.number in live]
    found: list[TurnUsage] = []
    for at, row in enumerate(rows):
        if row.role != "assistant" or row.generated or row.owner_id != info.id:
            continue
        if at and rows[at - 1].role == "assistant" and found:
            last = found[-1]
            found[-1] = msgspec.structs.replace(last, output_tokens=last.output_tokens + row.tokens)
            continue
        sent = [view.number for view in known if view.length <= at and view.created <= row.time]
        found.append(
            TurnUsage(
                position=at,
                time=row.time,
                model=info.model,
                output_tokens=row.tokens,
                view=sent[-1] if sent else 0,
            )
        )
    return found


def _wait(one: RequestRow, rows: Sequence[OutlineRow], length: int) -> float | None:
    """Return how long the model took for an answer: some agents record only when it was done."""
    if one.time is None or not 0 < length <= len(rows):
        return None
    passed = one.time - rows[length - 1].time
    return passed if 0 < passed < _LONGEST_ANSWER else None


def _measure_prompts(
    requests: Sequence[RequestRow], lengths: Sequence[int], context: Context
) -> list[Amounts]:
    """Return each prompt by kind."""
    unrecorded = _count_unknown(requests, lengths, context)
    fixed = plus(context.fixed, (unrecorded, *NOTHING[1:]))
    found: list[Amounts] = []
    _keep_tails(requests, lengths, fixed, context)
    for one, length in zip(requests, lengths, strict=True):
        estimate = plus(fixed, context.measure_view(one.view, length))
        found.append(scale(estimate, fixed, one.input_tokens) if one.input_tokens else estimate)
    return found


def _keep_tails(
    requests: Sequence[RequestRow], lengths: Sequence[int], fixed: Amounts, context: Context
) -> None:
    """Find what the agent's own compactions kept beside their summaries: as much as the first
    prompt after each has beyond them.
    """
    for own in context.own:
        at = bisect_right(lengths, own)
        if not 0 < at < len(requests) or requests[at].view or not requests[at].input_tokens:
            continue
        more = requests[at].input_tokens - sum(fixed) - sum(context.measure_view(0, lengths[at]))
        if more > requests[at].input_tokens * ESTIMATE_ERROR:
            context.keep_tail(lengths[at], more)


def _lengths(requests: Sequence[RequestRow], rows: Sequence[OutlineRow]) -> list[int]:
    """Return how long the log was when each request was sent: up to its answer, of which some
    agents report the usage with its last message.
    """
    found: list[int] = []
    past = 0
    for one in requests:
        at = min(one.position, len(rows))
        while at > past and rows[at - 1].role == "assistant" and not rows[at - 1].generated:
            at -= 1
        found.append(at)
        past = max(past, one.position + 1)
    return found


def _count_unknown(requests: Sequence[RequestRow], lengths: Sequence[int], context: Context) -> int:
    """Return how much longer the first prompt was than all that is known of it."""
    for one, length in zip(requests, lengths, strict=True):
        if one.input_tokens:
            known = sum(context.fixed) + sum(context.measure_view(one.view, length))
            more = one.input_tokens - known
            return more if more > one.input_tokens * ESTIMATE_ERROR else 0
    return 0


def _steps(
    info: SessionInfo,
    requests: Sequence[RequestRow],
    held: Sequence[Amounts],
    views: Sequence[StoredView],
    context: Context,
) -> tuple[ContextStep, ...]:
    """Return all compactions in order."""
    rows = ViewRow.list_of(views, info.view)
    found = [
        *_sent_steps(requests, held, {row.number: row for row in rows}),
        *_unsent_steps(info, requests, rows),
        *_own_steps(info, requests, held, context),
    ]
    return tuple(sorted(found, key=lambda step: (step.request, step.position, step.view)))


def _sent_steps(
    requests: Sequence[RequestRow], held: Sequence[Amounts], views: Mapping[int, ViewRow]
) -> Iterator[ContextStep]:
    for at, one in enumerate(requests):
        if not one.compacted:
            continue
        view = views.get(one.view) if one.view > requests[at - 1].view else None
        before, after = (view.tokens_before, view.tokens_after) if view else (0, 0)
        yield ContextStep(
            request=at,
            position=one.position,
            view=one.view,
            tokens_before=before or sum(held[at - 1]),
            tokens_after=after or sum(held[at]),
            reason=view.reason if view else "undo",
        )


def _unsent_steps(
    info: SessionInfo, requests: Sequence[RequestRow], views: Sequence[ViewRow]
) -> Iterator[ContextStep]:
    """Yield compactions that no request was sent with, if they were not undone. Those that a parent
    made and a branch began with are the parent's.
    """
    sent = {one.view for one in requests}
    times = [one.time or 0.0 for one in requests]
    for view in views:
        is_inherited = bool(info.parent_id) and view.created < info.started
        if view.undone or view.number in sent or is_inherited:
            continue
        at = bisect_right(times, view.created)
        yield ContextStep(
            request=at,
            position=requests[at].position if at < len(requests) else info.length,
            view=view.number,
            tokens_before=view.tokens_before,
            tokens_after=view.tokens_after,
            reason=view.reason,
        )


def _own_steps(
    info: SessionInfo, requests: Sequence[RequestRow], held: Sequence[Amounts], context: Context
) -> Iterator[ContextStep]:
    """Yield the compactions of the agent itself, each at the first request after it."""
    positions = [one.position for one in requests]
    at_request = {bisect_right(positions, own): own for own in context.own}
    for at, own in at_request.items():
        if not at:
            continue  # the session begins with a summary
        yield ContextStep(
            request=at,
            position=own,
            view=0,
            tokens_before=sum(held[at - 1]),
            tokens_after=sum(held[at])
            if at < len(requests)
            else sum(context.fixed) + sum(context.measure_view(0, info.length)),
            reason="agent",
        )


def limits(
    store: Store,
    info: SessionInfo,
    requests: Sequence[RequestRow],
    held: Sequence[Amounts],
    views: Sequence[StoredView],
    steps: Sequence[ContextStep],
) -> tuple[int, str, int]:
    """Return the window, its source, and the threshold of a compaction: from the last report of a
    compaction, otherwise from what is known of the providers, the model and the agent.
    """
    if (report := last_report(views)) is not None:
        return report.context_length, report.context_length_source, report.threshold_tokens
    model = _last_model(info, requests)
    highest = max(map(sum, held), default=0)
    window, source = window_for(info.source, model, highest, given_window(store, info, model))
    own = [
        step.tokens_before
        for step in steps
        if step.reason == "agent" and step.tokens_before >= window * _BY_HAND
    ]
    if own:
        return window, source, own[-1]
    return window, source, _kept_threshold(info, window) or usual_threshold(info.source, window)


def _last_model(info: SessionInfo, requests: Sequence[RequestRow]) -> str:
    return next((one.model for one in reversed(requests) if one.model), info.model)


def given_window(store: Store, info: SessionInfo, model: str) -> int | None:
    """Return the window that the session was opened with, or that the file of the agent or a
    provider told; None if none did.
    """
    frame = frame_of(info)
    noted = frame.get("window", frame.get("settings", {}).get("context_length"))
    return noted if isinstance(noted, int) and noted > 0 else told_window(store, model)


def _kept_threshold(info: SessionInfo, window: int) -> int | None:
    """Return from how many tokens on a session of ours is compacted, None for one of an agent."""
    kept = frame_of(info).get("settings")
    if kept is None:
        return None
    try:
        policy = msgspec.convert(kept.get("policy", {}), Policy)
        return budget_for(policy, window).threshold_tokens
    except (msgspec.ValidationError, InvalidSetting):  # of another version
        return None


class TimelineColumns(Struct, frozen=True, kw_only=True):
    """A timeline in few columns, as lists of the same length. Each column is some requests in a
    row: what it `held` and was cached is that of its last request, sums are over all of them.
    """

    first: list[int]
    """The first request of each column; it ends before the first of the next one."""
    last: list[int]
    time: list[float | None]
    held: dict[Kind, list[int]]
    """Tokens of the last prompt, by kind; a kind that is nowhere is left out."""
    prompt: list[int]
    """Tokens of the last prompt."""
    cached: list[int]
    """Of the last prompt, what came out of the cache."""
    paid: list[int]
    """Of one prompt, the most that did not come out of the cache: a miss in a column is seen."""
    cost: list[float | None]
    """Of all requests; None if none of them says."""
    seconds: list[float | None]
    """The longest wait for an answer; None if none is known."""


def columns(found: Timeline, most: int = 400) -> TimelineColumns:
    """Return a timeline in at most `most` columns, ready for JSON."""
    count = len(found.requests)
    width = max(-(-count // max(most, 1)), 1)
    cuts = [range(at, min(at + width, count)) for at in range(0, count, width)]
    last = [cut[-1] for cut in cuts]
    prompts = list(map(sum, found.held))
    requests = found.requests
    held: dict[Kind, list[int]] = {
        kind: [found.held[at][place] for at in last] for place, kind in enumerate(KINDS)
    }
    return TimelineColumns(
        first=[cut[0] for cut in cuts],
        last=last,
        time=[requests[at].time for at in last],
        held={kind: tokens for kind, tokens in held.items() if any(tokens)},
        prompt=[prompts[at] for at in last],
        cached=[requests[at].cache_read_tokens for at in last],
        paid=[
            max(max(prompts[at] - requests[at].cache_read_tokens, 0) for at in cut) for cut in cuts
        ],
        cost=[_cost(requests[cut.start : cut.stop]) for cut in cuts],
        seconds=[
            max((one for at in cut if (one := found.seconds[at]) is not None), default=None)
            for cut in cuts
        ],
    )


def _cost(requests: Sequence[RequestRow]) -> float | None:
    known = [one.cost for one in requests if one.cost is not None]
    return sum(known) if known else None
