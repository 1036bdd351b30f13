"""What the model sees of a log: the view, how results are shown on arrival, and the tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from foldaway._core import Reference, TokenCounter
from foldaway.compaction import (
    GrownView,
    ResultPolicy,
    ShortResult,
    Whole,
    category,
    is_on_arrival,
    message_tokens,
    reference_of,
    shown_from,
)
from foldaway.transcript import Item, Message, Rewritten, ToolCall, View, grow, render, whole_view


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
        self,
        view: View,
        log: Sequence[Message],
        tokens: Sequence[int],
        given: Mapping[int, Message],
    ) -> GrownView:
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


class ShownView:
    """The view on a log that grows, and its running total."""

    def __init__(
        self, log: Sequence[Message], tokens: Sequence[int], arrivals: ShortResults
    ) -> None:
        """Start with nothing shown of a log and of its tokens, which grow first."""
        self.arrivals = arrivals
        self.given: dict[int, Message] = {}
        """Messages that came with a summary merged into them, as they came, by position."""
        self._log, self._tokens = log, tokens
        self._view: View = whole_view(0)
        self._by_category: dict[str, int] = {}
        self._otherwise: dict[int, Rewritten] = {}
        """What was appended since the view was made and is not shown as the log has it."""

    def append(self, arrival: MeasuredMessage, at: int, *, arrives: bool) -> None:
        """Show a message that the log has taken."""
        message, shown = arrival.message, arrival.shown
        self.arrivals.take(at, arrival.form, arrives=arrives)
        if shown is not message:
            is_merged = shown.origin != "arrival"
            if is_merged:
                self.given[at] = shown
            reference = "" if is_merged else reference_of(message)
            self._otherwise[at] = Rewritten(at, shown, reference)
            self.arrivals.keep_references([self._otherwise[at]])
        self._count(shown, arrival.shown_tokens)

    def _count(self, message: Message, tokens: int) -> None:
        name = category(message)
        self._by_category[name] = self._by_category.get(name, 0) + tokens

    @property
    def view(self) -> View:
        """The view on the whole log: what was appended since the last one is kept, or shown as it
        was on arrival.
        """
        if len(self._log) > self._view.length:
            self._view = grow(self._view, len(self._log), list(self._otherwise.values()))
            self._otherwise = {}
        return self._view

    @property
    def tokens(self) -> int:
        """The tokens of what the model sees."""
        return sum(self._by_category.values())

    def count(self) -> dict[str, int]:
        """Return the tokens of what the model sees now, by category."""
        return dict(self._by_category)

    def render(self) -> tuple[Message, ...]:
        """Return the messages that the model sees."""
        return tuple(render(self.view, self._log))

    def is_whole(self, item: Rewritten) -> bool:
        """Return whether all of a message is shown, though not as it came; a marker's is above."""
        form = self.arrivals.at(item.start)
        return is_on_arrival(item) and (form is None or form.is_whole)

    def copy(self) -> Standing:
        """Return what the model sees, to come back to."""
        return Standing(self.view, self.count())

    def grow(self, view: View) -> GrownView:
        """Return a view grown to the whole log; nothing changes yet."""
        return self.arrivals.grow(view, self._log, self._tokens, self.given)

    def take(self, made: GrownView, shown: Mapping[str, int], newer: Iterable[int] = ()) -> None:
        """Take a view with its tokens by category, to which those of `newer` positions come."""
        self._view = made.view
        self._otherwise = {}
        self.arrivals.whole = made.whole
        self.arrivals.keep_references(made.view.items)
        self._by_category = dict(shown)
        for at in newer:
            self._count(self._log[at], made.tokens.get(at, self._tokens[at]))

    def take_kept(self, view: View, counter: TokenCounter) -> None:
        """Take a view that was kept; what was appended since it was made stands after it."""
        self.take(self.grow(view), {})
        for message in self.render():
            at = message.position
            is_kept = 0 <= at < len(self._log) and self._log[at] is message
            self._count(message, self._tokens[at] if is_kept else message_tokens(message, counter))
