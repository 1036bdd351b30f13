"""Means with bootstrap intervals."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.lab.results import mean_interval


@given(st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=30))
def test_an_interval_is_that_of_a_thousand_draws(values: list[float]) -> None:
    """However it is reckoned, it is the 2.5 and 97.5 % of a thousand means drawn with one seed."""
    draw = random.Random(20)
    means = sorted(sum(draw.choices(values, k=len(values))) / len(values) for _ in range(1000))
    found = mean_interval(values)
    assert found is not None
    assert found.sessions == len(values)
    assert found.mean == pytest.approx(sum(values) / len(values), abs=1e-5)
    assert (found.low, found.high) == pytest.approx((means[25], means[974]), abs=1e-5)


def test_without_sessions_there_is_no_figure() -> None:
    """Nothing is not 0."""
    assert mean_interval([]) is None
