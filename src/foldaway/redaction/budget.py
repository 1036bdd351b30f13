"""How much a search may cost before what it reads is hidden as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from foldaway.redaction.text import LINE, Span

BASE = 2_200_000
"""What a text may cost beyond its length. A byte pays for 0.1 µs of work, so a text of 1 MB may
cost a third of a second, and twice that if no name and no value repeats; ordinary text costs
less than a tenth of it."""
FREE = 32
"""Failed tries that any line may have: where the last so many go back to a line before, none has
too many."""
BLOCK = 4096
"""Lines of a text that has cost too much are hidden in blocks of this many bytes."""
A_BYTE, LONG, JUDGED = 3, 64, 512
"""What a byte of a secret and its name costs beyond its finding, from where on it costs twice as
much, and up to how many count: they have to be judged."""
ANY = 1 << 62

Log: TypeAlias = "list[tuple[int, int]]"
"""What was paid, and where, in the order of the text."""


class Price(NamedTuple):
    """What tries of one sort cost, in bytes of text that pay for them."""

    line: int
    """A line may have one failed try for each run of this many bytes."""
    failed: int
    found: int


class SearchBudget:
    """Counts what tries cost; ordinary text has few for its length.

    A line that has too many which fail is hidden as a whole. Short lines may have more, but not all
    lines of a long text: every try is also paid out of the account of the text, which `BASE` and
    the bytes up to the try fill. If it is empty the rest is hidden in blocks. NULs stand for
    what is hidden and pay nothing: a secret and its placeholder are not equally long. So what is
    hidden up to a place depends on nothing that stands after its line.
    """

    def __init__(self, data: bytes, price: Price, before: Sequence[Log] = ()) -> None:
        """Take the text, and what other searches of it have paid."""
        self._price = price
        self._account = _Account(data, before)
        self._line = _Line(data, price.line)
        self._tries = _Tries(data)

    @property
    def log(self) -> Log:
        """What this search has paid."""
        return self._account.log

    @property
    def slack(self) -> int:
        """How many bytes could be hidden without another line having been too much."""
        return min(self._account.slack, self._line.slack)

    @property
    def is_empty(self) -> bool:
        """Whether the text has cost too much, so that the rest of it is hidden in blocks."""
        return self._account.is_empty

    def spent(self, at: int, read: int = 0) -> bool:
        """Count one failed try at `at` that read so many bytes; whether it was one too many."""
        cost = 1 + read // 64
        empty = self._account.pay(at, cost * self._price.failed)
        line = self._line
        if at <= line.end:
            return line.is_full(cost) or empty
        if not self._tries.are_many(at, cost):
            return empty
        line.go_to(at)
        return line.is_full(self._tries.since(line.start)) or empty

    def is_full(self, at: int, count: int, read: int) -> bool:
        """Count secrets that were found at `at`, in `read` bytes; return if they are too many."""
        judged = min(read, JUDGED)
        read = judged + max(0, judged - LONG)
        return self._account.pay(at, count * self._price.found + A_BYTE * read)

    def met_hidden(self, at: int) -> bool:
        """Count one failed try beside something that is hidden; whether it was one too many.

        It may have found just that before. So it is paid, as a secret is, and its line is not
        charged: otherwise a line of many secrets would be too much the second time.
        """
        return self._account.pay(at, min(self._price.failed, self._price.found))

    def line(self, at: int) -> Span:
        """Return the span of the line at `at`, and of more where the account is empty."""
        line = self._line
        line.go_to(at)
        if self._account.is_empty:
            line.go_on()
        return Span(line.start, line.end, LINE, -1)


class _Line:
    """The last line that was looked at, and how many failed tries it may still have."""

    def __init__(self, data: bytes, per_try: int) -> None:
        self._data = data
        self._per_try = per_try
        self.start = self.end = -1
        self._left = self._earned = 0
        self.slack = ANY

    def go_to(self, at: int) -> None:
        if at > self.end:
            self.start = self._data.rfind(b"\n", max(0, self.end), at) + 1
            end = self._data.find(b"\n", at)
            self.end = len(self._data) if end < 0 else end
            size = self.end - self.start - self._data.count(0, self.start, self.end)
            self._earned = earned = size // self._per_try
            self._left = FREE + earned

    def go_on(self) -> None:
        """Take what follows to it, as far as a block goes."""
        end = self._data.find(b"\n", self.end + BLOCK)
        self.end = len(self._data) if end < 0 else end

    def is_full(self, cost: int) -> bool:
        """Count failed tries; return whether they are too many."""
        self._left -= cost
        if self._left < self._earned:
            self.slack = min(self.slack, self._left * self._per_try)
        return self._left < 0


class _Tries:
    """Failed tries in lines that were not looked at yet; a line is only if it can have too many."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._failed: Log = []
        self._oldest = self._recent = 0

    def are_many(self, at: int, cost: int) -> bool:
        """Count one; return whether its line can have too many.

        It cannot if the last few, which any line may have, go back to a line before.
        """
        failed = self._failed
        failed.append((at, cost))
        self._recent += cost
        if self._recent <= FREE:
            return False
        while self._recent - failed[self._oldest][1] > FREE:
            self._recent -= failed[self._oldest][1]
            self._oldest += 1
        return self._data.find(b"\n", failed[self._oldest][0], at) < 0

    def since(self, start: int) -> int:
        """Return what those from `start` on cost."""
        failed = self._failed
        last = len(failed)
        while last and failed[last - 1][0] >= start:
            last -= 1
        return sum([cost for _, cost in failed[last:]])


class _Account:
    """What a text has left; its balance is worked out only if it can be empty."""

    def __init__(self, data: bytes, before: Sequence[Log]) -> None:
        self._data = data
        self._before = before
        self._total = sum([cost for log in before for _, cost in log])
        self._balance: _Balance | None = None
        self.log: Log = []
        self.slack = ANY
        self.is_empty = False

    def pay(self, at: int, cost: int) -> bool:
        """Pay at `at`; return whether the account is empty."""
        self.log.append((at, cost))
        self._total += cost
        if self._total <= BASE or self.is_empty:
            return self.is_empty
        if self._balance is None:
            self._balance = _Balance(self._data, self._before)
        left = self._balance.left(at, self.log)
        self.slack = min(self.slack, left)
        if left < 0:  # once empty it stays so: redacting twice is redacting once
            self.is_empty = True
            self.log.append((at, ANY))
        return self.is_empty


class _Balance:
    """What a text has left at ascending places."""

    def __init__(self, data: bytes, before: Sequence[Log]) -> None:
        self._data = data
        self._before = sorted([one for log in before for one in log])
        self._own = self._others = 0
        self._left = BASE
        self._at = 0

    def left(self, at: int, log: Log) -> int:
        """Return what is left at `at`, where `log` is all that was paid up to there by this one."""
        if at > self._at:
            self._left += at - self._at - self._data.count(0, self._at, at)
            self._at = at
        while self._others < len(self._before) and self._before[self._others][0] <= at:
            self._left -= self._before[self._others][1]
            self._others += 1
        for _, cost in log[self._own :]:
            self._left -= cost
        self._own = len(log)
        return self._left
