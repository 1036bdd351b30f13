"""A peer brought to a budget by its own setting."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from peers.ask import MOST_TRIES, fit_to_budget
from peers.worker import Answer, Failure, Request


def sized(sizes: Sequence[int]) -> list[Any]:
    return [{"role": "user", "content": size} for size in sizes]


def count(messages: Sequence[Any]) -> int:
    return sum(message["content"] for message in messages)


def newest(request: Request, scale: float, floor: int) -> Answer:
    """Keep the newest messages, at least `floor`, by a count that is off by `scale`."""
    start, tokens = len(request.messages), 0
    for message in reversed(request.messages):
        tokens += message["content"]
        if tokens * scale > request.budget_tokens and len(request.messages) - start >= floor:
            break
        start -= 1
    return Answer(tuple(request.messages[start:]), 1.0)


class Peer:
    """A peer that counts in its own way and has a floor of messages, lowered when pressed."""

    def __init__(self, scale: float, floor: int) -> None:
        self.scale, self.floor = scale, floor
        self.asked: list[Request] = []

    def __call__(self, request: Request) -> Answer:
        self.asked.append(request)
        return newest(request, self.scale, 0 if request.pressed else self.floor)


def asking(sizes: Sequence[int], budget: int) -> Request:
    return Request(messages=sized(sizes), budget_tokens=budget, context_length=100_000)


@given(
    st.lists(st.integers(5, 50), min_size=1, max_size=200),
    st.floats(0.05, 1.0),
    st.floats(0.3, 3.0),
    st.integers(0, 10),
)
def test_what_can_fit_fits_and_the_peer_is_asked_a_bounded_number_of_times(
    sizes: list[int], share: float, scale: float, floor: int
) -> None:
    """However a peer counts, the result is within the budget, and the search ends."""
    budget = max(int(sum(sizes) * share), 1)
    peer = Peer(scale, floor)
    found = fit_to_budget(peer, asking(sizes, budget), count)
    assert not isinstance(found, Failure)
    assert found.tokens == count(found.answer.messages) <= budget
    assert len(peer.asked) <= 2 * MOST_TRIES


@given(st.floats(0.3, 3.0), st.floats(0.05, 0.95))
def test_a_peer_that_counts_in_its_own_way_gets_all_of_its_budget(
    scale: float, share: float
) -> None:
    """Small messages: at least nine tenths of the budget are used."""
    sizes = [5] * 2_000
    budget = int(sum(sizes) * share)
    found = fit_to_budget(Peer(scale, 0), asking(sizes, budget), count)
    assert not isinstance(found, Failure)
    assert found.tokens >= 0.9 * budget


@given(st.lists(st.integers(5, 50), max_size=3), st.integers(0, 10))
def test_a_peer_is_asked_at_least_once(sizes: list[int], budget: int) -> None:
    """Also for an empty history, and for a budget of nothing."""
    found = fit_to_budget(Peer(1.0, 0), asking(sizes, budget), count)
    assert not isinstance(found, Failure)
    assert found.tokens <= budget


def test_floors_are_lowered_only_where_nothing_fits_with_them() -> None:
    """The peer's own defaults come first."""
    roomy, tight = Peer(1.0, 2), Peer(1.0, 8)
    fit_to_budget(roomy, asking([10] * 20, 60), count)
    assert not any(request.pressed for request in roomy.asked)
    found = fit_to_budget(tight, asking([10] * 20, 60), count)
    assert not isinstance(found, Failure)
    assert tight.asked[-1].pressed
    assert found.tokens == 60


def test_where_nothing_fits_the_smallest_answer_comes_back() -> None:
    """A peer that leaves everything is over its budget, and the caller sees by how much."""
    calls: list[Request] = []

    def stubborn(request: Request) -> Answer:
        calls.append(request)
        return Answer(tuple(request.messages), 1.0, moves=False)

    found = fit_to_budget(stubborn, asking([10] * 20, 60), count)
    assert not isinstance(found, Failure)
    assert found.tokens == 200
    assert [request.pressed for request in calls] == [False, True]


def test_the_first_failure_ends_the_search() -> None:
    """A peer that hangs is not asked eight times."""
    calls: list[Request] = []

    def hangs(request: Request) -> Failure:
        calls.append(request)
        return Failure("no answer within 1 seconds")

    assert fit_to_budget(hangs, asking([10], 5), count) == Failure("no answer within 1 seconds")
    assert len(calls) == 1
