"""Pruning from the end of a log, and cutting further where the newest messages are too large."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from foldaway.compaction.measure import message_tokens
from foldaway.compaction.partition import protected_from
from foldaway.compaction.prune import (
    Newer,
    Prepared,
    depends_on_newer,
    excerpt,
    holds_media,
    is_superseded,
    note_newer,
    prune_message,
    without_seen_media,
)
from foldaway.compaction.references import reference_of
from foldaway.compaction.work import CompactionInput
from foldaway.facts.frame import carried_summary
from foldaway.transcript import Message, Rewritten

_LEAST_SQUEEZED_TOKENS = 200
"""Smaller messages are not cut, larger ones to half of it at least; chosen, about ten lines."""
_MARGIN_TOKENS = 24
"""Cut this much more than needed, for the note of the cut (`MOST_NOTE_CHARS`, 60 characters) and
its reference."""
_SQUEEZES = 4
"""A share of the characters is not the same share of the tokens; each round comes nearer."""


class Pruner:
    """Prunes from the end of the log, each message once; what a compaction already rewrote stays
    so. What is shown otherwise since its arrival counts as what it stands for.
    """

    def __init__(self, work: CompactionInput) -> None:
        self.work = work
        self.references: dict[int, str] = {}
        self.begin(protected_from(work.policy, len(work.log)))
        self._was = {
            item.start: item.message
            for item in work.view.items
            if isinstance(item, Rewritten)
            and item.message.origin != "arrival"
            and carried_summary(item.message) is None
        }

    def begin(self, whole_from: int) -> None:
        """Begin again at the end of the log; messages from `whole_from` on stay as they are."""
        self.pruned: dict[int, Message] = {}
        self._shares: dict[int, float] = {}
        self._costs: dict[int, int] = {}
        self._newer = Newer()
        self._from = whole_from

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

    def is_as_before(self, index: int) -> bool:
        """Return whether a message is shown as an earlier compaction left it."""
        return index in self._was and self.pruned.get(index) is self._was[index]

    def squeeze(self, positions: Sequence[int], excess: int) -> int:
        """Cut the results among `positions` until `excess` tokens are gone, if they can: none is
        cut that is smaller than what the larger ones are cut to. Returns what is still too much.
        """
        excess -= self._without_copies(positions) if excess > 0 else 0
        for _ in range(_SQUEEZES):
            if excess <= 0:
                break
            left = self._squeezed_once(positions, excess)
            if left == excess:
                break
            excess = left
        return excess

    def _without_copies(self, positions: Sequence[int]) -> int:
        """Set a marker for each result that comes again further on; return the tokens that are
        saved. The newest of equal results is the one that stays.
        """
        newer, saved = Newer(), 0
        cut = set(positions) - self.work.options.pinned
        for index in range(len(self.work.log) - 1, min(cut, default=len(self.work.log)) - 1, -1):
            message, prepared = self.work.log[index], self.work.index.prepared(index)
            if index in self.pruned:
                continue
            if index not in cut or not is_superseded(prepared, newer):
                note_newer(message, prepared, newer)
                continue
            cost = self.cost(index)
            made = prune_message(message, prepared, newer, self.work.policy, self._reference)
            tokens = message_tokens(made, self.work.counter)
            if tokens < cost:
                self.pruned[index], self._costs[index] = made, tokens
                saved += cost - tokens
        return saved

    def _squeezed_once(self, positions: Sequence[int], excess: int) -> int:
        work = self.work
        large = [
            index
            for index in positions
            if self.cost(index) >= _LEAST_SQUEEZED_TOKENS and index not in work.options.pinned
        ]
        wanted = _level([self.cost(index) for index in large], excess) - _MARGIN_TOKENS
        wanted = max(wanted, _LEAST_SQUEEZED_TOKENS // 2)
        for index in large:
            cost, original = self.cost(index), work.log[index]
            if cost <= wanted:
                continue
            share = self._share(index) * wanted / cost
            made = excerpt(original, share, self._reference(original))
            self._shares[index] = share
            tokens = message_tokens(made, work.counter)
            if made is not original and tokens < cost:
                self.pruned[index], self._costs[index] = made, tokens
                excess -= cost - tokens
        return excess

    def _share(self, index: int) -> float:
        """Return how much of a message its cost stands for."""
        form = self.work.index.arrived(index)
        first = 1.0 if form is None else form.tokens / form.given_tokens
        return self._shares.get(index, first)

    def _reference(self, message: Message) -> str:
        if not self.work.options.references:
            return ""
        found = self.references.get(message.position)
        if found is None:
            found = self.references[message.position] = reference_of(message)
        return found


def _level(costs: Sequence[int], excess: int) -> int:
    """Return the size to which the largest are cut so that so much goes, 0 if they have less."""
    rows = sorted(costs, reverse=True)
    above = 0
    for count, cost in enumerate(rows, 1):
        above += cost
        following = rows[count] if count < len(rows) else 0
        if above - count * following >= excess:
            return (above - excess) // count
    return 0
