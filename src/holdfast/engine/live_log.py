"""A log that grows: every message decoded, measured and read for facts once, when it arrives."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from holdfast.dialects.registry import dialect_named
from holdfast.pipeline.breakdown import category
from holdfast.pipeline.frame import carried_summary, recognise, without_summary
from holdfast.pipeline.index import Readings, Shortened, results_of
from holdfast.pipeline.ledger import Fact, Ledger, update
from holdfast.pipeline.measure import Costs, message_tokens
from holdfast.pipeline.partition import Anchors
from holdfast.pipeline.prune import Prepared
from holdfast.transcript import (
    Groups,
    Message,
    ToolCall,
    ToolResult,
    View,
    extend,
    render,
    rewrite,
    whole,
)

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
    given: Message
    """As it came."""
    tokens: int
    given_tokens: int
    read: Read | Mapping[str, ToolCall]
    """What was read in it; the calls that it answers where reading failed and must come later."""
    carried: str | None
    """The summary that it is or carries."""


class Standing(Struct, frozen=True):
    """What the model sees at one point: the view and its tokens by category."""

    view: View
    shown: dict[str, int]


class LiveLog:
    """Messages with their tokens, facts and short forms, the view on them, and its running total.

    It is the index that a compaction asks. Appending costs the same however long the log is.
    """

    def __init__(self, dialect: str, readings: Readings) -> None:
        """Start empty."""
        self.dialect = dialect
        self.messages: list[Message] = []
        self.tokens: list[int] = []
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
        self._view: View = whole(0)
        self._given: dict[int, Message] = {}
        """Messages that came with a summary merged into them, as they came, by position."""
        self._readings = readings
        self._calls: dict[str, ToolCall] = {}

    def append(self, items: Sequence[Any]) -> None:
        """Take new wire messages: all of them, or none where one cannot be measured."""
        calls: dict[str, ToolCall] = {}
        known = ChainMap(calls, self._calls)
        arrivals: list[Arrival] = []
        for message in recognise(self._decoded(items)):
            for part in message.parts:
                if type(part) is ToolCall:
                    calls[part.id] = part
            arrivals.append(self._arrival(message, known))
        self._calls.update(calls)
        for arrival in arrivals:
            self._take(arrival)

    def load(self, items: Sequence[Any], ledger: Ledger, ledgered: int) -> None:
        """Take a log that was kept, with the ledger of its beginning; only the rest is read now.

        A message before `ledgered` is read when a compaction asks for it, which is seldom.
        """
        calls: dict[str, ToolCall] = {}
        self._marks = [(ledgered, ledger)]
        for at, message in enumerate(recognise(self._decoded(items))):
            for part in message.parts:
                if type(part) is ToolCall:
                    calls[part.id] = part
            self._take(self._arrival(message, calls, later=at < ledgered))
        self._calls.update(calls)

    def _arrival(
        self, given: Message, calls: Mapping[str, ToolCall], *, later: bool = False
    ) -> Arrival:
        """Return a message with all that will be asked of it; what is read in it may come later."""
        readings = self._readings
        carried = carried_summary(given)
        is_merged = carried is not None and given.origin != "summary"
        message = without_summary(given) if is_merged else given
        tokens = message_tokens(message, readings.counter)
        given_tokens = message_tokens(given, readings.counter) if is_merged else tokens
        read: Read | Mapping[str, ToolCall] = _answered(message, calls)
        if not later:
            # the host's redactor may fail: that is then the failure of a compaction
            with suppress(Exception):
                read = self._reading(message, tokens, calls)
        return Arrival(message, given, tokens, given_tokens, read, carried)

    def _reading(self, message: Message, tokens: int, calls: Mapping[str, ToolCall]) -> Read:
        readings = self._readings
        prepared = results_of(message, calls, readings) or _NOTHING
        short = readings.shortened(message, lambda: tokens, prepared)
        return Read(readings.facts(message, calls), prepared, short)

    def _take(self, arrival: Arrival) -> None:
        message, at = arrival.message, len(self.messages)
        self.messages.append(message)
        self.turns += message.role == "assistant"
        self.tokens.append(arrival.tokens)
        self.groups.take(message)
        self.anchors.take(message, at)
        self._read.append(arrival.read)
        self._mark()
        if arrival.carried is not None:
            self.carried.append(arrival.carried)
        if arrival.given is not message:
            self._given[at] = arrival.given
        self._show(arrival.given, arrival.given_tokens)

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
        """The view on the whole log: what was appended since the last one is kept."""
        start, length = self._view.length, len(self.messages)
        if length > start:
            view = extend(self._view, length)
            for at in sorted(at for at in self._given if at >= start):
                view = rewrite(view, at, self._given[at])
            self._view = view
        return self._view

    def standing(self) -> Standing:
        """Return what the model sees, to come back to."""
        return Standing(self.view, self.shown())

    def come_back(self, was: Standing) -> None:
        """Show again what was shown, with all that was appended since."""
        self._shown = dict(was.shown)
        for at in range(was.view.length, len(self.messages)):
            self._show(self.messages[at], self.tokens[at])
        self._view = extend(was.view, len(self.messages))

    def replace_view(self, view: View, shown: Mapping[str, int], newer: Iterable[int] = ()) -> None:
        """Take the view that a compaction made, with its tokens by category.

        `newer` are positions that arrived while it was made.
        """
        self._view = view
        self._shown = dict(shown)
        for at in newer:
            self._show(self.messages[at], self.tokens[at])

    def show_again(self, view: View) -> None:
        """Show a view that was kept; what was appended since it was made stands after it."""
        self._view = view
        self._shown = {}
        for message in self.render():
            at = message.position
            kept = 0 <= at < len(self.messages) and self.messages[at] is message
            counter = self._readings.counter
            self._show(message, self.tokens[at] if kept else message_tokens(message, counter))

    def render(self) -> tuple[Message, ...]:
        """Return the messages that the model sees."""
        return tuple(render(self.view, self.messages))


def _answered(message: Message, calls: Mapping[str, ToolCall]) -> dict[str, ToolCall]:
    """Return the calls that a message answers."""
    return {
        part.call_id: calls[part.call_id]
        for part in message.parts
        if isinstance(part, ToolResult) and part.call_id in calls
    }
