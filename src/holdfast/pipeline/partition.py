"""Head, middle and tail: what stays as it is, and what is folded."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from msgspec import Struct

from holdfast.policy import Policy
from holdfast.transcript import Group, Message, Opaque, Text, is_ask


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
    parts: Sequence[Group],
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
    total = parts[-1].stop if parts else 0
    start, spent = total, 0
    allowed = set(cuts)
    for group in reversed(parts):
        if group.start < least:
            break
        tokens = sum(cost(index) for index in range(group.stop - 1, group.start - 1, -1))
        enough = total - start >= min_messages and start in allowed
        if enough and (spent >= budget_tokens or spent + tokens > ceiling_tokens):
            break
        start, spent = group.start, spent + tokens
    return start, spent


def anchors(log: Sequence[Message], pinned: frozenset[int]) -> tuple[int, ...]:
    """Return the positions that are never folded, in order.

    They hold the latest real user message, the latest visible reply, the provider's own
    compaction blocks, and what is pinned.
    """
    wanted = {index for index in pinned if 0 <= index < len(log)}
    ask = next((i for i in range(len(log) - 1, -1, -1) if is_ask(log[i])), None)
    reply = next((i for i in range(len(log) - 1, -1, -1) if _is_reply(log[i])), None)
    wanted.update(i for i in (ask, reply) if i is not None)
    for index, message in enumerate(log):
        for part in message.parts:
            if type(part) is Opaque and part.kind.startswith("compaction"):
                wanted.add(index)
    return tuple(sorted(wanted))


def islands(
    wanted: Sequence[int], parts: Sequence[Group], *, least: int, before: int
) -> tuple[tuple[int, int], ...]:
    """Return the groups of the wanted positions between `least` and `before`, as ranges."""
    inside = [index for index in wanted if least <= index < before]
    starts = [group.start for group in parts] if inside else []
    found = {bisect_right(starts, index) - 1 for index in inside}
    return tuple((parts[k].start, parts[k].stop) for k in sorted(found))


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
