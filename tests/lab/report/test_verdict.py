"""Verdicts: only what the intervals of paired differences bear out; no plotting is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway.lab.report.verdict import (
    LEAST_SESSIONS,
    MAIN_SCORES,
    ScoreDifference,
    basis_of,
    compare_at_budget,
    compare_strategies,
    describe_over_budget,
    drift_changes,
    drifts_of,
    format_difference,
    format_sign,
    join_names,
    list_losses,
    list_own,
    list_rivals,
    write_headline,
)
from foldaway.lab.results import MeanInterval, ScoreRow, mean_interval

Make = Callable[..., Any]


def row(session: int, strategy: str, cut: int = 1, **rates: float | None) -> ScoreRow:
    """Return a row of one family at one budget."""
    return ScoreRow(
        part="cut", session=str(session), family="f", strategy=strategy, cut=cut, budget=0.2,
        tokens_before=100, allowed=20, tokens=20, rates=dict(rates),
    )  # fmt: skip


def difference(figure: str, low: float, high: float, sessions: int = 10) -> ScoreDifference:
    """Return a difference with this interval."""
    return ScoreDifference(
        part="cut", family="f", budget=0.2, steps=1, figure=figure, other="o",
        by=MeanInterval((low + high) / 2, low, high, sessions),
    )  # fmt: skip


SCORED = st.floats(0, 1, allow_nan=False)


@given(st.lists(st.tuples(SCORED, SCORED), min_size=1, max_size=12))
def test_ahead_is_said_only_where_the_interval_is_above_zero(
    pairs: list[tuple[float, float]],
) -> None:
    """Ahead, behind or neither follows from the interval of the differences alone."""
    rows = [
        made
        for at, (mine, other) in enumerate(pairs)
        for made in (row(at, "foldaway", bound=mine), row(at, "other", bound=other))
    ]
    (found,) = compare_strategies(rows)
    assert found.by == mean_interval([mine - other for mine, other in pairs])
    if len(pairs) < LEAST_SESSIONS:
        assert found.standing == "too few"
    else:
        assert (found.standing == "ahead") == (found.by.low > 0)
        assert (found.standing == "behind") == (found.by.high < 0)


@each_row(
    ("figure", "low", "high", "said"),
    [
        ("bound", 0.01, 0.2, "ahead"), ("bound", 0.0, 0.2, "even"), ("bound", -0.2, 0.2, "even"),
        ("bound", -0.2, 0.0, "even"), ("bound", -0.2, -0.01, "behind"),
        ("stale", -0.2, -0.01, "ahead"), ("cost", 0.01, 0.2, "behind"), ("cost", 0, 0.1, "even"),
    ],
)  # fmt: skip
def test_less_is_better_turns_the_sides(figure: str, low: float, high: float, said: str) -> None:
    """An interval that touches zero says nothing; of stale values and cost, less is ahead."""
    assert difference(figure, low, high).standing == said
    assert difference(figure, low, high, LEAST_SESSIONS - 1).standing == "too few"


def test_differences_are_of_the_same_cuts() -> None:
    """Where the other failed at a cut, Foldaway's score there does not count either."""
    rows = [
        row(1, "foldaway", cut=1, bound=0.9), row(1, "foldaway", cut=2, bound=0.1),
        row(1, "other", cut=1, bound=0.8), replace(row(1, "other", cut=2), failed="no"),
    ]  # fmt: skip
    (found,) = compare_strategies(rows)
    assert found.by.mean == pytest.approx(0.1)
    assert found.by.sessions == 1


def test_a_session_counts_once_however_often_it_is_cut() -> None:
    """The mean is over sessions, each the mean of its cuts."""
    rows = [
        row(1, "foldaway", cut=1, bound=1.0), row(1, "foldaway", cut=2, bound=0.5),
        row(1, "other", cut=1, bound=0.0), row(1, "other", cut=2, bound=0.0),
        row(2, "foldaway", bound=0.25), row(2, "other", bound=0.0),
    ]  # fmt: skip
    (found,) = compare_strategies(rows)
    assert found.by.mean == 0.5
    assert found.by.sessions == 2


def test_who_takes_more_or_games_a_score_is_no_equal(make_run: Make) -> None:
    """Over the budget, or without usable text: not among those that Foldaway is held against."""
    run = make_run()
    terms = {line.strategy: basis_of(line) for line in run.summary.lines if line.figures}
    assert terms["masking-3"] == "over"
    assert terms["bare-list"] == "adversary"
    assert terms["head+tail"] == terms["peer"] == terms["foldaway"] == "equal"
    found = compare_at_budget(run.summary.lines, compare_strategies(run.rows), 0.2, MAIN_SCORES)
    assert {one.other for finding in found for one in finding.against} == {"head+tail", "peer"}


def test_the_headline_names_who_is_not_outdone(make_run: Make) -> None:
    """Ahead of all: said so. Otherwise each family says who is even or ahead."""
    run = make_run()
    found = compare_at_budget(run.summary.lines, compare_strategies(run.rows), 0.2, MAIN_SCORES)
    assert "ahead of every strategy" in write_headline(found, "bound")
    assert "in all of 2 families: coding and dialogue" in write_headline(found, "bound")
    worse = [
        replace(row, rates={**row.rates, "bound": 0.95})
        if (row.family, row.strategy) == ("coding", "peer")
        else row
        for row in run.rows
    ]
    lines = make_run().summary.lines
    found = compare_at_budget(lines, compare_strategies(worse), 0.2, MAIN_SCORES)
    said = write_headline(found, "bound")
    assert "in dialogue (1 of 2 families)" in said
    assert "in coding it is behind peer" in said


def test_who_took_more_is_told_apart(make_run: Make) -> None:
    """Ahead of Foldaway with more tokens is said as such, and so is behind it all the same."""
    run = make_run()
    worse = [
        replace(row, rates={**row.rates, "bound": 0.1})
        if (row.family, row.strategy) == ("coding", "masking-3")
        else row
        for row in run.rows
    ]
    found = compare_at_budget(
        run.summary.lines, compare_strategies(worse), 0.2, MAIN_SCORES, "over"
    )
    assert describe_over_budget(found, "bound") == (
        "Of those that took more tokens than allowed, on bound recall: Foldaway is ahead all the "
        "same of masking-3 (coding); ahead of Foldaway are masking-3 (dialogue)."
    )
    equals = compare_at_budget(run.summary.lines, compare_strategies(worse), 0.2, ["bound"])
    assert "masking-3" not in write_headline(equals, "bound")
    assert describe_over_budget([], "bound") == ""


def test_too_few_sessions_give_no_verdict(make_run: Make) -> None:
    """With five sessions nothing is ahead of anything."""
    run = make_run(sessions=LEAST_SESSIONS - 1)
    found = compare_at_budget(run.summary.lines, compare_strategies(run.rows), 0.2, MAIN_SCORES)
    assert all(one.standing == "too few" for finding in found for one in finding.against)
    assert "nothing can be said" in write_headline(found, "bound")
    assert list_rivals(run.summary, compare_strategies(run.rows), "coding") == []


def test_losses_are_those_of_the_intervals(make_run: Make) -> None:
    """Who is behind, over, dear, slow or wrong is listed; the others are not."""
    run = make_run()
    found = compare_strategies(run.rows)
    said = list_losses(run.summary, found)
    assert list(said) == ["coding", "dialogue"]
    figures = {one.figure for one in found if one.part == "cut" and one.budget == 0.2
               and one.standing == "behind" and one.other in ("head+tail", "peer")}  # fmt: skip
    assert figures == {"stale", "cost"}
    coding = " ".join(said["coding"])
    assert "stale values" in coding
    assert "bound recall" not in coding
    assert "over it" not in coding
    assert list_rivals(run.summary, found, "coding", "over")
    assert not any("copy4" in one for one in list_rivals(run.summary, found, "coding", "adversary"))


def test_drift_stands_on_the_same_sessions(make_run: Make) -> None:
    """A session without the most compactions of its family is in no point of the line."""
    run = make_run(families=("coding",))
    rows = [
        row
        for row in run.rows
        if not (row.part == "drift" and row.steps == 8 and row.session == "coding/0")
    ]
    for points in drifts_of(rows, "bound").values():
        assert {at.sessions for at in points.values()} == {6}
    most, by = drift_changes(rows, "bound")["coding", "foldaway"]
    assert (most, by.sessions) == (8, 6)


def test_the_agents_own_summary_is_held_against(make_run: Make) -> None:
    """In as many tokens: one sentence for each family and main score."""
    said = list_own(compare_strategies(make_run().rows))
    assert len(said) == 4
    assert all("Foldaway is ahead, +" in sentence for sentence in said)


def test_figures_in_words() -> None:
    """Signs, lists, and a single session, which has no interval."""
    assert [format_sign(value) for value in (0.1, -0.1, 0.001, -0.001, -250)] == [
        "+0.10", "−0.10", "0.00", "0.00", "−250",
    ]  # fmt: skip
    assert [join_names([]), join_names("a"), join_names("ab"), join_names("abc")] == [
        "", "a", "a and b", "a, b and c",
    ]  # fmt: skip
    assert format_difference(MeanInterval(0.1, 0.1, 0.1, 1)) == "+0.10"
