"""Pruning from the end of a log, and cutting further where the newest messages are too large."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.pipeline.frame import carried_summary
from holdfast.pipeline.measure import message_tokens, text_length
from holdfast.pipeline.partition import protected_from
from holdfast.pipeline.prune import (
    Newer,
    Prepared,
    excerpt,
    note_newer,
    nothing_newer,
    prepare,
    prune_message,
)
from holdfast.pipeline.references import reference_of
from holdfast.pipeline.work import Work
from holdfast.transcript import Message, Rewritten, ToolCall, ToolResult

_LEAST_SQUEEZED_TOKENS = 200
_MARGIN_TOKENS = 24
_SQUEEZES = 4
"""A share of the characters is not the same share of the tokens; each round comes nearer."""
_LOOK_BACK = 256
_CLEARLY_LESS = 8
"""A text of so many characters per token is not worth measuring: what replaces it is smaller."""


class Pruner:
    """Prunes from the end of the log, each message once; what a view already rewrote stays so."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.pruned: dict[int, Message] = {}
        self.references: dict[int, str] = {}
        self._shares: dict[int, float] = {}
        self._costs: dict[int, int] = {}
        self._newer: Newer = nothing_newer()
        self._from = protected_from(work.policy, len(work.log))
        self._was = {
            item.start: item.message
            for item in work.view.items
            if isinstance(item, Rewritten) and carried_summary(item.message) is None
        }

    def cost(self, index: int) -> int:
        """Return the tokens of the message at `index` after pruning."""
        found = self._costs.get(index)
        if found is None:
            found = self._costs[index] = self._cost(index)
        return found

    def _cost(self, index: int) -> int:
        work = self.work
        message = work.log[index]

        def ready(result: ToolResult) -> Prepared | None:
            return self._prepared(index, result)

        if index in self._was:
            self.pruned[index] = self._was[index]
            note_newer(message, ready, self._newer)
            return message_tokens(self._was[index], work.counter)
        if index >= self._from or index in work.wish.pinned:
            note_newer(message, ready, self._newer)
            return work.costs[index]
        made = prune_message(message, ready, self._newer, work.policy, self._reference)
        if made is message:
            return work.costs[index]
        tokens = message_tokens(made, work.counter)
        if tokens * _CLEARLY_LESS > text_length(message) and tokens >= work.costs[index]:
            return work.costs[index]
        self.pruned[index] = made
        return tokens

    def _prepared(self, index: int, result: ToolResult) -> Prepared | None:
        """Return what pruning needs of a result, without the secrets that a digest would show."""
        found = self._made_ready(index, result)
        if found is None:
            return None
        line = self.work.redact(found.line)
        return found if line == found.line else replace(found, line=line)

    def _made_ready(self, index: int, result: ToolResult) -> Prepared | None:
        """Return it from its arrival where it was made ready then, otherwise now."""
        log, ready = self.work.log, self.work.prepared
        if ready is not None and len(log[index].parts) == 1:
            return ready[index]
        calls: dict[str, ToolCall] = {}
        for at in range(index - 1, max(index - _LOOK_BACK, -1), -1):
            found = [part for part in log[at].parts if isinstance(part, ToolCall)]
            calls.update((call.id, call) for call in found)
            if result.call_id in calls:
                break
        alone = Message("tool", (result,))
        return prepare(alone, calls, self.work.policy)

    def squeeze(self, start: int, excess: int) -> None:
        """Cut the largest results from `start` on until `excess` tokens are gone, if they can."""
        for _ in range(_SQUEEZES):
            if excess <= 0:
                return
            left = self._squeezed_once(start, excess)
            if left == excess:
                return
            excess = left

    def _squeezed_once(self, start: int, excess: int) -> int:
        work = self.work
        tail = range(start, len(work.log))
        for index in sorted(tail, key=self.cost, reverse=True):
            cost, original = self.cost(index), work.log[index]
            if excess <= 0 or cost < _LEAST_SQUEEZED_TOKENS:
                break
            if index in work.wish.pinned:
                continue
            wanted = max(cost - excess - _MARGIN_TOKENS, _LEAST_SQUEEZED_TOKENS // 2)
            share = self._shares.get(index, 1.0) * wanted / cost
            made = excerpt(original, share, self._reference(original))
            self._shares[index] = share
            tokens = message_tokens(made, work.counter)
            if made is not original and tokens < cost:
                self.pruned[index], self._costs[index] = made, tokens
                excess -= cost - tokens
        return excess

    def _reference(self, message: Message) -> str:
        if not self.work.wish.references:
            return ""
        found = self.references.get(message.position)
        if found is None:
            found = self.references[message.position] = reference_of(message)
        return found
