"""What the model sees of a session now, small enough for a line of a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from foldaway.engine import unpack_view
from foldaway.errors import InvalidView
from foldaway.inspector.context import report_of
from foldaway.inspector.kinds import (
    FIRST,
    KINDS,
    NOTHING,
    Amounts,
    Kind,
    amounts,
    category_amounts,
    first_amounts,
    fixed_amounts,
    kind_of,
    only_around,
    plus,
    scaled,
    sum_amounts,
    written,
)
from foldaway.inspector.timeline import ESTIMATE_ERROR, given_window
from foldaway.stores import OutlineRow, SessionInfo, Store, TurnUsage
from foldaway.transcript import Item, Kept, extend, whole_view
from foldaway.usage import window_for

_AT_ONCE = 500
"""Messages that are added up at a time: a window of 200,000 tokens holds about as many, and they
take about half a millisecond."""


def strip(store: Store, info: SessionInfo) -> tuple[tuple[Kind, float], ...]:
    """Return what the model sees now, by kind, as shares of its window; what is left is free.

    Only the newest messages are read: as many as the window can hold.
    """
    last = next(iter(store.usage(info.id, last=1)), None)
    model = (last.model if last else "") or info.model
    measured = last.input_tokens if last else 0
    start = _start(store, info)
    window = start.window_tokens
    if not window:
        window, _ = window_for(info.source, model, measured, given_window(store, info, model))
    seen = _seen(store, info, start, max(window, measured))
    found = _to_measure(store, info, seen, start, last)
    most = max(window, sum(found), 1)
    return tuple(
        (kind, tokens / most) for kind, tokens in zip(KINDS, found, strict=True) if tokens > 0
    )


class _Start(Struct, frozen=True):
    """What is known before any message is counted."""

    items: tuple[Item, ...]
    """What the model sees of the log that is not in `tokens` yet."""
    fixed: Amounts
    """What stands around the messages."""
    tokens: Amounts
    """That, and what a report says of the messages that its view covers."""
    window_tokens: int = 0


def _start(store: Store, info: SessionInfo) -> _Start:
    kept = store.view(info.id, lean=True) if info.view else None
    report = None if kept is None else report_of(kept)
    if kept is not None and report is not None and report.categories:
        told = category_amounts(report.categories)
        later = (Kept(kept.length, info.length),) if info.length > kept.length else ()
        return _Start(later, only_around(told), told, report.context_length)
    fixed = fixed_amounts(info)
    try:
        view = whole_view(0) if kept is None else unpack_view(kept.items, info.dialect)
        return _Start(extend(view, info.length).items, fixed, fixed)
    except InvalidView:  # of another version, or damaged: the log as it is
        return _Start(whole_view(info.length).items, fixed, fixed)


class _Seen(Struct, frozen=True):
    """What the model sees, from the newest message back to where the window is full."""

    tokens: Amounts
    compacted_at: int = -1
    """Where the agent compacted by itself."""


def _seen(store: Store, info: SessionInfo, start: _Start, most_tokens: int) -> _Seen:
    found = start.tokens
    for item in start.items:
        found = plus(found, written(item))
    for ranges in _backwards(start.items):
        sums = store.sums(info.id, ranges)
        if not info.view and any(one.generated for one in sums):
            own, tokens = _since_own(store.outline(info.id, ranges[-1][0], ranges[0][1]))
            return _Seen(plus(found, tokens), own)
        left, tokens = most_tokens - sum(found), sum_amounts(sums)
        if sum(tokens) > left:
            return _Seen(plus(found, scaled(tokens, NOTHING, max(left, 0))))
        found = plus(found, tokens)
    return _Seen(plus(found, _rules(store, info, start.items)))


def _since_own(rows: Sequence[OutlineRow]) -> tuple[int, Amounts]:
    """Return where the agent's last compaction is, and what came with it and since."""
    kinds: dict[Kind, int] = {}
    own = -1
    for row in reversed(rows):
        if own >= 0 and not row.generated:
            break
        if row.generated:
            own = max(own, row.position)
        kinds[kind_of(row)] = kinds.get(kind_of(row), 0) + row.tokens
    return own, amounts(kinds)


def _rules(store: Store, info: SessionInfo, items: Sequence[Item]) -> Amounts:
    """Return by how much the first messages, if they are seen, are of other kinds than their roles
    tell.
    """
    kept = items[0].stop if items and not items[0].start and isinstance(items[0], Kept) else 0
    rows = store.outline(info.id, 0, min(kept, FIRST)) if kept else []
    found = NOTHING
    for row, told in zip(rows, first_amounts(store, info, rows).values(), strict=False):
        found = plus(plus(found, told), amounts({kind_of(row): -row.tokens}))
    return found


def _to_measure(
    store: Store, info: SessionInfo, seen: _Seen, start: _Start, last: TurnUsage | None
) -> Amounts:
    """Return an estimate brought to what the provider counted last, if it counted the same."""
    if last is None or not last.input_tokens or last.view != info.view:
        return seen.tokens
    if seen.compacted_at >= last.position:
        return seen.tokens
    since = sum(one.tokens for one in store.sums(info.id, [(last.position, info.length)]))
    total = last.input_tokens + since
    more = total - sum(seen.tokens)
    if more > total * ESTIMATE_ERROR:
        return plus(seen.tokens, (more, *NOTHING[1:]))
    return scaled(seen.tokens, start.fixed, total)


def _backwards(items: Sequence[Item]) -> Iterator[list[tuple[int, int]]]:
    """Yield the ranges that are kept, the newest first, of some messages at a time."""
    kept = [(item.start, item.stop) for item in items if isinstance(item, Kept)]
    ranges: list[tuple[int, int]] = []
    left = _AT_ONCE
    while kept:
        start, stop = kept.pop()
        if stop - start > left:
            kept.append((start, stop - left))
            start = stop - left
        ranges.append((start, stop))
        left -= stop - start
        if not left:
            yield ranges
            ranges, left = [], _AT_ONCE
    if ranges:
        yield ranges
