"""What became of every message of a log in a view: kept, rewritten or folded, as ranges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, takewhile
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway.agents.known import find_agent
from foldaway.engine import unpack_view
from foldaway.errors import UnknownName, UnknownPosition
from foldaway.facts import carried_summary
from foldaway.gateway.inspector.window_amounts import count_written
from foldaway.sessions import frame_of
from foldaway.stores import SessionInfo, Store
from foldaway.transcript import Folded, Item, Kept, Rewritten, View, extend, whole_view

FateKind: TypeAlias = Literal["kept", "rewritten", "folded"]


class Fate(Struct, frozen=True, kw_only=True, gc=False):
    """What became of the messages from `start` up to `stop`."""

    start: int
    stop: int
    kind: FateKind
    reference: str = ""
    """What brings the originals back; empty if they are kept, or only thinking was left out."""
    shown_at: int
    """The place of the first one among all messages that the model sees. For a folded range, the
    place that it would have."""
    shown: int
    """How many messages the model sees of them, or in their place."""
    summary_at: int | None = None
    """For a folded range, the place of the message with its summary; None if the view has none."""


class Fates(Struct, frozen=True, kw_only=True):
    """What a view does with a log: ranges that cover every position exactly once, in order."""

    session: str
    view: int
    """The number of the view; 0 is the log as it is."""
    length: int
    """Messages of the log."""
    shown: int
    """Messages that the model sees."""
    items: tuple[Fate, ...]

    def at(self, position: int) -> Fate:
        """Return what became of one message; raise `UnknownPosition`."""
        if not 0 <= position < self.length:
            raise UnknownPosition(self.session, position, self.length - 1)
        return self.items[bisect_right(self.items, position, key=lambda fate: fate.start) - 1]


def fates(
    store: Store, info: SessionInfo, number: int | None = None, length: int | None = None
) -> Fates:
    """Return what a view does with the log of a session: the current one if no number is given, 0
    for the log as it is, also one that was undone. `length` is that of the log then, if not now.

    Raises `UnknownName` for a view that the session has not.
    """
    wanted = info.view if number is None else number
    kept = store.view(info.id, wanted, lean=True) if wanted else None
    if wanted and kept is None:
        known = ("0", *(str(view.number) for view in store.views(info.id, lean=True)))
        raise UnknownName("view", str(wanted), known)
    view = whole_view(0) if kept is None else unpack_view(kept.items, info.dialect)
    if length is not None:
        info = replace(info, length=max(length, view.length))
    items = tuple(_with_arrivals(store, info, view))
    found = tuple(_fates(items))
    if kept is None:
        found = _without_dropped(store, info) or found
    return Fates(
        session=info.id,
        view=wanted,
        length=info.length,
        shown=sum(fate.shown for fate in found),
        items=found,
    )


def count_places(store: Store, info: SessionInfo, seen: Fates) -> list[float]:
    """Return the tokens of each message that the model sees."""
    rows = store.outline(info.id, 0, seen.length)
    kept = store.view(info.id, seen.view, lean=True) if seen.view else None
    items = unpack_view(kept.items, info.dialect).items if kept else ()
    written = {one.start: sum(count_written(one)) for one in items if not isinstance(one, Kept)}
    found: list[float] = []
    for fate in seen.items:
        if fate.start in written:
            found += [written[fate.start] / max(fate.shown, 1)] * fate.shown
        else:
            found += [row.tokens for row in rows[fate.start : fate.stop]][: fate.shown]
    return found


def count_shared(before: Fates, now: Fates) -> int:
    """Return how many messages at its beginning a prompt has in common with the one before."""
    for old, new in zip(before.items, now.items, strict=False):
        is_same = (old.start, old.kind, old.reference) == (new.start, new.kind, new.reference)
        if not is_same or (new.kind != "kept" and before.view != now.view):
            return new.shown_at
        if old.stop != new.stop:
            return new.shown_at + min(old.shown, new.shown)
    return min(before.shown, now.shown)


def _without_dropped(store: Store, info: SessionInfo) -> tuple[Fate, ...]:
    """Return what is left after the last compaction that the agent made by itself; nothing if it
    made none, or keeps messages beside its summary and its file does not say which.
    """
    if not find_agent(info.source).compaction.keeps_summary_alone:
        return ()
    rows = store.outline(info.id, 0, info.length)
    written = [row.position for row in rows if row.generated]
    if not written:
        return ()
    last = written[-1]
    while last - 1 in written:
        last -= 1
    lead = sum(1 for _ in takewhile(lambda row: row.role in ("system", "developer"), rows))
    if last <= lead:
        return ()
    found = [Fate(start=0, stop=lead, kind="kept", shown_at=0, shown=lead)] if lead else []
    dropped = Fate(start=lead, stop=last, kind="folded", shown_at=lead, shown=0, summary_at=lead)
    rest = Fate(start=last, stop=len(rows), kind="kept", shown_at=lead, shown=len(rows) - last)
    return (*found, dropped, rest)


class _Arrived(Struct, frozen=True, gc=False):
    """A message that came after the view and is shown otherwise since its arrival."""

    start: int
    stop: int
    reference: str


def _with_arrivals(store: Store, info: SessionInfo, view: View) -> Iterator[Item | _Arrived]:
    """Yield the items of a view on the whole log."""
    level = frame_of(info).get("arrival", {}).get("level", "off") if info.frame else "off"
    if level == "off":
        yield from extend(view, info.length).items
        return
    yield from view.items
    at = view.length
    for one in store.references(info.id):
        if one.kind == "arrival" and at <= one.start < one.stop <= info.length:
            if one.start > at:
                yield Kept(at, one.start)
            yield _Arrived(one.start, one.stop, one.ref)
            at = one.stop
    if info.length > at:
        yield Kept(at, info.length)


def _fates(items: Sequence[Item | _Arrived]) -> Iterator[Fate]:
    places = [0, *accumulate(map(_count_shown, items))]
    summaries = [at for at, item in enumerate(items) if _summary_in(item) is not None]
    for at, item in enumerate(items):
        kind: FateKind = "kept" if isinstance(item, Kept) else "rewritten"
        summary_at = None
        if isinstance(item, Folded):
            kind = "folded"
            summary_at = _place_of_summary(items, places, summaries, at)
        yield Fate(
            start=item.start,
            stop=item.stop,
            kind=kind,
            shown_at=places[at],
            shown=_count_shown(item),
            summary_at=summary_at,
            reference="" if isinstance(item, Kept) else item.reference,
        )


def _place_of_summary(
    items: Sequence[Item | _Arrived], places: Sequence[int], summaries: Sequence[int], at: int
) -> int | None:
    """Return the place of the summary of a folded item: in the item, or in the nearest one."""
    if not summaries:
        return None
    after = bisect_left(summaries, at)
    near = min(summaries[max(after - 1, 0) : after + 1], key=lambda one: (abs(one - at), one < at))
    return places[near] + (_summary_in(items[near]) or 0)


def _count_shown(item: Item | _Arrived) -> int:
    """Return how many messages the model sees for an item."""
    return len(item.messages) if isinstance(item, Folded) else item.stop - item.start


def _summary_in(item: Item | _Arrived) -> int | None:
    """Return which message of an item is or carries the summary, None if none does."""
    if isinstance(item, Folded):
        told = (at for at, one in enumerate(item.messages) if one.origin != "placeholder")
        return next(told, None)
    is_merged = isinstance(item, Rewritten) and carried_summary(item.message) is not None
    return 0 if is_merged else None
