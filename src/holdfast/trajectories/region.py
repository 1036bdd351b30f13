"""Which turns of a record are folded: as few as will do, from the front of the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from msgspec import Struct

from holdfast.transcript import Groups, Message, ToolResult


class CostByTurn(Protocol):
    """What each turn costs, found when it is asked for."""

    def __getitem__(self, at: int, /) -> int:
        """Return the tokens of one turn."""
        ...

    def are_over(self, at: int, tokens: int, /) -> bool:
        """Return whether one turn costs more than `tokens`."""
        ...


class Region(Struct, frozen=True, gc=False):
    """Turns `start` up to `stop` (exclusive) are folded; the others cost `kept_tokens`."""

    start: int
    stop: int
    kept_tokens: int


def choose_region(
    messages: Sequence[Message],
    costs: CostByTurn,
    sizes: Callable[[Message], int],
    *,
    keep_last: int,
    room_tokens: int,
    alternates: bool,
) -> Region | None:
    """Return the shortest region from the front of the middle that leaves `room_tokens` or less.

    If head and tail alone are more, all of the middle; None if there is nothing to fold. The
    first system, user, assistant and tool turn and the last `keep_last` turns are never in it, and
    no edge parts a call from its result. The user's turn that takes its place has no other one
    beside it if that is possible; with `alternates` it must be so. If protected turns lie
    apart, the middle is the stretch between them that is the longest by `sizes`. Turns that stay
    are counted and one or a few more, not the rest of the middle.
    """
    stretches = list(_stretches(messages, keep_last))
    if not stretches:
        return None
    edges = stretches[0]
    if len(stretches) > 1:
        edges = max(stretches, key=lambda one: sum(map(sizes, messages[one[0] : one[-1]])))
    found = _shortest(messages, costs, edges, room_tokens, apart=True)
    if found is None and not alternates:
        found = _shortest(messages, costs, edges, room_tokens, apart=False)
    return found


def _stretches(messages: Sequence[Message], keep_last: int) -> Iterator[list[int]]:
    """Yield the edges of groups in each stretch that holds no protected turn, its ends included."""
    protected = _protected(messages, keep_last)
    edges: list[int] = []
    for start, stop in pairwise([*Groups(messages).starts, len(messages)]):
        if protected.isdisjoint(range(start, stop)):
            edges = edges or [start]
            edges.append(stop)
        elif edges:
            yield edges
            edges = []
    if edges:
        yield edges


def _protected(messages: Sequence[Message], keep_last: int) -> set[int]:
    firsts: dict[str, int] = {}
    for at, message in enumerate(messages):
        if message.origin != "summary":
            firsts.setdefault(_speaker(message), at)
    firsts.pop("unknown", None)
    return {*firsts.values(), *range(max(len(messages) - keep_last, 0), len(messages))}


def _speaker(message: Message) -> str:
    if message.role == "developer":
        return "system"
    if message.role == "user" and message.parts:
        results = all(type(part) is ToolResult for part in message.parts)
        return "tool" if results else "user"
    return message.role


def _shortest(
    messages: Sequence[Message], costs: CostByTurn, edges: Sequence[int], room: int, *, apart: bool
) -> Region | None:
    """Return the region; with `apart` no user speaks just before or after it.

    What is kept only grows when a region gets shorter, so its end is looked for from the back.
    """

    def is_user(at: int) -> bool:
        return apart and 0 <= at < len(messages) and _speaker(messages[at]) == "user"

    first = next((at for at, edge in enumerate(edges[:-1]) if not is_user(edge - 1)), None)
    if first is None:
        return None
    start = edges[first]
    stops = [edge for edge in edges[first + 1 :] if not is_user(edge)]
    if not stops:
        return None
    stop = stops.pop()
    kept = sum(costs[at] for at in (*range(start), *range(stop, len(messages))))
    while stops and kept <= room:
        shorter, more = stops.pop(), kept
        for at in range(stop - 1, shorter - 1, -1):
            if costs.are_over(at, room - more):
                return Region(start, stop, kept)
            more += costs[at]
        stop, kept = shorter, more
    return Region(start, stop, kept)
