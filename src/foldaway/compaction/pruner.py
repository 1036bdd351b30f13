"""Pruning from the end of a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from foldaway.compaction.measure import message_tokens
from foldaway.compaction.partition import protected_from
from foldaway.compaction.prune import (
    Newer,
    Prepared,
    depends_on_newer,
    holds_media,
    note_newer,
    prune_message,
    without_seen_media,
)
from foldaway.compaction.references import reference_of
from foldaway.compaction.work import CompactionInput
from foldaway.facts.frame import carried_summary
from foldaway.transcript import Message, Rewritten


class Pruner:
    """Prunes from the end of the log, each message once; what a compaction already rewrote stays
    so. What is shown otherwise since its arrival counts as what it stands for.
    """

    def __init__(self, work: CompactionInput) -> None:
        self.work = work
        self.references: dict[int, str] = {}
        self.pruned: dict[int, Message] = {}
        self._costs: dict[int, int] = {}
        self._newer = Newer()
        self._from = protected_from(work.policy, len(work.log))
        self._was = {
            item.start: item.message
            for item in work.view.items
            if isinstance(item, Rewritten)
            and item.message.origin != "arrival"
            and carried_summary(item.message) is None
        }

    def cost(self, index: int) -> int:
        """Return the tokens of the message at `index` after pruning."""
        found = self._costs.get(index)
        if found is None:
            found = self._costs[index] = self._cost(index)
        return found

    def _cost(self, index: int) -> int:
        work, at_hand = self.work, self.work.index
        message, prepared = work.log[index], at_hand.prepared(index)
        if index in self._was:
            self.pruned[index] = self._was[index]
            note_newer(message, prepared, self._newer)
            return message_tokens(self._was[index], work.counter)
        if index in work.options.pinned:
            note_newer(message, prepared, self._newer)
            return work.costs[index]
        if index >= self._from:
            return self._newest(index, prepared)
        if depends_on_newer(message, prepared, self._newer):
            return self._pruned_now(index, prepared)
        short = at_hand.shortened(index)
        if short is None:
            return work.costs[index]
        self.pruned[index] = short.message
        self.references[index] = short.reference
        return short.tokens

    def _newest(self, index: int, prepared: Mapping[str, Prepared]) -> int:
        """Take one of the newest messages, which stay as they are but for media that newer ones
        have made old; return its tokens.
        """
        work, message, newer = self.work, self.work.log[index], self._newer
        tokens = work.costs[index]
        if (newer.media or newer.result_media) and holds_media(message.parts):
            made = without_seen_media(message, newer, self._reference(message))
            if made is not message:
                self.pruned[index] = made
                tokens = message_tokens(made, work.counter)
        note_newer(message, prepared, newer)
        return tokens

    def _pruned_now(self, index: int, prepared: Mapping[str, Prepared]) -> int:
        """Prune a message in the light of what stands further on; return its tokens."""
        work, message = self.work, self.work.log[index]
        made = prune_message(message, prepared, self._newer, work.policy, self._reference)
        tokens = work.costs[index]
        if made is not message and (after := message_tokens(made, work.counter)) < tokens:
            self.pruned[index] = made
            return after
        return tokens

    def standing(self, index: int) -> int:
        """Return the tokens of a message as it is, or as an earlier compaction left it."""
        was = self._was.get(index)
        return self.work.costs[index] if was is None else message_tokens(was, self.work.counter)

    def stand(self, positions: Iterable[int]) -> int:
        """Have messages stay so, whatever their age; return their tokens."""
        tokens = 0
        for index in positions:
            self.pruned.pop(index, None)
            if index in self._was:
                self.pruned[index] = self._was[index]
            self._costs[index] = self.standing(index)
            tokens += self._costs[index]
        return tokens

    def _reference(self, message: Message) -> str:
        if not self.work.options.references:
            return ""
        found = self.references.get(message.position)
        if found is None:
            found = self.references[message.position] = reference_of(message)
        return found
