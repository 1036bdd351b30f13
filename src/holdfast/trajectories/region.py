"""Which turns of a record are folded: as few as will do, from the front of the middle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from holdfast.transcript import Groups, Message, ToolResult


class Region(Struct, frozen=True, gc=False):
    """Turns `start` up to `stop` (exclusive) are folded; they cost `tokens`."""

    start: int
    stop: int
    tokens: int


def choose_region(
    messages: Sequence[Message],
    costs: Sequence[int],
    *,
    keep_last: int,
    wanted_tokens: int,
    alternates: bool,
) -> Region | None:
    """Return the shortest region from the front of the middle that holds `wanted_tokens`.

    Where the middle holds less, all of it; None where there is nothing to fold. The first system,
    user, assistant and tool turn and the last `keep_last` turns are never in it, and no edge
    parts a call from its result. The user's turn that takes its place has no other one beside it
    where that can be had; with `alternates` it must be had.
    """
    edges = max(
        _stretches(messages, keep_last),
        key=lambda edges: sum(costs[edges[0] : edges[-1]]),
        default=None,
    )
    if edges is None:
        return None
    found = _greedy(messages, costs, edges, wanted_tokens, apart=True)
    if found is None and not alternates:
        found = _greedy(messages, costs, edges, wanted_tokens, apart=False)
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


def _greedy(
    messages: Sequence[Message], costs: Sequence[int], edges: Sequence[int], wanted: int,
    *, apart: bool,
) -> Region | None:  # fmt: skip
    """Return the region; with `apart` no user speaks just before or after it."""

    def is_user(at: int) -> bool:
        return apart and 0 <= at < len(messages) and _speaker(messages[at]) == "user"

    first = next((at for at, edge in enumerate(edges[:-1]) if not is_user(edge - 1)), None)
    if first is None:
        return None
    held, last = 0, None
    for before, stop in pairwise(edges[first:]):
        held += sum(costs[before:stop])
        if not is_user(stop):
            last = Region(edges[first], stop, held)
            if held >= wanted:
                break
    return last
