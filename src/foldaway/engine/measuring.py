"""New wire messages, decoded and measured once."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from foldaway.compaction import Whole, arrived, as_shown, message_tokens
from foldaway.dialects import dialect_named
from foldaway.engine.shown import MeasuredMessage, ShortResults
from foldaway.facts import LogReading, carried_summary, merged_summaries, recognize, without_summary
from foldaway.transcript import Message, ToolCall, ToolResult

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
