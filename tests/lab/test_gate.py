"""The gate: what counts as a fall."""

from __future__ import annotations

from msgspec.structs import replace

from foldaway.lab.output import find_falls
from foldaway.lab.results import MeanInterval, ScoreLine

BEFORE = ScoreLine(
    part="cut", family="f", strategy="foldaway", budget=0.2, steps=1, sessions=9, cuts=27,
    figures={"bound": MeanInterval(0.8, 0.7, 0.9, 9), "stale": MeanInterval(0.1, 0.0, 0.2, 9)},
    against={}, counts={"invented": 0, "bad refs": 0, "leaked": 0},
    violations={"anthropic": 0}, failed="",
)  # fmt: skip


def test_a_score_may_move_within_its_interval() -> None:
    """The same run, and one at the end of the interval, pass."""
    edge = replace(BEFORE, figures=BEFORE.figures | {"bound": MeanInterval(0.7, 0.6, 0.8, 9)})
    assert find_falls([BEFORE], [BEFORE], "foldaway") == []
    assert find_falls([BEFORE], [edge], "foldaway") == []


def test_what_leaves_its_interval_downwards_has_fallen() -> None:
    """A score below it, and a stale share above it; better ones have not."""
    worse = {"bound": MeanInterval(0.69, 0.6, 0.8, 9), "stale": MeanInterval(0.3, 0.2, 0.4, 9)}
    found = find_falls([BEFORE], [replace(BEFORE, figures=worse)], "foldaway")
    assert [(fall.figure, fall.bound, fall.now) for fall in found] == [
        ("bound", 0.7, 0.69), ("stale", 0.2, 0.3),
    ]  # fmt: skip
    better = {"bound": MeanInterval(0.99, 0.9, 1.0, 9), "stale": MeanInterval(0.0, 0.0, 0.0, 9)}
    assert find_falls([BEFORE], [replace(BEFORE, figures=better)], "foldaway") == []


def test_one_more_fault_is_one_too_many() -> None:
    """Inventions and broken rules have no interval."""
    now = replace(BEFORE, counts=BEFORE.counts | {"invented": 1}, violations={"anthropic": 2})
    found = find_falls([BEFORE], [now], "foldaway")
    assert [fall.figure for fall in found] == ["invented", "violations"]


def test_what_is_missing_has_fallen_and_others_do_not_count() -> None:
    """A line without its counterpart falls whole; lines of other strategies are not asked."""
    assert {fall.figure for fall in find_falls([BEFORE], [], "foldaway")} == {"bound", "stale"}
    assert find_falls([BEFORE], [], "keep-tail") == []
