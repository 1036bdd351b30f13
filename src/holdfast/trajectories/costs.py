"""What the turns of a record cost, each counted when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.ports import TokenCounter
from holdfast.tokens import MESSAGE_OVERHEAD_TOKENS
from holdfast.trajectories.measure import outside_tokens, turn_chars, turn_text, turn_tokens
from holdfast.transcript import Transcript

_MUCH_LONGER = 9
"""A text of so many characters for each token that it may cost is surely too long."""
_READ_CHARS = 6
"""So many characters for each of these tokens are counted to show it: more than would
do in most texts."""
_SURELY, _SURELY_TOKENS = 1.02, 16
"""By so much the tokens of a part must be more: at its end a text may be parted otherwise."""
_HEAD_TURNS = 4
"""The first system, human, gpt and tool turn mostly stand at the front."""


class TurnCosts:
    """The tokens of a record by turn, and of what stands beside them; no turn is counted twice.

    Counting takes the time of a compression. What stays has to be counted, what is folded has not.
    """

    __slots__ = ("_counter", "_known", "_order", "_partly", "_transcript", "counted", "outside")

    def __init__(self, transcript: Transcript, counter: TokenCounter) -> None:
        self.outside = outside_tokens(transcript, counter)
        """The tokens of system text and tools beside the turns."""
        self.counted = self.outside
        """The tokens of all that was counted so far: the record costs at least this."""
        self._transcript = transcript
        self._counter = counter
        self._known: dict[int, int] = {}
        self._partly: dict[int, int] = {}
        """Of turns that are too long to stay, what a part of them costs."""
        self._order = _order(len(transcript.messages))

    def __len__(self) -> int:
        return len(self._transcript.messages)

    def __getitem__(self, at: int) -> int:
        """Return the tokens of one turn."""
        found = self._known.get(at)
        if found is None:
            given = self._transcript
            found = turn_tokens(given.messages[at], given.dialect, self._counter)
            self._known[at] = found
            self.counted += found - self._partly.pop(at, 0)
        return found

    def are_over(self, at: int, tokens: int) -> bool:
        """Return whether a turn costs more than `tokens`; of a very long one a part is counted."""
        if at not in self._known and self._partly.get(at, 0) <= tokens:
            self._count_part(at, tokens)
        return self._partly.get(at, 0) > tokens or self[at] > tokens

    def _count_part(self, at: int, tokens: int) -> None:
        """Count the start of a turn, up to the end of a word, if that surely shows enough."""
        given = self._transcript
        wanted = int(max(tokens, 0) * _SURELY) + _SURELY_TOKENS
        text = turn_text(given.messages[at], given.dialect)
        # an estimate is quick, and takes a sample of a long text: a part says nothing of the whole
        if self._counter.is_estimate or text is None or len(text) < _MUCH_LONGER * wanted:
            return
        most = _READ_CHARS * wanted
        stop = text.rfind(" ", 0, most)
        found = self._counter.count(text[: stop if stop > 0 else most])
        least = int((found - _SURELY_TOKENS) / _SURELY)
        if least > tokens:
            self.counted += least - self._partly.get(at, 0)
            self._partly[at] = least

    def exceed(self, tokens: int) -> bool:
        """Return whether the record costs more than `tokens`; counts no more than decides it.

        The front is counted first, then turns from the end: these are the ones that stay.
        """
        while self.counted <= tokens:
            at = next(self._order, None)
            if at is None:
                return self.count_all() > tokens
            self.are_over(at, tokens - self.counted)
        return True

    def count_all(self) -> int:
        """Return what the whole record costs, every turn counted."""
        return self.outside + sum(self[at] for at in range(len(self)))

    def span(self, start: int, stop: int, most: int) -> int:
        """Return the tokens of a stretch; `most` and one where it holds more.

        Its shortest turns are counted first: one that is very long need not be.
        """
        given, total = self._transcript, 0
        chars = [turn_chars(message, given.dialect) for message in given.messages[start:stop]]
        for at in sorted(range(start, stop), key=lambda at: chars[at - start]):
            if self.are_over(at, most - total):
                return most + 1
            total += self[at]
        return total

    @property
    def all_counted(self) -> bool:
        """Whether every turn was counted, so that the whole is exact."""
        return len(self._known) == len(self)

    def whole(self) -> int:
        """Return what the record costs; turns that were not counted at the rate of those that were.

        It is never less than what was counted.
        """
        if self.all_counted:
            return self.counted
        given, known = self._transcript, self._known
        chars = seen_chars = 0
        for at, message in enumerate(given.messages):
            if at in known:
                seen_chars += turn_chars(message, given.dialect)
            else:
                chars += turn_chars(message, given.dialect)
        words = self.counted - self.outside - MESSAGE_OVERHEAD_TOKENS * len(known)
        left = MESSAGE_OVERHEAD_TOKENS * (len(self) - len(known))
        return self.counted + left + chars * words // max(seen_chars, 1)


def _order(turns: int) -> Iterator[int]:
    head = min(turns, _HEAD_TURNS)
    yield from range(head)
    yield from range(turns - 1, head - 1, -1)
