"""What the turns of a record cost, each counted when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.ports import TokenCounter
from holdfast.tokens import MESSAGE_OVERHEAD_TOKENS
from holdfast.trajectories.measure import outside_tokens, turn_chars, turn_tokens
from holdfast.transcript import Transcript

_HEAD_TURNS = 4
"""The first system, human, gpt and tool turn mostly stand at the front."""


class TurnCosts:
    """The tokens of a record by turn, and of what stands beside them; no turn is counted twice.

    Counting takes the time of a compression. What stays has to be counted, what is folded has not.
    """

    __slots__ = ("_counter", "_known", "_order", "_transcript", "counted", "outside")

    def __init__(self, transcript: Transcript, counter: TokenCounter) -> None:
        self.outside = outside_tokens(transcript, counter)
        """The tokens of system text and tools beside the turns."""
        self.counted = self.outside
        """The tokens of all that was counted so far: the record costs at least this."""
        self._transcript = transcript
        self._counter = counter
        self._known: dict[int, int] = {}
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
            self.counted += found
        return found

    def exceed(self, tokens: int) -> bool:
        """Return whether the record costs more than `tokens`; counts no more than decides it.

        The front is counted first, then turns from the end: these are the ones that stay.
        """
        while self.counted <= tokens:
            at = next(self._order, None)
            if at is None:
                return False
            _ = self[at]
        return True

    def count_all(self) -> int:
        """Return what the whole record costs, every turn counted."""
        return self.outside + sum(self[at] for at in range(len(self)))

    def span(self, start: int, stop: int, most: int) -> int:
        """Return the tokens of a stretch; where it holds more than `most`, something above that.

        Its shortest turns are counted first: one that is very long need not be.
        """
        given, total = self._transcript, 0
        chars = [turn_chars(message, given.dialect) for message in given.messages[start:stop]]
        for at in sorted(range(start, stop), key=lambda at: chars[at - start]):
            total += self[at]
            if total > most:
                break
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
