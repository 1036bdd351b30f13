"""A log that grows: every message decoded, measured and read for facts once, when it arrives."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from typing import Any

from holdfast.dialects.registry import dialect_named
from holdfast.pipeline.frame import carried_summary, recognise, without_summary
from holdfast.pipeline.ledger import Fact, facts_of
from holdfast.pipeline.measure import Costs, message_tokens
from holdfast.pipeline.prune import Prepared, prepare
from holdfast.policy import Policy
from holdfast.ports import TokenCounter
from holdfast.transcript import Message, ToolCall, View, extend, is_ask, render, rewrite, whole


class LiveLog:
    """Messages with their tokens and facts, the view on them, and the running total.

    Appending costs the same however long the log is.
    """

    def __init__(self, dialect: str, counter: TokenCounter, policy: Policy) -> None:
        """Start empty."""
        self.dialect = dialect
        self.messages: list[Message] = []
        self.tokens: list[int] = []
        self.costs = Costs(self.messages, counter, self.tokens)
        self.facts: list[tuple[Fact, ...]] = []
        self.prepared: list[Prepared | None] = []
        self.view_tokens = 0
        self.latest_ask = -1
        self.carried: list[str] = []
        """Summaries that earlier compactions left in what was appended."""
        self._view: View = whole(0)
        self._given: dict[int, Message] = {}
        """Messages that came with a summary merged into them, as they came, by position."""
        self._counter = counter
        self._policy = policy
        self._calls: dict[str, ToolCall] = {}

    def append(self, items: Sequence[Any]) -> None:
        """Take new wire messages: all of them, or none where one cannot be measured."""
        calls: dict[str, ToolCall] = {}
        known = ChainMap(calls, self._calls)
        carried: list[str] = []
        taken: list[tuple[Message, int, tuple[Fact, ...], Prepared | None]] = []
        shown: dict[int, tuple[Message, int]] = {}
        for message in recognise(self._decoded(items)):
            body = carried_summary(message)
            if body is not None:
                carried.append(body)
                if message.origin != "summary":
                    shown[message.position] = (message, message_tokens(message, self._counter))
                    message = without_summary(message)
            for part in message.parts:
                if isinstance(part, ToolCall):
                    calls[part.id] = part
            tokens = message_tokens(message, self._counter)
            facts = facts_of(message, known)
            taken.append((message, tokens, facts, prepare(message, known, self._policy)))
        self._calls.update(calls)
        self.carried.extend(carried)
        for message, tokens, facts, prepared in taken:
            if is_ask(message):
                self.latest_ask = len(self.messages)
            self.messages.append(message)
            self.tokens.append(tokens)
            self.facts.append(facts)
            self.prepared.append(prepared)
            self.view_tokens += shown[message.position][1] if message.position in shown else tokens
        self._given.update((at, given) for at, (given, _) in shown.items())

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

    def floor_tokens(self, min_tail: int) -> int:
        """Return about what no compaction can remove: system prompt, latest ask, newest messages.

        Looks at a few messages only, however long the log is.
        """
        length = len(self.tokens)
        tail = max(length - min_tail, 0)
        stop = 0
        while stop < tail and self.messages[stop].role in ("system", "developer"):
            stop += 1
        ask = self.tokens[self.latest_ask] if stop <= self.latest_ask < tail else 0
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

    def replace_view(self, view: View, tokens: int) -> None:
        """Take the view that a compaction made, with its tokens."""
        self._view = view
        self.view_tokens = tokens

    def render(self) -> tuple[Message, ...]:
        """Return the messages that the model sees."""
        return tuple(render(self.view, self.messages))
