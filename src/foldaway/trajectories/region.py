"""Which turns of a record are folded: as few as will do, from the front of the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from msgspec import Struct

from foldaway.trajectories.policy import TrajectoryPolicy
from foldaway.transcript import Groups, Message, ToolResult


class CostByTurn(Protocol):
    """What each turn costs, found when it is asked for."""

    def __getitem__(self, at: int, /) -> int:
        """Return the tokens of one turn."""
        ...

    def are_over(self, at: int, tokens: int, /) -> bool:
        """Return whether one turn costs more than `tokens`."""
        ...


class Region(Struct, frozen=True, gc=False):
    """Turns `start` up to `stop` (exclusive), which become one summary turn."""

    start: int
    stop: int


class RecordRoom(Struct, frozen=True):
    """What the turns of a record may cost, summaries included."""

    tokens: int
    summary_tokens: int
    """What the summaries may cost together, if enough can be folded."""
    smallest: Callable[[int], int]
    """The tokens of a summary that only says how many turns it replaces, by that number."""

    def smallest_of(self, regions: Sequence[Region]) -> list[int]:
        """Return the tokens of the smallest summary of each region."""
        return [self.smallest(one.stop - one.start) for one in regions]

    def least_of(self, chosen: FoldedRegions) -> int:
        """Return what the turns that stay cost with the smallest summaries."""
        return chosen.kept_tokens + sum(self.smallest_of(chosen.regions))

    def useful_of(self, regions: Sequence[Region]) -> list[int]:
        """Return the tokens that the summary of each region needs to say something."""
        least = TrajectoryPolicy.LEAST_SUMMARY_TOKENS
        return [max(least, tokens) for tokens in self.smallest_of(regions)]

    def budgets(self, regions: Sequence[Region], kept_tokens: int) -> tuple[int, ...]:
        """Return what each summary may cost: the first has what the others leave.

        All that is allowed if there is room for it, otherwise what is left; and all that is
        allowed if not even the smallest summaries fit.
        """
        left = self.tokens - kept_tokens
        smallest, useful = self.smallest_of(regions), self.useful_of(regions)
        others = smallest if sum(smallest) <= left < sum(useful) else useful
        most = max(self.summary_tokens, sum(others))
        together = min(most, left) if sum(smallest) <= left else most
        return (together - sum(others[1:]), *others[1:])


class FoldedRegions(Struct, frozen=True):
    """The regions, that of the largest stretch first; all other turns cost `kept_tokens`."""

    regions: tuple[Region, ...]
    kept_tokens: int


def choose_regions(
    messages: Sequence[Message],
    costs: CostByTurn,
    sizes: Callable[[Message], int],
    *,
    keep_last: int,
    room: RecordRoom,
    alternates: bool,
) -> FoldedRegions | None:
    """Return the fewest turns to fold so that the others and their summaries are within the room.

    The first system, user, assistant and tool turn and the last `keep_last` turns are never
    folded, and no edge parts a call from its result. Turns go from the front of the stretch
    between protected turns that is the longest by `sizes`. If all of it is not enough, those of
    the next longest go too, and so on; what costs no more than its smallest summary stays. If
    that is still not enough, everything else is folded; None if there is nothing to fold. The
    user's turn that takes the place of a region has no other one beside it if the record fits
    that way; with `alternates` it must be so. Turns that stay are counted and one or a few more,
    not the rest of the middle.
    """
    stretches = list(_stretches(messages, keep_last))
    if len(stretches) > 1:
        stretches.sort(key=lambda one: sum(map(sizes, messages[one[0] : one[-1]])), reverse=True)
    found = _fold(messages, costs, stretches, room, apart=True)
    if alternates or (found and room.least_of(found) <= room.tokens):
        return found
    closer = _fold(messages, costs, stretches, room, apart=False)
    return min((one for one in (found, closer) if one), key=room.least_of, default=None)


def _stretches(messages: Sequence[Message], keep_last: int) -> Iterator[list[int]]:
    """Yield the edges of groups in each stretch that holds no protected turn, its ends included."""
    protected = _find_protected(messages, keep_last)
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


def _find_protected(messages: Sequence[Message], keep_last: int) -> set[int]:
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


def _fold(
    messages: Sequence[Message],
    costs: CostByTurn,
    stretches: Sequence[Sequence[int]],
    room: RecordRoom,
    *,
    apart: bool,
) -> FoldedRegions | None:
    """Return the regions of as many stretches as it takes; with `apart` no user speaks just before
    or after one.
    """
    regions: list[Region] = []
    kept: int | None = None
    for edges in stretches:
        start, stops = _ends(messages, edges, apart=apart)
        if not stops:
            continue
        whole = Region(start, stops.pop())
        inside = range(whole.start, whole.stop)
        if kept is None:
            kept = sum(costs[at] for at in range(len(messages)) if at not in inside)
        else:
            kept -= sum(costs[at] for at in inside)
        useful = sum(room.useful_of([*regions, whole]))
        if kept > room.tokens - useful and not _are_over(costs, inside, *room.smallest_of([whole])):
            kept += sum(costs[at] for at in inside)
            continue
        most = room.tokens - max(room.summary_tokens, useful)
        region, kept = _shorten(costs, whole, stops, kept, most)
        regions.append(region)
        if kept <= room.tokens - useful:
            break
    return FoldedRegions(tuple(regions), kept) if regions and kept is not None else None


def _ends(
    messages: Sequence[Message], edges: Sequence[int], *, apart: bool
) -> tuple[int, list[int]]:
    """Return where a region of a stretch begins, and where it may end."""

    def is_user(at: int) -> bool:
        return apart and 0 <= at < len(messages) and _speaker(messages[at]) == "user"

    first = next((at for at, edge in enumerate(edges) if not is_user(edge - 1)), len(edges))
    start = edges[first] if first < len(edges) else 0
    return start, [edge for edge in edges[first + 1 :] if not is_user(edge)]


def _are_over(costs: CostByTurn, turns: range, tokens: int) -> bool:
    """Return whether turns cost more than `tokens`, counting no more of them than decides it."""
    for at in reversed(turns):
        if costs.are_over(at, tokens):
            return True
        tokens -= costs[at]
    return False


def _shorten(
    costs: CostByTurn, region: Region, stops: list[int], kept: int, most: int
) -> tuple[Region, int]:
    """Return the shortest region that leaves `most` tokens or less, and what is then kept.

    What is kept only grows when a region gets shorter, so its end is looked for from the back.
    """
    start, stop = region.start, region.stop
    while stops and kept <= most:
        shorter, more = stops.pop(), kept
        for at in range(stop - 1, shorter - 1, -1):
            if costs.are_over(at, most - more):
                return Region(start, stop), kept
            more += costs[at]
        stop, kept = shorter, more
    return Region(start, stop), kept
