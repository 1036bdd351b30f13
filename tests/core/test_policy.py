"""Settings and the budgets that follow from them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway._core.policy import Policy, budget_for, fit_budget
from foldaway.errors import InvalidSetting


def test_the_budgets_of_a_window_of_200_000() -> None:
    """Threshold 100,000, tail 20,000, summary at most 10,000."""
    budget = budget_for(Policy(), 200_000)
    assert (budget.threshold_tokens, budget.tail_tokens, budget.summary_max_tokens) == (
        100_000, 20_000, 10_000,
    )  # fmt: skip
    assert (budget.pressure_tokens, budget.hard_tokens) == (85_000, 170_000)


@each_row("window", [100, 8_000, 63_999, 64_000, 64_001, 75_000])
def test_a_small_window_gets_a_threshold_below_it(window: int) -> None:
    """Where the floor would reach the window it is 85 % of it; the floor holds above that."""
    budget = budget_for(Policy(), window)
    assert budget.threshold_tokens < window
    assert budget.threshold_tokens == (64_000 if window > 64_000 else int(window * 0.85))


@given(
    window=st.integers(1, 2_000_000), reserved=st.integers(0, 100_000),
    threshold=st.floats(0.01, 1), ratio=st.floats(0.1, 0.8), floor=st.integers(0, 200_000),
)  # fmt: skip
def test_budgets_fit_into_each_other(
    window: int, reserved: int, threshold: float, ratio: float, floor: int
) -> None:
    """Pressure <= threshold <= hard <= window; the summary has a least and a most,
    in this order."""
    policy = Policy(threshold=threshold, target_ratio=ratio, floor_tokens=floor)
    if window <= reserved:
        with pytest.raises(InvalidSetting, match="context_length"):
            budget_for(policy, window, output_tokens=reserved)
        return
    budget = budget_for(policy, window, output_tokens=reserved)
    assert budget.effective_window == window - reserved
    assert budget.pressure_tokens <= budget.threshold_tokens <= budget.hard_tokens
    assert budget.hard_tokens <= budget.effective_window
    assert 1 <= budget.summary_min_tokens <= budget.summary_max_tokens <= 12_000


@each_row(("most", "window", "bounds"), [
    (12_000, 1_000_000, (2_000, 12_000)), (12_000, 20_000, (1_000, 1_000)),
    (500, 1_000_000, (500, 500)), (1, 100, (1, 1)), (12_000, 10, (1, 1)),
])  # fmt: skip
def test_a_summary_has_at_least_2_000_unless_its_most_is_less(
    most: int, window: int, bounds: tuple[int, int]
) -> None:
    """Its most is the setting or 5 % of the window; in between it has a fifth of what is folded,
    and an older summary in full."""
    budget = budget_for(Policy(summary_tokens=most), window)
    least, most = budget.summary_min_tokens, budget.summary_max_tokens
    assert (least, most) == bounds
    assert (budget.summary_room(0), budget.summary_room(10**9)) == bounds
    assert budget.summary_room(20_000, 100) == min(max(4_100, least), most)


def test_the_newest_messages_stay_whole_in_half_of_the_room_before_the_threshold() -> None:
    """A compaction that is made to save money leaves no more; one that is due leaves them whole as
    long as the result has at most half of the threshold, and in a size that was asked for it is
    half of the room again."""
    budget = budget_for(Policy(), 200_000)
    assert budget.protected_tokens(100_000, 10_000, 20_000) == 30_000
    assert fit_budget(budget, 100_000).protected_tokens(100_000, 10_000, 20_000) == 30_000
    assert budget.protected_tokens(40_000, 2_000, 8_000) == 14_000
    assert fit_budget(budget, 40_000).protected_tokens(40_000, 2_000, 8_000) == 4_000
    asked = budget_for(Policy(), 200_000, target_tokens=30_000)
    assert asked.protected_tokens(100_000, 10_000, 20_000) == 10_000


def test_a_policy_that_was_stored_by_an_older_version_is_read() -> None:
    """Fields that are gone are passed over, the others hold."""
    old = {"threshold": 0.4, "summary_max_tokens": 900, "arrival_tokens": 5, "pressure": 0.7}
    assert msgspec.convert(old, Policy) == Policy(threshold=0.4)


@each_row(("name", "value"), [
    ("threshold", -0.1), ("threshold", 1.1), ("threshold", float("nan")), ("target_ratio", 0.09),
    ("target_ratio", 0.81), ("protect_last", 0), ("protect_first", -1), ("min_tail", 0),
    ("floor_tokens", -1), ("hard_threshold", 2.0), ("summary_tokens", 0),
    ("save", "some"), ("arrival", "some"), ("arrival_tools", {"Bash": -1}),
])  # fmt: skip
def test_a_setting_out_of_range_is_named(name: str, value: Any) -> None:
    """With its value and what it must be."""
    with pytest.raises(InvalidSetting) as caught:
        Policy(**{name: value})
    assert caught.value.name == name
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)


@each_row(("name", "value"), [
    ("threshold", 0.0), ("threshold", 1.0), ("target_ratio", 0.10), ("target_ratio", 0.80),
    ("protect_last", 1),
])  # fmt: skip
def test_the_ends_of_a_range_belong_to_it(name: str, value: Any) -> None:
    """Limits are inclusive."""
    assert getattr(Policy(**{name: value}), name) == value


def test_a_target_below_one_is_refused() -> None:
    """A size must be a size."""
    with pytest.raises(InvalidSetting, match="target_tokens"):
        budget_for(Policy(), 200_000, target_tokens=0)
