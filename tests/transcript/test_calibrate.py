from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.transcript import Calibration
from foldaway.transcript.estimate import HIGHEST_RATIO, LOWEST_RATIO

counts = st.integers(min_value=-10, max_value=10**7)


@given(st.floats(LOWEST_RATIO, HIGHEST_RATIO), st.lists(st.integers(1_000, 10**6), min_size=3))
def test_three_reports_bring_the_estimate_within_three_percent(k: float, sizes: list[int]) -> None:
    """Where the true count is k times the estimate, the calibrated one meets it."""
    calibration = Calibration()
    for size in sizes:
        calibration = calibration.observe("m", size, round(size * k))
    assert calibration.apply("m", 100_000) == pytest.approx(100_000 * k, rel=0.03)


@given(st.floats(0.6, 2.5), st.integers(0, 2), st.floats(0.01, 100))
def test_one_wrong_report_among_three_is_outvoted(k: float, place: int, wrong: float) -> None:
    """An outlier moves the ratio by no more than what still agrees with the rest."""
    calibration = Calibration()
    for index in range(3):
        calibration = calibration.observe(
            "m", 10_000, round(10_000 * (wrong if index == place else k))
        )
    assert calibration.ratio("m") == pytest.approx(k, rel=0.15)


@given(st.lists(st.tuples(counts, counts)))
def test_no_report_can_break_the_limits(reports: list[tuple[int, int]]) -> None:
    """Whatever was reported, the ratio stays within its limits and zero stays zero."""
    calibration = Calibration()
    for estimated, reported in reports:
        calibration = calibration.observe("m", estimated, reported)
    assert LOWEST_RATIO <= calibration.ratio("m") <= HIGHEST_RATIO
    assert calibration.apply("m", 0) == 0
    assert calibration.apply("m", 1) >= 1


@each_row(("estimated", "reported"), [(0, 5), (5, 0), (-5, 5), (5, -5), (0, 0)])
def test_nonsense_changes_nothing(estimated: int, reported: int) -> None:
    """A report without a positive pair of counts is as if it had not been made."""
    before = Calibration().observe("m", 100, 120)
    assert before.observe("m", estimated, reported) == before


def test_models_are_calibrated_apart() -> None:
    """What one model reports says nothing about another."""
    calibration = Calibration().observe("a", 100, 150).observe("b", 100, 80).observe("a", 100, 150)
    assert [calibration.apply(model, 1_000) for model in ("a", "b", "c")] == [1_500, 800, 1_000]
    assert {known.model: known.samples for known in calibration.models} == {"a": 2, "b": 1}


def test_a_calibration_survives_being_written_and_read() -> None:
    """It is part of the compaction state, so it is plain data."""
    calibration = Calibration().observe("a", 100, 150)
    assert msgspec.json.decode(msgspec.json.encode(calibration), type=Calibration) == calibration
