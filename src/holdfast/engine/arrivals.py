"""What a log knows of its results on arrival: their forms, what is shown whole, references."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from holdfast.compaction.arrival import (
    Arrived,
    Arriving,
    Copy,
    Shown,
    Whole,
    arrived,
    as_shown,
    is_on_arrival,
    shown_from,
)
from holdfast.compaction.measure import message_tokens
from holdfast.ports import TokenCounter
from holdfast.report import Reference
from holdfast.transcript import Item, Message, Rewritten, ToolCall, View, grow


class Arrivals:
    """How the messages of one log are shown from their arrival on."""

    def __init__(self, arriving: Arriving, counter: TokenCounter) -> None:
        self.arriving = arriving
        self.whole: Whole = {}
        """The results that are shown whole now."""
        self._counter = counter
        self._forms: dict[int, Arrived] = {}
        self._exempt: set[int] = set()
        self._rows: list[Reference] = []
        self._refs: set[str] = set()

    def form(self, message: Message, calls: Mapping[str, ToolCall], tokens: int) -> Arrived | None:
        """Return how a message is shown for itself; nothing is kept."""
        if message.position < self.arriving.start:
            return None
        return arrived(message, calls, tokens, self.arriving, self._counter)

    def beside(self) -> ChainMap[Copy, str]:
        """Return what is shown whole, to go on from without changing it."""
        return ChainMap({}, self.whole)

    def note(self, beside: ChainMap[Copy, str]) -> None:
        """Take in what is shown whole since."""
        self.whole.update(beside.maps[0])

    def shown(
        self, message: Message, form: Arrived | None, tokens: int, whole: Whole
    ) -> tuple[Message, int]:
        """Return a new message as it is shown after what is `whole`, and its tokens."""
        if self.arriving.level == "off" or message.position < self.arriving.start:
            return message, tokens
        return as_shown(message, form, tokens, whole, self._counter)

    def take(self, at: int, form: Arrived | None, *, arrives: bool = True) -> None:
        """Keep the form of a message; one that does not arrive was sent already, as it is."""
        if form is not None:
            self._forms[at] = form
        if not arrives:
            self._exempt.add(at)

    def at(self, position: int) -> Arrived | None:
        """Return how a message is shown for itself, None where that is as it came."""
        return self._forms.get(position)

    def arrives(self, position: int) -> bool:
        """Return whether a message may be shown otherwise than it came."""
        arriving = self.arriving
        return (
            arriving.level != "off" and position >= arriving.start and position not in self._exempt
        )

    def grown(
        self, view: View, log: Sequence[Message], tokens: Sequence[int],
        given: Mapping[int, Message],
    ) -> Shown:  # fmt: skip
        """Return a view grown to the whole log."""
        if self.arriving.level == "off":
            later = {at: given[at] for at in sorted(given) if at >= view.length}
            items = [Rewritten(at, message) for at, message in later.items()]
            sizes = {at: message_tokens(message, self._counter) for at, message in later.items()}
            return Shown(grow(view, len(log), items), {}, sizes)
        return shown_from(
            view, log, self.at, tokens.__getitem__, self.arrives, self._counter, given
        )

    # References

    def gave_out(self, items: Iterable[Item]) -> None:
        """Keep the references of what is shown otherwise: they resolve from now on."""
        for item in items:
            if not isinstance(item, Rewritten) or not is_on_arrival(item):
                continue
            if item.reference not in self._refs:
                row = Reference(item.reference, (item.start, item.stop), "arrival")
                self._rows.append(row)
                self._refs.add(item.reference)

    def references(self, known: Iterable[Reference] = ()) -> tuple[Reference, ...]:
        """Return the references that were given out, without those that are known."""
        refs = {row.ref for row in known}
        return tuple(row for row in self._rows if row.ref not in refs)

    def references_from(self, start: int) -> Sequence[Reference]:
        """Return the references that were given out after the first `start` of them."""
        return self._rows[start:]
