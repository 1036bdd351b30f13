"""A log that grows: every message decoded and measured once, when it arrives."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from foldaway.compaction import (
    Anchors,
    Costs,
    LogIndex,
    ResultPolicy,
    ShortResult,
    Whole,
    arrived,
    as_shown,
    message_tokens,
)
from foldaway.dialects import dialect_named
from foldaway.engine.shown import MeasuredMessage, ShortResults, ShownView
from foldaway.facts import LogReading, carried_summary, merged_summaries, recognize, without_summary
from foldaway.transcript import Folded, Groups, Message, ToolCall, ToolResult, View, whole_view


class GrowingLog(LogIndex):
    """Messages with their tokens, and what the model sees of them.

    It is the index that a compaction asks: facts are read then, each message once. Appending
    costs the same however long the log is.
    """

    def __init__(
        self, dialect: str, readings: LogReading, arriving: ResultPolicy | None = None
    ) -> None:
        """Start empty."""
        self.messages: list[Message] = []
        super().__init__(self.messages, readings, lambda at: self.reader.answered(at))
        self.tokens: list[int] = []
        """What each message costs where it is kept, in the form that it has for itself."""
        self.costs = Costs(self.messages, readings.counter, self.tokens)
        self.groups = Groups()
        self.anchors = Anchors()
        arrivals = ShortResults(arriving or ResultPolicy(), readings.counter)
        self.shown = ShownView(self.messages, self.tokens, arrivals)
        """What the model sees."""
        self.reader = MessageReader(dialect, self.messages, readings, arrivals)
        self.turns = 0
        """How often the model answered."""

    def append(self, items: Sequence[Any], *, arrives: bool = True) -> list[Any]:
        """Take new wire messages and return what the model sees of them: all of them, or none
        if one cannot be measured.

        What does not arrive now was sent before, and is shown as it is.
        """
        arrivals = self.shown.arrivals
        whole = ChainMap({}, arrivals.whole)
        found = list(self.reader.measure(items, lambda _: whole if arrives else None, live=arrives))
        encode = dialect_named(self.dialect).encode
        seen = [
            encode(arrival.shown) if arrival.shown.origin == "arrival" else item
            for item, arrival in zip(items, found, strict=True)
        ]
        arrivals.whole.update(whole.maps[0])
        for arrival in found:
            self._take(arrival, arrives=arrives)
        return seen

    def load(
        self, items: Sequence[Any], view: View | None, tokens: Sequence[int] | None = None
    ) -> None:
        """Take a log that was kept, and the view on it; `tokens` is what each message costs as it
        came, if that is known.
        """
        folded = _find_folded(view)
        for arrival in self.reader.measure(items, lambda at: None if at in folded else {}, tokens):
            self._take(arrival)
        self.shown.take_kept(view or whole_view(0), self._readings.counter)

    def _take(self, arrival: MeasuredMessage, *, arrives: bool = True) -> None:
        message, at = arrival.message, len(self.messages)
        self.messages.append(message)
        self.turns += self.is_answer_start(at)
        self.tokens.append(arrival.tokens)
        self.groups.take(message)
        self.anchors.take(message, at)
        self.reader.keep(arrival, at)
        self.shown.append(arrival, at, arrives=arrives)

    # What a compaction asks

    def count_shown(self) -> dict[str, int]:
        """Return the tokens of what the model sees now, by category."""
        return self.shown.count()

    def find_form(self, at: int) -> ShortResult | None:
        """Return how one message is shown for itself, None if it stays as it came."""
        return self.shown.arrivals.at(at)

    def arrives(self, at: int) -> bool:
        """Return whether one message may be shown otherwise than it came."""
        return self.shown.arrivals.arrives(at)

    # What the engine asks

    @property
    def dialect(self) -> str:
        """The dialect of the messages."""
        return self.reader.dialect

    @property
    def view(self) -> View:
        """The view on the whole log."""
        return self.shown.view

    def is_answer_start(self, at: int) -> bool:
        """Return whether a message is the first of an answer, which may have several items."""
        goes_on = at > 0 and self.messages[at - 1].role == "assistant"
        return self.messages[at].role == "assistant" and not goes_on

    def given_tokens(self, at: int) -> int:
        """Return what a message costs as it came."""
        form = self.find_form(at)
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


def _find_folded(view: View | None) -> frozenset[int]:
    """Return the positions that a view does not show."""
    items = () if view is None else view.items
    folds = [item for item in items if isinstance(item, Folded)]
    return frozenset(at for item in folds for at in range(item.start, item.stop))


_NO_CALLS: Mapping[str, ToolCall] = {}


class MessageReader:
    """Reads what arrives after a log, in one dialect."""

    def __init__(
        self, dialect: str, log: Sequence[Message], readings: LogReading, arrivals: ShortResults
    ) -> None:
        """Read for a log, which grows by what is read, and for how its results are shown."""
        self.dialect = dialect
        self._log, self._readings, self._arrivals = log, readings, arrivals
        self.carried: list[str] = []
        """Summaries that earlier compactions left in what was kept."""
        self._calls: dict[str, ToolCall] = {}
        self._answered: dict[int, Mapping[str, ToolCall]] = {}

    def keep(self, arrival: MeasuredMessage, at: int) -> None:
        """Keep what a message that the log has taken says about others."""
        if arrival.answered:
            self._answered[at] = arrival.answered
        if arrival.carried is not None:
            self.carried.append(arrival.carried)

    def answered(self, at: int) -> Mapping[str, ToolCall]:
        """Return the calls that the message at a position answers."""
        return self._answered.get(at, _NO_CALLS)

    def measure(
        self,
        items: Sequence[Any],
        whole: Callable[[int], Whole | None],
        tokens: Sequence[int] | None = None,
        *,
        live: bool = False,
    ) -> Iterator[MeasuredMessage]:
        """Yield new wire messages, measured; `whole` gives what is shown whole before each."""
        calls: dict[str, ToolCall] = {}
        known = ChainMap(calls, self._calls)
        for at, (message, merged) in enumerate(self._recognize(items, live=live)):
            calls |= {part.id: part for part in message.parts if type(part) is ToolCall}
            cost = None if tokens is None else tokens[at]
            yield self._arrival(message, merged, known, whole(at), cost)
        self._calls |= calls

    def _arrival(
        self,
        given: Message,
        merged: str | None,
        calls: Mapping[str, ToolCall],
        whole: Whole | None,
        cost: int | None = None,
    ) -> MeasuredMessage:
        """Return a message with its tokens and how it is shown.

        `merged` is a summary that was merged into it; `whole` is what is shown whole before it,
        None for what is shown as it is; `cost` is what it costs as it came, if that is known.
        """
        counter, arrivals = self._readings.counter, self._arrivals
        is_merged = merged is not None
        message = without_summary(given) if is_merged else given
        tokens = message_tokens(message, counter) if cost is None else cost
        form, shown, shown_tokens = None, given, tokens
        if is_merged:
            shown_tokens = message_tokens(given, counter)
        elif whole is not None and arrivals.arrives(message.position):
            form = arrived(message, calls, tokens, arrivals.arriving, counter)
            tokens = tokens if form is None else form.tokens
            shown, shown_tokens = as_shown(message, form, tokens, whole, counter)
        answered = _find_answered(message, calls)
        carried = carried_summary(given) if given.origin == "summary" else merged
        return MeasuredMessage(message, shown, tokens, shown_tokens, answered, carried, form)

    def _recognize(
        self, items: Sequence[Any], *, live: bool = False
    ) -> Iterator[tuple[Message, str | None]]:
        """Yield the new messages, each with the summary that was merged into it."""
        head = self._readings.policy.protect_first
        found = recognize(self._decode(items), self._log, head=head, live=live)
        merged = merged_summaries(found, self._log, head=head, live=live)
        return ((message, merged.get(at)) for at, message in enumerate(found))

    def _decode(self, items: Sequence[Any]) -> Sequence[Message]:
        """Return the new messages, read after the step that they belong to if a dialect pairs
        calls and results by their order.
        """
        dialect, start = dialect_named(self.dialect), len(self._log)
        if not dialect.pairs_by_order:
            return dialect.decode(items, start)
        first = start
        while first > 0 and self._log[first - 1].role != "user":
            first -= 1
            if self._log[first].role == "assistant":
                break
        step = [message.wire for message in self._log[first:start]]
        return dialect.decode([*step, *items], first)[len(step) :]


def _find_answered(message: Message, calls: Mapping[str, ToolCall]) -> dict[str, ToolCall]:
    """Return the calls that a message answers."""
    return {
        part.call_id: calls[part.call_id]
        for part in message.parts
        if isinstance(part, ToolResult) and part.call_id in calls
    }
