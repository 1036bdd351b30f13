"""What the model sees of a session now, small enough for a line of a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from foldaway.caching import PriceList
from foldaway.engine import unpack_view
from foldaway.errors import InvalidView
from foldaway.gateway.inspector.timeline import ESTIMATE_ERROR, given_window
from foldaway.gateway.inspector.window_amounts import (
    FIRST,
    NOTHING,
    Amounts,
    amounts,
    category_amounts,
    count_written,
    first_amounts,
    fixed_amounts,
    kind_of,
    only_around,
    plus,
    scale,
    sum_amounts,
)
from foldaway.stores import OutlineRow, SessionInfo, Store, TurnUsage
from foldaway.transcript import Item, Kept, extend, whole_view
from foldaway.usage import (
    KIND_NAMES,
    KINDS,
    Kind,
    SpentSession,
    kind_in_prompts,
    live_state,
    short,
    window_for,
)

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
    seen = _make_seen(store, info, start, max(window, measured))
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
    report = None if kept is None else kept.told
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


def _make_seen(store: Store, info: SessionInfo, start: _Start, most_tokens: int) -> _Seen:
    found = start.tokens
    for item in start.items:
        found = plus(found, count_written(item))
    for ranges in _backwards(start.items):
        sums = store.sums(info.id, ranges)
        if not info.view and any(one.generated for one in sums):
            own, tokens = _measure_since_own(store.outline(info.id, ranges[-1][0], ranges[0][1]))
            return _Seen(plus(found, tokens), own)
        left, tokens = most_tokens - sum(found), sum_amounts(sums)
        if sum(tokens) > left:
            return _Seen(plus(found, scale(tokens, NOTHING, max(left, 0))))
        found = plus(found, tokens)
    return _Seen(plus(found, _rules(store, info, start.items)))


def _measure_since_own(rows: Sequence[OutlineRow]) -> tuple[int, Amounts]:
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
    return scale(seen.tokens, start.fixed, total)


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


WIDTH = 1000
"""Units of a strip from end to end; it is stretched to the width that there is."""


class WindowPart(Struct, frozen=True):
    """A piece of a strip."""

    kind: str
    start: float
    width: float


class WindowStrip(Struct, frozen=True):
    """A strip, and what it shows in words."""

    parts: tuple[WindowPart, ...]
    label: str
    is_measured: bool = True
    """Whether it is known how full the window is; otherwise the strip is full."""


def file_strip(session: SpentSession, prices: PriceList) -> WindowStrip | None:
    """Return what the window of a session holds: its fill by the last prompt, and of that what all
    its prompts held; None if nothing is known.
    """
    shares = Counter[Kind]()
    for name, tokens in session.prompts.shares.items():
        shares[kind_in_prompts(name)] += tokens
    whole = sum(shares.values())
    if not whole:
        return None
    state = live_state(session, prices, cost=0.0)
    is_known = state.prompt_tokens > 0
    fill = min(state.fill, 1.0) if is_known else 1.0
    parts = parts_of([(kind, fill * shares[kind] / whole) for kind in KINDS])
    held = ", ".join(
        f"{KIND_NAMES[kind]} {shares[kind] / whole:.0%}" for kind in KINDS if shares[kind]
    )
    size = f"{short(state.prompt_tokens)} of {short(state.window_tokens)} tokens"
    return WindowStrip(parts, f"{size if is_known else 'size not recorded'}: {held}", is_known)


def stored_strip(store: Store, info: SessionInfo) -> WindowStrip | None:
    """Return what the window of a stored session holds now; None if nothing is in it."""
    shares = strip(store, info)
    if not shares:
        return None
    held = ", ".join(f"{KIND_NAMES[kind]} {share:.0%}" for kind, share in shares)
    return WindowStrip(parts_of(shares), f"{sum(one for _, one in shares):.0%} full: {held}")


def parts_of(shares: Iterable[tuple[str, float]]) -> tuple[WindowPart, ...]:
    """Return pieces one after the other, by their share of the whole strip."""
    found: list[WindowPart] = []
    at = 0.0
    for kind, share in shares:
        width = round(share * WIDTH, 1)
        if width:
            found.append(WindowPart(kind, round(at, 1), width))
            at += width
    return tuple(found)
