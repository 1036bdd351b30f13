"""What the model sees of a session now, small enough for a line of a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.engine.saved import unpack_view
from holdfast.errors import InvalidView
from holdfast.inspector.context import report_of
from holdfast.inspector.kinds import (
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
    written,
)
from holdfast.inspector.timeline import ESTIMATE_ERROR, given_window
from holdfast.spending.live import window_for
from holdfast.stores.store import Store
from holdfast.stores.values import OutlineRow, SessionInfo, TurnUsage
from holdfast.transcript import Item, Kept, extend, whole

_AT_ONCE = 500
"""Messages of an outline that are read at a time: a window of 200,000 tokens holds about as many,
and they take about a millisecond."""
_NEAR = 50
"""Kept ranges that are this near to each other are read together: less than another statement."""


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
    found = _to_measure(seen, start, last, info)
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
        view = whole(0) if kept is None else unpack_view(kept.items, info.dialect)
        return _Start(extend(view, info.length).items, fixed, fixed)
    except InvalidView:  # of another version, or damaged: the log as it is
        return _Start(whole(info.length).items, fixed, fixed)


class _Seen(Struct, frozen=True):
    """The messages that the model sees, from the newest back to where the window is full."""

    tokens: Amounts
    """Of all that it sees."""
    newest: list[OutlineRow]
    """The newest first."""
    compacted_at: int = -1
    """Where the agent compacted by itself."""


def _seen(store: Store, info: SessionInfo, start: _Start, most_tokens: int) -> _Seen:
    found = start.tokens
    for item in start.items:
        found = plus(found, written(item))
    kinds: dict[Kind, int] = {}
    rows: list[OutlineRow] = []
    total, own = sum(found), -1
    for row in _backwards(store, info, start.items):
        if total > most_tokens or (own >= 0 and not row.generated):
            break
        if row.generated and not info.view:
            own = max(own, row.position)
        rows.append(row)
        total += row.tokens
        kind = kind_of(row)
        kinds[kind] = kinds.get(kind, 0) + row.tokens
    found = plus(found, amounts(kinds))
    return _Seen(plus(found, _rules(store, info, rows)), rows, own)


def _rules(store: Store, info: SessionInfo, rows: Sequence[OutlineRow]) -> Amounts:
    """Return by how much the first messages, if they are seen, are of other kinds than their roles
    tell.
    """
    first = [row for row in reversed(rows[-FIRST:]) if row.position < FIRST]
    found = NOTHING
    for row, told in zip(first, first_amounts(store, info, first).values(), strict=False):
        found = plus(plus(found, told), amounts({kind_of(row): -row.tokens}))
    return found


def _to_measure(seen: _Seen, start: _Start, last: TurnUsage | None, info: SessionInfo) -> Amounts:
    """Return an estimate brought to what the provider counted last, if it counted the same."""
    if last is None or not last.input_tokens or last.view != info.view:
        return seen.tokens
    if seen.compacted_at >= last.position:
        return seen.tokens
    since = sum(row.tokens for row in seen.newest if row.position >= last.position)
    total = last.input_tokens + since
    more = total - sum(seen.tokens)
    if more > total * ESTIMATE_ERROR:
        return plus(seen.tokens, (more, *NOTHING[1:]))
    return scaled(seen.tokens, start.fixed, total)


def _backwards(store: Store, info: SessionInfo, items: tuple[Item, ...]) -> Iterator[OutlineRow]:
    """Yield the messages that are kept, the newest first, read some at a time."""
    kept = [(item.start, item.stop) for item in items if isinstance(item, Kept)]
    while kept:
        start, stop = kept.pop()
        if stop - start > _AT_ONCE:
            kept.append((start, stop - _AT_ONCE))
            start = stop - _AT_ONCE
        ranges = [(start, stop)]
        while kept and start - kept[-1][1] <= _NEAR and stop - kept[-1][0] <= _AT_ONCE:
            ranges.append(kept.pop())
            start = ranges[-1][0]
        rows = store.outline(info.id, start, stop)
        for low, high in ranges:
            yield from reversed(rows[low - start : high - start])
