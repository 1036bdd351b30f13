"""Which turns are folded: examples with sums done by hand, then the laws."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from holdfast.compaction.measure import text_length
from holdfast.dialects.load import load
from holdfast.testing import logs
from holdfast.testing.trajectories import trajectories
from holdfast.trajectories.region import Region, choose_region
from holdfast.transcript import Groups, Message, Text, ToolCall, ToolResult


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
    found = choose_region(
        _turns(letters), _Asked(costs), text_length, keep_last=keep_last,
        room_tokens=sum(costs) - wanted, alternates=True,
    )  # fmt: skip
    return found and (found.start, found.stop, sum(costs) - found.kept_tokens)


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


def test_nothing_is_folded_where_all_is_protected():
    """The four firsts and the last turns are the whole record."""
    assert _chosen("sucra", [9] * 5, 1) is None
    assert _chosen("sua", [9] * 3, 1, keep_last=0) is None
    assert _chosen("", [], 1) is None


@given(logs(), st.integers(0, 6), st.integers(-50, 900), st.booleans(), st.data())
def test_a_region_parts_no_pair_and_holds_nothing_protected(
    log: tuple[Message, ...], keep_last: int, room: int, alternates: bool, data: st.DataObject
):
    """Edges are edges of groups; the firsts and the last turns are outside; the others cost what
    it says. Of the region only turns at its end were counted, as many as show that it is the
    shortest."""
    costs = data.draw(st.lists(st.integers(0, 90), min_size=len(log), max_size=len(log)))
    asked = _Asked(costs)
    found = choose_region(
        log, asked, text_length, keep_last=keep_last, room_tokens=room, alternates=alternates
    )
    assert found == _eager(log, costs, keep_last, room, alternates=alternates)
    if found is None:
        return
    assert found.kept_tokens == sum(costs[: found.start]) + sum(costs[found.stop :])
    assert 0 <= found.start < found.stop <= len(log) - keep_last
    assert {found.start, found.stop} <= {*Groups(log).starts, len(log)}
    for role in ("system", "assistant"):
        first = next((at for at, one in enumerate(log) if one.role == role), -1)
        assert not found.start <= first < found.stop
    inside = {at for at in asked.seen if found.start <= at < found.stop}
    last = min(inside, default=found.stop)
    assert inside == set(range(last, found.stop))
    assert not inside or found.kept_tokens + sum(costs[last + 1 : found.stop]) <= room


def _eager(
    log: Sequence[Message], costs: Sequence[int], keep_last: int, room: int, *, alternates: bool
) -> Region | None:
    """Return the region with every turn counted: from the front, until enough is held."""
    speakers = [_speaker(message) for message in log]
    firsts = {
        who: at for at, who in reversed(list(enumerate(speakers))) if log[at].origin == "real"
    }
    firsts.pop("unknown", None)
    kept = {*firsts.values(), *range(max(len(log) - keep_last, 0), len(log))}
    groups = list(pairwise([*Groups(log).starts, len(log)]))
    runs = [list(run) for held, run in
            groupby(groups, lambda one: bool(kept & set(range(*one)))) if not held]  # fmt: skip
    if not runs:
        return None
    run = max(runs, key=lambda run: sum(map(text_length, log[run[0][0] : run[-1][1]])))
    wanted = sum(costs) - room
    for apart in (True, False)[: 1 if alternates else 2]:
        users = {at for at, who in enumerate(speakers) if apart and who == "user"}
        starts = [start for start, _ in run if start - 1 not in users]
        stops = [stop for _, stop in run if starts and stop > starts[0] and stop not in users]
        if stops:
            fits = [stop for stop in stops if sum(costs[starts[0] : stop]) >= wanted]
            stop = fits[0] if fits else stops[-1]
            return Region(starts[0], stop, sum(costs[: starts[0]]) + sum(costs[stop:]))
    return None


def _speaker(message: Message) -> str:
    if message.role == "user" and message.parts:
        return "tool" if all(type(part) is ToolResult for part in message.parts) else "user"
    return "system" if message.role == "developer" else message.role


@given(trajectories("sharegpt"), st.integers(1, 5_000))
def test_one_group_less_would_not_do(items: list[object], room: int):
    """No shorter region with the same start and a fitting end leaves so little."""
    log = load(items).messages
    costs = [10 * (at % 7 + 1) for at in range(len(log))]
    found = choose_region(
        log, _Asked(costs), text_length, keep_last=2, room_tokens=room, alternates=True
    )
    if found is None or found.kept_tokens > room:
        return
    for stop in Groups(log).starts:
        if found.start < stop < found.stop and log[stop].role != "user":
            assert found.kept_tokens + sum(costs[stop : found.stop]) > room
