"""The pace of a run: in no minute more than was said, and never slower than it must be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldaway.trajectories.model_client import RateLimit
from foldaway.trajectories.policy import RequestLimits

SECONDS = st.floats(0, 90, allow_nan=False)
ASKED = st.lists(st.tuples(SECONDS, st.integers(0, 60)), max_size=40)
LIMITS = st.tuples(st.integers(0, 5), st.integers(0, 100))


def _begun(limits: RequestLimits, asked: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return when each request begins whose asker comes so many seconds after the one before."""
    pace, now, begun = RateLimit(limits), 0.0, list[tuple[float, int]]()
    for later, tokens in asked:
        now += later
        while (seconds := pace.wait(now, tokens)) > 0:
            now += seconds
        pace.begin(now, tokens)
        begun.append((now, tokens))
    return begun


@given(LIMITS, ASKED)
def test_no_minute_has_more_than_was_said(
    given_limits: tuple[int, int], asked: list[tuple[float, int]]
):
    """Counted from any request on; one that is larger than a minute has it for itself."""
    requests, tokens = given_limits
    begun = _begun(RequestLimits(requests_per_minute=requests, tokens_per_minute=tokens), asked)
    for first, _ in begun:
        minute = [cost for at, cost in begun if first <= at < first + 60]
        assert not requests or len(minute) <= requests
        assert not tokens or sum(minute) <= tokens or sum(cost > 0 for cost in minute) == 1


@given(ASKED)
def test_without_limits_nobody_waits(asked: list[tuple[float, int]]):
    """Every request begins when it comes."""
    pace = RateLimit(RequestLimits())
    for now, tokens in asked:
        assert pace.wait(now, tokens) == 0
        pace.begin(now, tokens)


def test_a_minute_is_used_to_the_full():
    """By hand: three at once, the fourth a minute after the first, the fifth after the second."""
    begun = _begun(RequestLimits(requests_per_minute=3), [(0, 1), (5, 1), (5, 1), (0, 1), (0, 1)])
    assert [at for at, _ in begun] == [0, 5, 10, 60, 65]
    begun = _begun(RequestLimits(tokens_per_minute=100), [(0, 60), (1, 30), (1, 40), (0, 500)])
    assert [at for at, _ in begun] == [0, 1, 60, 120]


def test_nothing_begins_before_the_provider_lets_it():
    """A pause that was asked for holds for everybody, and the longest of several counts."""
    pace = RateLimit(RequestLimits())
    pace.hold(7)
    pace.hold(3)
    assert pace.wait(2, 0) == 5
    assert pace.wait(7, 0) == 0
