"""How many tries may fail on a line before the whole line is hidden."""

from __future__ import annotations

from holdfast.redaction.span import LINE, Span

RESERVE = 8192
"""Failed tries that a text may have beyond what its length gives, over all of its lines. The most
that any file of 52 MB of Python source and 18 MB of sessions and tool outputs has is 81."""
RESERVE_OF_FIELDS = 4096
"""The same for fields, of which one try costs twice as much."""
FREE = 32
"""Failed tries that any line may have. A text with no more of them needs no count by line."""
MANY = 12_288
BYTES_A_SECRET = 256
"""So many secrets a text may have, and one more for so many bytes of it: each costs 20 to 40 µs."""
ANY = 1 << 62
BLOCK = 4096
"""Lines of a text that has used up its reserve are hidden in blocks of so many bytes."""


class Budget:
    """Counts the tries that failed; a line of ordinary text has few for its length.

    NULs stand for what is hidden and give nothing: a secret and its placeholder are not equally
    long. Short lines may have more, but not all lines of a long text: what they have beyond their
    length is taken from a reserve. Of secrets that are found a text may have many, but a long text
    that consists of nothing else is hidden in blocks too.
    """

    def __init__(self, data: bytes, bytes_a_try: int, reserve: int = RESERVE) -> None:
        self._data = data
        self._bytes_a_try = bytes_a_try
        self._start = self._end = -1
        self._left = self._earned = 0
        self._most = self._reserve = reserve
        self._secrets_left = MANY + len(data) // BYTES_A_SECRET
        self._first: list[tuple[int, int]] = []
        self._first_left = FREE
        self.slack = ANY
        """How many bytes could be hidden without another line having been too much."""

    def spent(self, at: int, read: int = 0) -> bool:
        """Count one failed try at `at` that read so many bytes; whether it was one too many."""
        cost = 1 + read // 64
        if self._first_left < 0:
            return self._is_too_much(at, cost)
        self._first.append((at, cost))
        self._first_left -= cost
        if self._first_left >= 0:
            return False
        over = [self._is_too_much(*one) for one in self._first]
        return over[-1]

    def is_full(self, at: int, count: int = 1) -> bool:
        """Count secrets that were found at `at`; whether they are too many."""
        self._secrets_left -= count
        if self._secrets_left >= 0:
            return False
        self._go_to(at)
        self.slack = -1
        return True

    def _is_too_much(self, at: int, cost: int) -> bool:
        self._go_to(at)
        self._left -= cost
        self._reserve -= cost
        least = self._reserve if self._left >= self._earned else min(self._left, self._reserve)
        self.slack = min(self.slack, least * self._bytes_a_try)
        return least < 0

    def _go_to(self, at: int) -> None:
        if at > self._end:
            self._start = self._data.rfind(b"\n", max(0, self._end), at) + 1
            end = self._data.find(b"\n", at)
            self._end = len(self._data) if end < 0 else end
            size = self._end - self._start - self._data.count(0, self._start, self._end)
            self._earned = earned = size // self._bytes_a_try
            self._left = FREE + earned
            if self._reserve >= 0:  # once used up it stays so: redacting twice is redacting once
                self._reserve = min(self._most, self._reserve + earned)

    def line(self) -> Span:
        """Return the span of the line that was one too much, and of more where many are."""
        if self._reserve < 0 or self._secrets_left < 0:
            end = self._data.find(b"\n", self._end + BLOCK)
            self._end = len(self._data) if end < 0 else end
        return Span(self._start, self._end, LINE, -1)
