"""Which turns are folded: examples with sums done by hand, then the laws."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.strategies import logs
from tests.testing.trajectories import trajectories

from foldaway.dialects.loading import load
from foldaway.trajectories.policy import TrajectoryPolicy
from foldaway.trajectories.region import RecordRoom, choose_regions
from foldaway.transcript import Groups, Message, Text, ToolCall, ToolResult, text_length


def _turns(letters: str) -> list[Message]:
    """Return turns: s system, u user, a assistant, c a call, r its result."""
    made: list[Message] = []
    for at, letter in enumerate(letters):
        match letter:
            case "s":
                made.append(Message("system", (Text("x"),), at))
            case "u":
                made.append(Message("user", (Text("x"),), at))
            case "a":
                made.append(Message("assistant", (Text("x"),), at))
            case "c":
                made.append(Message("assistant", (ToolCall(f"call{at}", "look"),), at))
            case _:
                made.append(Message("tool", (ToolResult(f"call{at - 1}", (Text("x"),)),), at))
    return made


class _Asked(dict[int, int]):
    """Costs that note which turns were asked for."""

    def __init__(self, costs: list[int]) -> None:
        super().__init__(enumerate(costs))
        self.seen: set[int] = set()

    def __getitem__(self, at: int) -> int:
        self.seen.add(at)
        return super().__getitem__(at)

    def are_over(self, at: int, tokens: int) -> bool:
        """Return whether a turn costs more."""
        return self[at] > tokens


def _chosen(
    letters: str, costs: list[int], wanted: int, keep_last: int = 2
) -> tuple[int, int, int] | None:
    """Return start, stop and tokens of the region where `wanted` tokens have to go."""
    found = choose_regions(
        _turns(letters), _Asked(costs), text_length, keep_last=keep_last,
        room=_room(sum(costs) - wanted), alternates=True,
    )  # fmt: skip
    if found is None:
        return None
    (region,) = found.regions
    return region.start, region.stop, sum(costs) - found.kept_tokens


def _room(kept_tokens: int, smallest: int = 1) -> RecordRoom:
    """Return room for turns of `kept_tokens` beside a summary that says something."""
    tokens = kept_tokens + TrajectoryPolicy.LEAST_SUMMARY_TOKENS
    return RecordRoom(tokens, TrajectoryPolicy.LEAST_SUMMARY_TOKENS, lambda _: smallest)


def test_only_as_much_is_folded_as_is_wanted():
    """Three pairs of 30 lie in the middle; 50 are wanted, so the first two go and no third."""
    costs = [5, 5, 10, 20, 10, 20, 10, 20, 10, 20, 10, 20]
    #        s  u   c   r   c   r   c   r   c   r   c   r
    assert _chosen("sucrcrcrcrcr", costs, 50) == (4, 8, 60)
    assert _chosen("sucrcrcrcrcr", costs, 30) == (4, 6, 30)
    assert _chosen("sucrcrcrcrcr", costs, 31) == (4, 8, 60)


def test_a_middle_that_holds_too_little_is_folded_whole():
    """Only 90 lie between head and tail; 500 are wanted, so all of it goes."""
    costs = [5, 5, 10, 20, 10, 20, 10, 20, 10, 20, 10, 20]
    assert _chosen("sucrcrcrcrcr", costs, 500) == (4, 10, 90)


def test_the_tail_is_kept_with_the_call_of_its_first_result():
    """The last three turns begin with a result, so its call stays too."""
    costs = [1] * 10
    assert _chosen("sucrcrcrcr", costs, 99, keep_last=3) == (4, 6, 2)


def test_a_region_ends_where_no_user_speaks_next():
    """The turn that takes its place is a user's, so the user's turn at its end is folded too."""
    costs = [1, 1, 1, 1, 10, 10, 10, 10, 10, 1, 1]
    #        s  u  c  r   u   a   u   a   a  u  a
    assert _chosen("sucruauaaua", costs, 20) == (4, 7, 30)


def test_a_first_result_far_from_the_front_is_kept():
    """The first tool turn stands near the end; the larger stretch before it is folded."""
    costs = [1] * 12
    assert _chosen("suauauauacra", costs, 99, keep_last=1) == (3, 9, 6)


def test_further_stretches_are_folded_if_the_longest_is_not_enough():
    """The first result stands in the middle of 12 turns. At first only the longer stretch is
    folded, then also the other one, from its front and as little of it as will do: 821 must go,
    and 1,001, with the second summary. What costs no more than its summary stays."""
    letters = "sua" + "uauaua" + "cr" + "auauaua" + "a"
    costs = [1, 1, 1, *[100] * 6, 1, 1, *[100] * 7, 1]
    turns, total = _turns(letters), sum(costs)

    def folded(room: RecordRoom) -> list[tuple[int, int]]:
        found = choose_regions(
            turns, _Asked(costs), lambda one: costs[turns.index(one)],
            keep_last=1, room=room, alternates=True,
        )  # fmt: skip
        return [] if found is None else [(one.start, one.stop) for one in found.regions]

    assert folded(_room(total - 700)) == [(11, 18)]
    assert folded(_room(total - 701)) == [(11, 18), (3, 6)]
    assert folded(_room(total - 881)) == [(11, 18), (3, 8)]
    assert folded(_room(0)) == [(11, 18), (3, 9)]
    assert folded(_room(0, smallest=600)) == [(11, 18)]
    assert folded(_room(0, smallest=700)) == []


def test_nothing_is_folded_where_all_is_protected():
    """The four firsts and the last turns are the whole record."""
    assert _chosen("sucra", [9] * 5, 1) is None
    assert _chosen("sua", [9] * 3, 1, keep_last=0) is None
    assert _chosen("", [], 1) is None


@given(
    logs(), st.integers(0, 6), st.integers(-50, 900), st.integers(1, 200), st.booleans(), st.data()
)
def test_what_is_folded_fits_whenever_it_can_and_is_never_protected(
    log: tuple[Message, ...], keep_last: int, tokens: int, smallest: int, alternates: bool,
    data: st.DataObject,
):  # fmt: skip
    """Edges are edges of groups; the firsts and the last turns are outside; the others cost what
    it says. They fit with their summaries whenever protected turns and the smallest summaries do;
    every summary has the room for the smallest one."""
    costs = data.draw(st.lists(st.integers(0, 90), min_size=len(log), max_size=len(log)))
    room = RecordRoom(tokens, data.draw(st.integers(120, 400)), lambda _: smallest)
    asked = _Asked(costs)
    found = choose_regions(
        log, asked, text_length, keep_last=keep_last, room=room, alternates=alternates
    )
    modes = (True,) if alternates else (True, False)
    least = min(_least(log, costs, keep_last, smallest, apart=apart) for apart in modes)
    if found is None:
        assert least == sum(costs)
        return
    folded = [at for one in found.regions for at in range(one.start, one.stop)]
    assert len(set(folded)) == len(folded)
    assert found.kept_tokens == sum(costs) - sum(costs[at] for at in folded)
    assert set(folded).isdisjoint(_protected(log, keep_last))
    edges = {edge for one in found.regions for edge in (one.start, one.stop)}
    assert edges <= {*Groups(log).starts, len(log)}
    budgets = room.budgets(found.regions, found.kept_tokens)
    assert min(budgets) >= smallest
    if least <= tokens < sum(costs):
        assert found.kept_tokens + sum(budgets) <= tokens
    if alternates and len(found.regions) == 1 and found.kept_tokens + sum(budgets) <= tokens:
        (region,) = found.regions
        inside = sorted(at for at in asked.seen if at in folded)
        assert inside == list(range(region.stop - len(inside), region.stop))
        assert sum(costs[at] for at in inside[1:]) <= max(tokens - found.kept_tokens, smallest)


def _protected(log: Sequence[Message], keep_last: int) -> set[int]:
    firsts = {_speaker(log[at]): at for at in reversed(range(len(log))) if log[at].origin == "real"}
    firsts.pop("unknown", None)
    return {*firsts.values(), *range(max(len(log) - keep_last, 0), len(log))}


def _least(
    log: Sequence[Message], costs: Sequence[int], keep_last: int, smallest: int, *, apart: bool
) -> int:
    """Return what a log costs if every stretch is folded that costs more than its summary."""
    kept, least = _protected(log, keep_last), sum(costs)
    users = {at for at, one in enumerate(log) if apart and _speaker(one) == "user"}
    groups = pairwise([*Groups(log).starts, len(log)])
    for is_kept, some in groupby(groups, lambda one: bool(kept & set(range(*one)))):
        run = list(some)
        starts = [start for start, _ in run if start - 1 not in users]
        stops = [stop for _, stop in run if starts and stop > starts[0] and stop not in users]
        if stops and not is_kept:
            least -= max(sum(costs[starts[0] : stops[-1]]) - smallest, 0)
    return least


def _speaker(message: Message) -> str:
    if message.role == "user" and message.parts:
        return "tool" if all(type(part) is ToolResult for part in message.parts) else "user"
    return "system" if message.role == "developer" else message.role


@given(trajectories("sharegpt"), st.integers(1, 5_000))
def test_one_group_less_would_not_do(items: list[object], kept_tokens: int):
    """No shorter region with the same start and a fitting end leaves so little."""
    log = load(items).messages
    costs = [10 * (at % 7 + 1) for at in range(len(log))]
    found = choose_regions(
        log, _Asked(costs), text_length, keep_last=2, room=_room(kept_tokens), alternates=True
    )
    if found is None or len(found.regions) > 1 or found.kept_tokens > kept_tokens:
        return
    region = found.regions[0]
    for stop in Groups(log).starts:
        if region.start < stop < region.stop and log[stop].role != "user":
            assert found.kept_tokens + sum(costs[stop : region.stop]) > kept_tokens
