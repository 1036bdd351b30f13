"""A log that grows: every message decoded, measured and read for facts once, when it arrives."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from holdfast.dialects.registry import dialect_named
from holdfast.engine.arrivals import Arrivals
from holdfast.pipeline.arrival import Arrived, Arriving, Shown, Whole, is_on_arrival
from holdfast.pipeline.breakdown import category
from holdfast.pipeline.frame import carried_summary, recognise, without_summary
from holdfast.pipeline.index import Readings, Shortened, results_of
from holdfast.pipeline.ledger import Fact, Ledger, update
from holdfast.pipeline.measure import Costs, message_tokens
from holdfast.pipeline.partition import Anchors
from holdfast.pipeline.prune import Prepared
from holdfast.pipeline.references import reference_of
from holdfast.transcript import (
    Folded,
    Groups,
    Message,
    Rewritten,
    ToolCall,
    ToolResult,
    View,
    grow,
    render,
)
from holdfast.transcript import whole as whole_view

_NOTHING: dict[str, Prepared] = {}
_MARK_MESSAGES = 128
_MARKS_KEPT = 24
"""A tail is rarely longer than what they cover."""


class Read(Struct, frozen=True):
    """What a compaction will ask of a message."""

    facts: tuple[Fact, ...]
    prepared: Mapping[str, Prepared]
    short: Shortened | None


class Arrival(Struct, frozen=True):
    """One message, measured and read."""

    message: Message
    """As the log keeps it: without a summary that was merged into it."""
    shown: Message
    """As the model sees it: with that summary, or as results are shown on arrival."""
    tokens: int
    shown_tokens: int
    read: Read | Mapping[str, ToolCall]
    """What was read in it; the calls that it answers where reading failed and must come later."""
    carried: str | None
    """The summary that it is or carries."""
    form: Arrived | None
    """How it is shown for itself, whatever stands before it."""


class Standing(Struct, frozen=True):
    """What the model sees at one point: the view and its tokens by category."""

    view: View
    shown: dict[str, int]


class LiveLog:
    """Messages with their tokens, facts and short forms, the view on them, and its running total.

    It is the index that a compaction asks. Appending costs the same however long the log is.
    """

    def __init__(self, dialect: str, readings: Readings, arriving: Arriving | None = None) -> None:
        """Start empty."""
        self.dialect = dialect
        self.messages: list[Message] = []
        self.tokens: list[int] = []
        """What each message costs where it is kept, in the form that it has for itself."""
        self.arrivals = Arrivals(arriving or Arriving(), readings.counter)
        self.costs = Costs(self.messages, readings.counter, self.tokens)
        self.groups = Groups()
        self.anchors = Anchors()
        self.turns = 0
        """How often the model answered."""
        self.carried: list[str] = []
        """Summaries that earlier compactions left in what was appended."""
        self._read: list[Read | Mapping[str, ToolCall]] = []
        self._marks: list[tuple[int, Ledger]] = [(0, Ledger())]
        """Ledgers up to positions on the way, the newest last."""
        self._shown: dict[str, int] = {}
        self._view: View = whole_view(0)
        self._given: dict[int, Message] = {}
        """Messages that came with a summary merged into them, as they came, by position."""
        self._otherwise: dict[int, Rewritten] = {}
        """What was appended since the view was made and is not shown as the log has it."""
        self._readings = readings
        self._calls: dict[str, ToolCall] = {}

    def append(self, items: Sequence[Any], *, arrives: bool = True) -> list[Any]:
        """Take new wire messages and return what the model sees of them: all of them, or none
        where one cannot be measured.

        What does not arrive now was sent before, and is shown as it is.
        """
        calls: dict[str, ToolCall] = {}
        known = ChainMap(calls, self._calls)
        whole = self.arrivals.beside()
        found: list[Arrival] = []
        for message in recognise(self._decoded(items), self.messages, live=arrives):
            for part in message.parts:
                if type(part) is ToolCall:
                    calls[part.id] = part
            found.append(self._arrival(message, known, whole if arrives else None))
        encode = dialect_named(self.dialect).encode
        seen = [
            encode(arrival.shown) if arrival.shown.origin == "arrival" else item
            for item, arrival in zip(items, found, strict=True)
        ]
        self._calls.update(calls)
        self.arrivals.note(whole)
        for arrival in found:
            self._take(arrival, arrives=arrives)
        return seen

    def load(self, items: Sequence[Any], ledger: Ledger, ledgered: int, view: View | None) -> None:
        """Take a log that was kept, with the ledger of its beginning, and the view on it.

        A message before `ledgered` is read when a compaction asks for it, which is seldom.
        """
        calls: dict[str, ToolCall] = {}
        self._marks = [(ledgered, ledger)]
        folded = _folded(view)
        for at, message in enumerate(recognise(self._decoded(items), live=True)):
            for part in message.parts:
                if type(part) is ToolCall:
                    calls[part.id] = part
            alone: Whole | None = None if at in folded else {}
            self._take(self._arrival(message, calls, alone, later=at < ledgered))
        self._calls.update(calls)
        self._show_again(view or whole_view(0))

    def _arrival(
        self,
        given: Message,
        calls: Mapping[str, ToolCall],
        whole: Whole | None,
        *,
        later: bool = False,
    ) -> Arrival:
        """Return a message with all that will be asked of it; what is read in it may come later.

        `whole` is what is shown whole before it, None for what is shown as it is.
        """
        readings = self._readings
        carried = carried_summary(given)
        is_merged = carried is not None and given.origin != "summary"
        message = without_summary(given) if is_merged else given
        tokens = message_tokens(message, readings.counter)
        form, shown, shown_tokens = None, given, tokens
        if is_merged:
            shown_tokens = message_tokens(given, readings.counter)
        elif whole is not None:
            form = self.arrivals.form(message, calls, tokens)
            tokens = tokens if form is None else form.tokens
            shown, shown_tokens = self.arrivals.shown(message, form, tokens, whole)
        read: Read | Mapping[str, ToolCall] = _answered(message, calls)
        if not later:
            # the host's redactor may fail: that is then the failure of a compaction
            with suppress(Exception):
                read = self._reading(message, tokens, calls)
        return Arrival(message, shown, tokens, shown_tokens, read, carried, form)

    def _reading(self, message: Message, tokens: int, calls: Mapping[str, ToolCall]) -> Read:
        readings = self._readings
        is_clean = readings.is_clean(message, calls)
        prepared = results_of(message, calls, readings, is_clean=is_clean) or _NOTHING
        short = readings.shortened(message, lambda: tokens, prepared)
        facts = readings.facts(message, calls, is_clean=is_clean)
        return Read(facts, prepared, short)

    def _take(self, arrival: Arrival, *, arrives: bool = True) -> None:
        message, shown, at = arrival.message, arrival.shown, len(self.messages)
        self.messages.append(message)
        self.turns += message.role == "assistant"
        self.tokens.append(arrival.tokens)
        self.groups.take(message)
        self.anchors.take(message, at)
        self._read.append(arrival.read)
        self._mark()
        self.arrivals.take(at, arrival.form, arrives=arrives)
        if arrival.carried is not None:
            self.carried.append(arrival.carried)
        if shown is not message:
            is_merged = shown.origin != "arrival"
            if is_merged:
                self._given[at] = shown
            reference = "" if is_merged else reference_of(message)
            self._otherwise[at] = Rewritten(at, shown, reference)
            self.arrivals.gave_out([self._otherwise[at]])
        self._show(shown, arrival.shown_tokens)

    def _mark(self) -> None:
        """Now and then keep the ledger up to here, so that a compaction need not make it."""
        at, (known_to, known) = len(self.messages), self._marks[-1]
        if at - known_to < _MARK_MESSAGES:
            return
        rows = self._read[known_to:at]
        if not all(isinstance(row, Read) for row in rows):
            return
        self._marks.append((at, update(known, self.facts(known_to, at))))
        if len(self._marks) > _MARKS_KEPT:
            del self._marks[0]

    def _show(self, message: Message, tokens: int) -> None:
        name = category(message)
        self._shown[name] = self._shown.get(name, 0) + tokens

    def _decoded(self, items: Sequence[Any]) -> Sequence[Message]:
        """Return the new messages; they are read after the step that they may belong to, because
        some dialects pair calls and results by their order.
        """
        start = len(self.messages)
        first = start
        while first > 0 and self.messages[first - 1].role != "user":
            first -= 1
            if self.messages[first].role == "assistant":
                break
        step = [message.wire for message in self.messages[first:start]]
        decode = dialect_named(self.dialect).decode
        return decode([*step, *items], first)[len(step) :]

    # What a compaction asks

    def shown(self) -> dict[str, int]:
        """Return the tokens of what the model sees now, by category."""
        return dict(self._shown)

    def facts(self, start: int, stop: int) -> list[Fact]:
        """Return the facts of a stretch; they were found on arrival, all of them."""
        return self.facts_at(range(start, stop))

    def facts_at(self, positions: Sequence[int]) -> list[Fact]:
        """Return the facts of some messages, in order."""
        return [fact for at in positions for fact in self._at(at).facts]

    def deeds(self, positions: Sequence[int]) -> list[Fact]:
        """Return the facts of some messages, in order: all of them are at hand."""
        return self.facts_at(positions)

    def ledger(self, stop: int, known: Ledger, known_to: int) -> Ledger:
        """Return the ledger of the log up to `stop`, from the nearest that was kept on the way.

        A ledger of two rounds is the ledger of one, so it makes no difference which that is.
        """
        for at, marked in reversed(self._marks):
            if known_to < at <= stop:
                return update(marked, self.facts(at, stop))
        return update(known, self.facts(known_to, stop))

    def terms(self, at: int) -> Iterable[str]:
        """Return names, paths and numbers in one message."""
        return [term for fact in self._at(at).facts for term in fact.terms]

    def prepared(self, at: int) -> Mapping[str, Prepared]:
        """Return what pruning needs of the results of one message, by call id."""
        return self._at(at).prepared

    def shortened(self, at: int) -> Shortened | None:
        """Return the short form of one message, None where pruning gains nothing."""
        return self._at(at).short

    def arrived(self, at: int) -> Arrived | None:
        """Return how one message is shown for itself, None where that is as it came."""
        return self.arrivals.at(at)

    def arrives(self, at: int) -> bool:
        """Return whether one message may be shown otherwise than it came."""
        return self.arrivals.arrives(at)

    def _at(self, at: int) -> Read:
        found = self._read[at]
        if not isinstance(found, Read):
            found = self._read[at] = self._reading(self.messages[at], self.tokens[at], found)
        return found

    # What the engine asks

    @property
    def view_tokens(self) -> int:
        """The tokens of what the model sees."""
        return sum(self._shown.values())

    def given_tokens(self, at: int) -> int:
        """Return what a message costs as it came."""
        form = self.arrivals.at(at)
        return self.tokens[at] if form is None else form.given_tokens

    def floor_tokens(self, min_tail: int) -> int:
        """Return about what no compaction can remove: system prompt, latest ask, newest messages.

        Looks at a few messages only, however long the log is.
        """
        length = len(self.tokens)
        tail = max(length - min_tail, 0)
        stop = 0
        while stop < tail and self.messages[stop].role in ("system", "developer"):
            stop += 1
        ask = self.tokens[self.anchors.ask] if stop <= self.anchors.ask < tail else 0
        return sum(self.tokens[:stop]) + ask + sum(self.tokens[tail:])

    @property
    def view(self) -> View:
        """The view on the whole log: what was appended since the last one is kept, or shown as it
        was on arrival.
        """
        if len(self.messages) > self._view.length:
            self._view = grow(self._view, len(self.messages), list(self._otherwise.values()))
            self._otherwise = {}
        return self._view

    def is_whole(self, item: Rewritten) -> bool:
        """Return whether all of a message is shown, though not as it came; a marker's is above."""
        form = self.arrivals.at(item.start)
        return is_on_arrival(item) and (form is None or form.is_whole)

    def standing(self) -> Standing:
        """Return what the model sees, to come back to."""
        return Standing(self.view, self.shown())

    def grown(self, view: View) -> Shown:
        """Return a view grown to the whole log; nothing changes yet."""
        return self.arrivals.grown(view, self.messages, self.tokens, self._given)

    def take_view(self, made: Shown, shown: Mapping[str, int], newer: Iterable[int] = ()) -> None:
        """Take a view with its tokens by category, to which those of `newer` positions come."""
        self._view = made.view
        self._otherwise = {}
        self.arrivals.whole = made.whole
        self.arrivals.gave_out(made.view.items)
        self._shown = dict(shown)
        for at in newer:
            self._show(self.messages[at], made.tokens.get(at, self.tokens[at]))

    def _show_again(self, view: View) -> None:
        """Show a view that was kept; what was appended since it was made stands after it."""
        made = self.grown(view)
        self.take_view(made, {})
        for message in self.render():
            at = message.position
            kept = 0 <= at < len(self.messages) and self.messages[at] is message
            counter = self._readings.counter
            self._show(message, self.tokens[at] if kept else message_tokens(message, counter))

    def render(self) -> tuple[Message, ...]:
        """Return the messages that the model sees."""
        return tuple(render(self.view, self.messages))


def _folded(view: View | None) -> frozenset[int]:
    """Return the positions that a view does not show."""
    items = () if view is None else view.items
    folds = [item for item in items if isinstance(item, Folded)]
    return frozenset(at for item in folds for at in range(item.start, item.stop))


def _answered(message: Message, calls: Mapping[str, ToolCall]) -> dict[str, ToolCall]:
    """Return the calls that a message answers."""
    return {
        part.call_id: calls[part.call_id]
        for part in message.parts
        if isinstance(part, ToolResult) and part.call_id in calls
    }
