"""Everything that the page of one compaction shows, of ours or of the agent's own."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway._core import Category, Report
from foldaway.caching import PriceList
from foldaway.compaction import CompactionState, is_on_arrival, message_tokens, payload_bytes
from foldaway.engine import Fate, unpack_snapshot, unpack_view
from foldaway.errors import NotReadable
from foldaway.gateway import NotThere
from foldaway.gateway.inspector.summary_entries import ShownSummary, summary_in
from foldaway.lab import Sight, UsedLater
from foldaway.sessions import Show, ViewRow, decode_rows
from foldaway.stores import SessionInfo, Store, StoredView
from foldaway.transcript import (
    Estimator,
    Folded,
    Item,
    Kept,
    Message,
    Rewritten,
    View,
    extend,
    whole_view,
)
from foldaway.usage import StepBalance

Maker: TypeAlias = Literal["foldaway", "agent"]


class StepPlace(Struct, frozen=True, array_like=True, gc=False):
    """One message that the model saw: its fate, and the positions of the log that it stands for."""

    start: int
    stop: int
    fate: Fate
    is_written: bool = False
    """Whether a compaction wrote it: a summary."""
    message: Message | None = None
    """What stood there, if it is not the message of the log."""


class CompactionStep(Struct, frozen=True, kw_only=True):
    """One compaction: what the model saw before and after it, and what came of it."""

    session: str
    by: Maker
    number: int
    """Of the view; 0 for a compaction of the agent."""
    at: int
    """How many messages the log had; positions before it may be folded."""
    view: ViewRow | None
    """None for a compaction of the agent."""
    report: Report | None
    """None if another version of Foldaway wrote it, or the agent compacted."""
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    is_estimated: bool
    """Whether the tokens are sums of our estimates; the agent's are what its provider counted."""
    categories: tuple[Category, ...]
    before: tuple[StepPlace, ...]
    after: tuple[StepPlace, ...]
    summary: ShownSummary | None
    used_later: UsedLater
    balance: StepBalance


class StepTools(Struct, frozen=True, kw_only=True):
    """What the data of a page is made with."""

    show: Show
    """What a text becomes before it is shown."""
    prices: PriceList
    window: int | None = None
    """Of the model, if it is given by the settings."""


def step(
    store: Store, info: SessionInfo, number: int, tools: StepTools, *, facts: bool = True
) -> CompactionStep:
    """Return what one compaction of ours did; `NotThere` for a view that is not there.

    Without `facts` those that were used later are left out: they take most of the time.
    """
    views = store.views(info.id)
    made = next((view for view in views if view.number == number), None)
    if made is None:
        raise NotThere(f"session {info.id} has no view {number}")
    (row,) = (one for one in ViewRow.list_of(views, info.view) if one.number == number)
    sight = _sight(store, info, made)
    before, after = _places(sight.before, sight.after), _places(sight.after, sight.before, "added")
    report, state = made.told, _state(made)
    if report:
        old, new = report.tokens_before, report.tokens_after
    else:
        old, new = _sizes(store, info, sight)
    shadow = "" if state is None or state.native is None else state.native.shadow
    return CompactionStep(
        session=info.id,
        by="foldaway",
        number=number,
        at=made.length,
        view=row,
        report=report,
        messages_before=len(before),
        messages_after=len(after),
        tokens_before=old,
        tokens_after=new,
        is_estimated=True,
        categories=report.categories if report else (),
        before=before,
        after=after,
        summary=summary_in(
            sight.after, made.length, lambda: _ids(store, info, made.length), tools.show, shadow
        ),
        used_later=sight.facts_used_later(store, info, tools.show) if facts else UsedLater(),
        balance=StepBalance.of_view(
            store.usage(info.id),
            info,
            made,
            tools.prices,
            window=tools.window,
            spared=max(old - new, 0),
        ),
    )


# What was seen


def _sight(store: Store, info: SessionInfo, made: StoredView) -> Sight:
    """Return the views before and after a compaction, both as long as the log was then."""
    last = store.view(info.id, made.previous) if made.previous else None
    old = whole_view(0) if last is None else unpack_view(last.items, info.dialect)
    report = made.told
    return Sight(
        before=extend(old, made.length) if old.length <= made.length else old,
        after=unpack_view(made.items, info.dialect),
        has_references=report is None or report.recoverable,
        start=0,
        cut=made.length,
        resumed=made.length,
        stop=info.length,
    )


def _places(view: View, other: View, gone: Fate = "folded") -> tuple[StepPlace, ...]:
    """Return the messages of a view with what they are in the other one."""
    forms, others = _forms(view), _forms(other)
    folds = [item.messages for item in other.items if isinstance(item, Folded)]
    written = {payload_bytes(one) for messages in folds for one in messages}
    found: list[StepPlace] = []
    for item in view.items:
        if isinstance(item, Folded):
            for one in item.messages:
                fate = "kept" if payload_bytes(one) in written else gone
                found.append(StepPlace(item.start, item.stop, fate, is_written=True, message=one))
            continue
        for at in range(item.start, item.stop):
            form = others[at] if at < len(others) else None
            fate = gone if form is None else "kept" if form == forms[at] else "rewritten"
            message = item.message if isinstance(item, Rewritten) else None
            found.append(StepPlace(at, at + 1, fate, message=message))
    return tuple(found)


def _forms(view: View) -> list[bytes | None]:
    """Return in which form each position is shown: b"" as it came, None if it is folded."""
    forms: list[bytes | None] = [b""] * view.length
    for item in view.items:
        if isinstance(item, Folded):
            forms[item.start : item.stop] = [None] * (item.stop - item.start)
        elif isinstance(item, Rewritten) and not is_on_arrival(item):
            forms[item.start] = payload_bytes(item.message)
    return forms


def _sizes(store: Store, info: SessionInfo, sight: Sight) -> tuple[int, int]:
    """Return the estimated tokens of what was seen before and after, without a report."""
    tokens = [row.tokens for row in store.outline(info.id, 0, sight.after.length)]
    counter = Estimator()

    def size(item: Item) -> int:
        match item:
            case Kept(start=start, stop=stop):
                return sum(tokens[start:stop])
            case Rewritten(message=message):
                return message_tokens(message, counter)
            case Folded(messages=messages):
                return sum(message_tokens(one, counter) for one in messages)

    old, new = (sum(map(size, view.items)) for view in (sight.before, sight.after))
    return old, new


def _state(made: StoredView) -> CompactionState | None:
    try:
        return unpack_snapshot(made.state).state
    except NotReadable:  # none, or one of another version
        return None


def _ids(store: Store, info: SessionInfo, length: int) -> dict[str, tuple[int, ...]]:
    """Return the positions of messages by their wire ids."""
    found: dict[str, list[int]] = {}
    rows = store.read(info.id, 0, length)
    for row, message in zip(rows, decode_rows(rows, info.dialect) if rows else (), strict=True):
        if message.id:
            found.setdefault(message.id, []).append(row.position)
    return {name: tuple(places) for name, places in found.items()}
