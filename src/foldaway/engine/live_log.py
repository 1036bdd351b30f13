"""A log that grows: every message decoded and measured once, when it arrives."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from foldaway._core import Reference, TokenCounter
from foldaway.compaction import (
    Anchors,
    Costs,
    GrownView,
    LogIndex,
    LogReading,
    ResultPolicy,
    ShortResult,
    Whole,
    arrived,
    as_shown,
    category,
    is_on_arrival,
    message_tokens,
    reference_of,
    shown_from,
)
from foldaway.dialects import dialect_named
from foldaway.facts import merged_summaries, recognize, summary_of, without_summary
from foldaway.transcript import (
    Folded,
    Groups,
    Item,
    Message,
    Rewritten,
    ToolCall,
    ToolResult,
    View,
    grow,
    render,
)
from foldaway.transcript import whole_view as whole_view


class ShortResults:
    """How the messages of one log are shown from their arrival on."""

    def __init__(self, arriving: ResultPolicy, counter: TokenCounter) -> None:
        self.arriving = arriving
        self.whole: Whole = {}
        """The results that are shown whole now."""
        self._counter = counter
        self._forms: dict[int, ShortResult] = {}
        self._exempt: set[int] = set()
        self._rows: list[Reference] = []
        self._refs: set[str] = set()

    def take(self, at: int, form: ShortResult | None, *, arrives: bool = True) -> None:
        """Keep the form of a message; one that does not arrive was sent already, as it is."""
        if form is not None:
            self._forms[at] = form
        if not arrives:
            self._exempt.add(at)

    def at(self, position: int) -> ShortResult | None:
        """Return how a message is shown for itself, None if it stays as it came."""
        return self._forms.get(position)

    def arrives(self, position: int) -> bool:
        """Return whether a message may be shown otherwise than it came."""
        arriving = self.arriving
        return (
            arriving.level != "off" and position >= arriving.start and position not in self._exempt
        )

    def grow(
        self, view: View, log: Sequence[Message], tokens: Sequence[int],
        given: Mapping[int, Message],
    ) -> GrownView:  # fmt: skip
        """Return a view grown to the whole log."""
        if self.arriving.level == "off":
            later = {at: given[at] for at in sorted(given) if at >= view.length}
            items = [Rewritten(at, message) for at, message in later.items()]
            sizes = {at: message_tokens(message, self._counter) for at, message in later.items()}
            return GrownView(grow(view, len(log), items), {}, sizes)
        return shown_from(
            view, log, self.at, tokens.__getitem__, self.arrives, self._counter, given
        )

    # References

    def keep_references(self, items: Iterable[Item]) -> None:
        """Keep the references of what is shown otherwise: they resolve from now on."""
        for item in items:
            if not isinstance(item, Rewritten) or not is_on_arrival(item):
                continue
            if item.reference not in self._refs:
                row = Reference(item.reference, (item.start, item.stop), "arrival")
                self._rows.append(row)
                self._refs.add(item.reference)

    def references(self, known: Iterable[Reference] = ()) -> tuple[Reference, ...]:
        """Return the references that were given out, without those that are known, in the order
        of the log: who resumes gives them out in another one.
        """
        refs = {row.ref for row in known}
        new = (row for row in self._rows if row.ref not in refs)
        return tuple(sorted(new, key=lambda row: row.positions))

    def references_from(self, start: int) -> Sequence[Reference]:
        """Return the references that were given out after the first `start` of them."""
        return self._rows[start:]


_NO_CALLS: Mapping[str, ToolCall] = {}


class MeasuredMessage(Struct, frozen=True):
    """One message, measured."""

    message: Message
    """As the log keeps it: without a summary that was merged into it."""
    shown: Message
    """As the model sees it: with that summary, or as results are shown on arrival."""
    tokens: int
    shown_tokens: int
    answered: Mapping[str, ToolCall]
    """The calls that it answers."""
    carried: str | None
    """The summary that it is or carries."""
    form: ShortResult | None
    """How it is shown for itself, whatever stands before it."""


class Standing(Struct, frozen=True):
    """What the model sees at one point: the view and its tokens by category."""

    view: View
    shown: dict[str, int]


class GrowingLog(LogIndex):
    """Messages with their tokens, the view on them, and its running total.

    It is the index that a compaction asks: facts are read then, each message once. Appending
    costs the same however long the log is.
    """

    def __init__(
        self, dialect: str, readings: LogReading, arriving: ResultPolicy | None = None
    ) -> None:
        """Start empty."""
        self.dialect = dialect
        self.messages: list[Message] = []
        self._answers: dict[int, Mapping[str, ToolCall]] = {}
        super().__init__(self.messages, readings, lambda at: self._answers.get(at, _NO_CALLS))
        self.tokens: list[int] = []
        """What each message costs where it is kept, in the form that it has for itself."""
        self.arrivals = ShortResults(arriving or ResultPolicy(), readings.counter)
        self.costs = Costs(self.messages, readings.counter, self.tokens)
        self.groups = Groups()
        self.anchors = Anchors()
        self.turns = 0
        """How often the model answered."""
        self.carried: list[str] = []
        """Summaries that earlier compactions left in what was appended."""
        self._shown: dict[str, int] = {}
        self._view: View = whole_view(0)
        self.given: dict[int, Message] = {}
        """Messages that came with a summary merged into them, as they came, by position."""
        self._otherwise: dict[int, Rewritten] = {}
        """What was appended since the view was made and is not shown as the log has it."""
        self._calls: dict[str, ToolCall] = {}

    def append(self, items: Sequence[Any], *, arrives: bool = True) -> list[Any]:
        """Take new wire messages and return what the model sees of them: all of them, or none
        if one cannot be measured.

        What does not arrive now was sent before, and is shown as it is.
        """
        whole = ChainMap({}, self.arrivals.whole)
        found = list(self._measure(items, lambda _: whole if arrives else None, live=arrives))
        encode = dialect_named(self.dialect).encode
        seen = [
            encode(arrival.shown) if arrival.shown.origin == "arrival" else item
            for item, arrival in zip(items, found, strict=True)
        ]
        self.arrivals.whole.update(whole.maps[0])
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
        for arrival in self._measure(items, lambda at: None if at in folded else {}, tokens):
            self._take(arrival)
        self._show_again(view or whole_view(0))

    def _measure(
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
        counter, arrivals = self._readings.counter, self.arrivals
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
        carried = merged if is_merged else summary_of(given)
        return MeasuredMessage(message, shown, tokens, shown_tokens, answered, carried, form)

    def _take(self, arrival: MeasuredMessage, *, arrives: bool = True) -> None:
        message, shown, at = arrival.message, arrival.shown, len(self.messages)
        self.messages.append(message)
        self.turns += self.is_answer_start(at)
        self.tokens.append(arrival.tokens)
        self.groups.take(message)
        self.anchors.take(message, at)
        if arrival.answered:
            self._answers[at] = arrival.answered
        self.arrivals.take(at, arrival.form, arrives=arrives)
        if arrival.carried is not None:
            self.carried.append(arrival.carried)
        if shown is not message:
            is_merged = shown.origin != "arrival"
            if is_merged:
                self.given[at] = shown
            reference = "" if is_merged else reference_of(message)
            self._otherwise[at] = Rewritten(at, shown, reference)
            self.arrivals.keep_references([self._otherwise[at]])
        self._show(shown, arrival.shown_tokens)

    def _show(self, message: Message, tokens: int) -> None:
        name = category(message)
        self._shown[name] = self._shown.get(name, 0) + tokens

    def _recognize(
        self, items: Sequence[Any], *, live: bool = False
    ) -> Iterator[tuple[Message, str | None]]:
        """Yield the new messages, each with the summary that was merged into it."""
        head = self._readings.policy.protect_first
        found = recognize(self._decode(items), self.messages, head=head, live=live)
        merged = merged_summaries(found, self.messages, head=head, live=live)
        return ((message, merged.get(at)) for at, message in enumerate(found))

    def _decode(self, items: Sequence[Any]) -> Sequence[Message]:
        """Return the new messages, read after the step that they belong to if a dialect pairs
        calls and results by their order.
        """
        dialect, start = dialect_named(self.dialect), len(self.messages)
        if not dialect.pairs_by_order:
            return dialect.decode(items, start)
        first = start
        while first > 0 and self.messages[first - 1].role != "user":
            first -= 1
            if self.messages[first].role == "assistant":
                break
        step = [message.wire for message in self.messages[first:start]]
        return dialect.decode([*step, *items], first)[len(step) :]

    # What a compaction asks

    def count_shown(self) -> dict[str, int]:
        """Return the tokens of what the model sees now, by category."""
        return dict(self._shown)

    def find_form(self, at: int) -> ShortResult | None:
        """Return how one message is shown for itself, None if it stays as it came."""
        return self.arrivals.at(at)

    def arrives(self, at: int) -> bool:
        """Return whether one message may be shown otherwise than it came."""
        return self.arrivals.arrives(at)

    # What the engine asks

    def is_answer_start(self, at: int) -> bool:
        """Return whether a message is the first of an answer, which may have several items."""
        goes_on = at > 0 and self.messages[at - 1].role == "assistant"
        return self.messages[at].role == "assistant" and not goes_on

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

    def copy_standing(self) -> Standing:
        """Return what the model sees, to come back to."""
        return Standing(self.view, self.count_shown())

    def grow(self, view: View) -> GrownView:
        """Return a view grown to the whole log; nothing changes yet."""
        return self.arrivals.grow(view, self.messages, self.tokens, self.given)

    def take_view(
        self, made: GrownView, shown: Mapping[str, int], newer: Iterable[int] = ()
    ) -> None:
        """Take a view with its tokens by category, to which those of `newer` positions come."""
        self._view = made.view
        self._otherwise = {}
        self.arrivals.whole = made.whole
        self.arrivals.keep_references(made.view.items)
        self._shown = dict(shown)
        for at in newer:
            self._show(self.messages[at], made.tokens.get(at, self.tokens[at]))

    def _show_again(self, view: View) -> None:
        """Show a view that was kept; what was appended since it was made stands after it."""
        made = self.grow(view)
        self.take_view(made, {})
        for message in self.render():
            at = message.position
            kept = 0 <= at < len(self.messages) and self.messages[at] is message
            counter = self._readings.counter
            self._show(message, self.tokens[at] if kept else message_tokens(message, counter))

    def render(self) -> tuple[Message, ...]:
        """Return the messages that the model sees."""
        return tuple(render(self.view, self.messages))


def _find_folded(view: View | None) -> frozenset[int]:
    """Return the positions that a view does not show."""
    items = () if view is None else view.items
    folds = [item for item in items if isinstance(item, Folded)]
    return frozenset(at for item in folds for at in range(item.start, item.stop))


def _find_answered(message: Message, calls: Mapping[str, ToolCall]) -> dict[str, ToolCall]:
    """Return the calls that a message answers."""
    return {
        part.call_id: calls[part.call_id]
        for part in message.parts
        if isinstance(part, ToolResult) and part.call_id in calls
    }
