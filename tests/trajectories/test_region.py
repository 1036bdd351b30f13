"""Which turns are folded: examples with sums done by hand, then the laws."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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


def _chosen(letters: str, costs: list[int], wanted: int, keep_last: int = 2) -> Region | None:
    return choose_region(
        _turns(letters), costs, keep_last=keep_last, wanted_tokens=wanted, alternates=True
    )


def test_only_as_much_is_folded_as_is_wanted():
    """Three pairs of 30 lie in the middle; 50 are wanted, so the first two go and no third."""
    costs = [5, 5, 10, 20, 10, 20, 10, 20, 10, 20, 10, 20]
    #        s  u   c   r   c   r   c   r   c   r   c   r
    assert _chosen("sucrcrcrcrcr", costs, 50) == Region(4, 8, 60)
    assert _chosen("sucrcrcrcrcr", costs, 30) == Region(4, 6, 30)
    assert _chosen("sucrcrcrcrcr", costs, 31) == Region(4, 8, 60)


def test_a_middle_that_holds_too_little_is_folded_whole():
    """Only 90 lie between head and tail; 500 are wanted, so all of it goes."""
    costs = [5, 5, 10, 20, 10, 20, 10, 20, 10, 20, 10, 20]
    assert _chosen("sucrcrcrcrcr", costs, 500) == Region(4, 10, 90)


def test_the_tail_is_kept_with_the_call_of_its_first_result():
    """The last three turns begin with a result, so its call stays too."""
    costs = [1] * 10
    assert _chosen("sucrcrcrcr", costs, 99, keep_last=3) == Region(4, 6, 2)


def test_a_region_ends_where_no_user_speaks_next():
    """The turn that takes its place is a user's, so the user's turn at its end is folded too."""
    costs = [1, 1, 1, 1, 10, 10, 10, 10, 10, 1, 1]
    #        s  u  c  r   u   a   u   a   a  u  a
    assert _chosen("sucruauaaua", costs, 20) == Region(4, 7, 30)


def test_a_first_result_far_from_the_front_is_kept():
    """The first tool turn stands near the end; the larger stretch before it is folded."""
    costs = [1] * 12
    assert _chosen("suauauauacra", costs, 99, keep_last=1) == Region(3, 9, 6)


def test_nothing_is_folded_where_all_is_protected():
    """The four firsts and the last turns are the whole record."""
    assert _chosen("sucra", [9] * 5, 1) is None
    assert _chosen("sua", [9] * 3, 1, keep_last=0) is None
    assert choose_region([], [], keep_last=4, wanted_tokens=1, alternates=True) is None


@given(logs(), st.integers(0, 6), st.integers(0, 400), st.data())
def test_a_region_parts_no_pair_and_holds_nothing_protected(
    log: tuple[Message, ...], keep_last: int, wanted: int, data: st.DataObject
):
    """Edges are edges of groups; the firsts and the last turns are outside; tokens are its sum."""
    costs = data.draw(st.lists(st.integers(0, 90), min_size=len(log), max_size=len(log)))
    found = choose_region(log, costs, keep_last=keep_last, wanted_tokens=wanted, alternates=False)
    if found is None:
        return
    assert found.tokens == sum(costs[found.start : found.stop])
    assert 0 <= found.start < found.stop <= len(log) - keep_last
    assert {found.start, found.stop} <= {*Groups(log).starts, len(log)}
    for role in ("system", "assistant"):
        first = next((at for at, one in enumerate(log) if one.role == role), -1)
        assert not found.start <= first < found.stop


@given(trajectories("sharegpt"), st.integers(1, 5_000))
def test_one_group_less_would_not_do(items: list[object], wanted: int):
    """No shorter region with the same start and a fitting end holds what is wanted."""
    log = load(items).messages
    costs = [10 * (at % 7 + 1) for at in range(len(log))]
    found = choose_region(log, costs, keep_last=2, wanted_tokens=wanted, alternates=True)
    if found is None or found.tokens < wanted:
        return
    for stop in Groups(log).starts:
        if found.start < stop < found.stop and log[stop].role != "user":
            assert sum(costs[found.start : stop]) < wanted
