"""Head, middle and tail: what stays as it is, and what is folded."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from msgspec import Struct

from holdfast.policy import Policy
from holdfast.transcript import Groups, Message, Opaque, Part, Text, is_ask


class Partition(Struct, frozen=True):
    """The log from `head_stop` to `tail_start` is folded, except for the islands in between.

    Law: head, folded ranges, islands and tail together are the whole log, each position once.
    """

    head_stop: int
    tail_start: int
    islands: tuple[tuple[int, int], ...]
    tail_tokens: int

    def folds(self) -> list[tuple[int, int]]:
        """Return the ranges that are folded, in order."""
        found: list[tuple[int, int]] = []
        at = self.head_stop
        for start, stop in self.islands:
            if start > at:
                found.append((at, start))
            at = stop
        if self.tail_start > at:
            found.append((at, self.tail_start))
        return found

    def between(self) -> list[int]:
        """Return the positions of the islands, in order."""
        return [index for start, stop in self.islands for index in range(start, stop)]

    def kept(self, length: int) -> list[tuple[int, int]]:
        """Return the ranges of a log that are not folded, in order."""
        return [(0, self.head_stop), *self.islands, (self.tail_start, length)]


def system_stop(log: Sequence[Message]) -> int:
    """Return where the system messages at the start of the log end."""
    for index, message in enumerate(log):
        if message.role not in ("system", "developer"):
            return index
    return len(log)


def head_stop(log: Sequence[Message], cuts: Sequence[int], *, first: int) -> int:
    """Return where the head ends: the system messages and `first` more, at an allowed cut."""
    stop = min(system_stop(log) + first, len(log))
    at = bisect_left(cuts, stop)
    return cuts[at] if at < len(cuts) else len(log)


def tail_start(
    parts: Groups,
    cuts: Sequence[int],
    cost: Callable[[int], int],
    *,
    least: int,
    budget_tokens: int,
    ceiling_tokens: int,
    min_messages: int,
) -> tuple[int, int]:
    """Return where the tail starts and its tokens: whole groups from the end, by token budget.

    At least `min_messages` are taken; a group that straddles the budget is taken up to the
    ceiling. `cost` is asked from the newest message to the oldest, once each. Never before `least`.
    """
    total = parts.total
    start, spent = total, 0
    latest_cut = cuts[-1] if cuts else 0
    for begin in reversed(parts.starts):
        if begin < least:
            break
        tokens = sum(map(cost, range(start - 1, begin - 1, -1)))
        enough = total - start >= min_messages and start <= latest_cut
        if enough and (spent >= budget_tokens or spent + tokens > ceiling_tokens):
            break
        start, spent = begin, spent + tokens
    return start, spent


class Anchors:
    """The positions of a log that are never folded, as it grows: the latest real user message, the
    latest visible reply, and the provider's own compaction blocks.
    """

    __slots__ = ("_native", "_reply", "ask")

    def __init__(self, log: Sequence[Message] = ()) -> None:
        backwards = range(len(log) - 1, -1, -1)
        self.ask = next((at for at in backwards if is_ask(log[at])), -1)
        """The latest user message, -1 where there is none."""
        self._reply = next((at for at in backwards if _is_reply(log[at])), -1)
        self._native = [
            at
            for at, message in enumerate(log)
            if Opaque in map(type, message.parts) and any(map(is_native, message.parts))
        ]

    def take(self, message: Message, at: int) -> None:
        """Add the next message of the log."""
        if is_ask(message):
            self.ask = at
        elif _is_reply(message):
            self._reply = at
        if any(map(is_native, message.parts)):
            self._native.append(at)

    def positions(self, pinned: frozenset[int], length: int) -> tuple[int, ...]:
        """Return the positions in order, with those that are pinned."""
        wanted = {index for index in pinned if 0 <= index < length}
        wanted.update(at for at in (self.ask, self._reply, *self._native) if at >= 0)
        return tuple(sorted(wanted))


def islands(
    wanted: Sequence[int], parts: Groups, *, least: int, before: int
) -> tuple[tuple[int, int], ...]:
    """Return the groups of the wanted positions between `least` and `before`, as ranges."""
    inside = [index for index in wanted if least <= index < before]
    found = {bisect_right(parts.starts, index) - 1 for index in inside}
    return tuple((parts[k].start, parts[k].stop) for k in sorted(found))


def is_native(part: Part) -> bool:
    """Return whether a part is an item of a provider's own compaction."""
    return type(part) is Opaque and part.kind.startswith("compaction")


def _is_reply(message: Message) -> bool:
    return (
        message.role == "assistant"
        and message.origin == "real"
        and any(isinstance(part, Text) and part.text.strip() for part in message.parts)
    )


def nth_last_ask(log: Sequence[Message], n: int) -> int:
    """Return the position of the n-th newest user message, -1 where there are fewer."""
    seen = 0
    for index in range(len(log) - 1, -1, -1):
        if is_ask(log[index]):
            seen += 1
            if seen == n:
                return index
    return -1


def snapped_back(cuts: Sequence[int], position: int) -> int:
    """Return the nearest allowed cut at or before `position`."""
    at = bisect_right(cuts, position) - 1
    return cuts[at] if at >= 0 else 0


def protected_from(policy: Policy, length: int) -> int:
    """Return the position from which pruning leaves everything alone."""
    return max(length - policy.protect_last, 0)


def allowed_cuts(parts: Groups) -> list[int]:
    """Return the positions where a cut parts no call from its result and no reasoning from what it
    led to, in order; 0 is always among them. A call that waits for its result stays after the cut.
    """
    if not parts:
        return [0]
    last = parts[-1]
    stop = last.start if last.pending else parts.total
    return [cut for cut in (*parts.starts, parts.total) if cut <= stop]
