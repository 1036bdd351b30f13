"""Who is ahead of whom beyond chance: Holdfast minus each other strategy, session by session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.lab.rows import Part, Row
from holdfast.lab.scoring.score import RATES
from holdfast.lab.scoring.stats import Estimate, estimate, mean
from holdfast.lab.summary import COST, LESS_IS_BETTER, OVER, Line, values_of
from holdfast.lab.ways.registry import OURS, PLAIN

MAIN_SCORES = ("bound", "copy4")
"""The two that a list of bare facts cannot win: what a verdict is about first."""
COMPARED = (*RATES, COST)
LEAST_SESSIONS = 6
"""With five, all of which point one way, chance does as well once in sixteen; with six once in 32.
"""
OFTEN_OVER = 0.1
"""Who takes more than it was allowed in more than one of ten cuts is no equal."""

Standing: TypeAlias = Literal["ahead", "even", "behind", "too few"]
Terms: TypeAlias = Literal["equal", "over", "adversary"]
"""On which terms somebody is compared: with as many tokens, with more, or without usable text."""

ADVERSARIES = frozenset(way.name for way in PLAIN if way.kind == "adversary")


class Difference(Struct, frozen=True, kw_only=True):
    """Holdfast minus another strategy, in one figure of one table."""

    part: Part
    family: str
    budget: float
    steps: int
    figure: str
    other: str
    by: Estimate
    """Mean over the sessions that have both, cut by cut; its `sessions` is how many."""

    @property
    def standing(self) -> Standing:
        """Where Holdfast stands: ahead only where the whole interval is on its side."""
        if self.by.sessions < LEAST_SESSIONS:
            return "too few"
        low, high = self.by.low, self.by.high
        if self.figure in LESS_IS_BETTER:
            low, high = -high, -low
        return "ahead" if low > 0 else "behind" if high < 0 else "even"


class Finding(Struct, frozen=True, kw_only=True):
    """One score in one family: Holdfast's figure, and where it stands with each other strategy."""

    family: str
    figure: str
    ours: Estimate
    against: tuple[Difference, ...]

    def of(self, standing: Standing) -> list[Difference]:
        """Return the differences of one standing."""
        return [one for one in self.against if one.standing == standing]


def differences(rows: Sequence[Row], mine: str = OURS) -> list[Difference]:
    """Return a strategy minus each other one, wherever both have a figure of the same cut."""
    tables: dict[tuple[Part, str, float, int], dict[str, list[Row]]] = {}
    for row in rows:
        if not row.failed:
            key = (row.part, row.family, 0.0 if row.part == "own" else row.budget, row.steps)
            tables.setdefault(key, {}).setdefault(row.strategy, []).append(row)
    found: list[Difference] = []
    for (part, family, budget, steps), table in sorted(tables.items(), key=lambda item: item[0]):
        ours = _by_cut(table.get(mine, ()))
        for other, theirs in table.items():
            if other == mine:
                continue
            for figure, by in _paired(ours, _by_cut(theirs)):
                found.append(Difference(
                    part=part, family=family, budget=budget, steps=steps, figure=figure,
                    other=other, by=by,
                ))  # fmt: skip
    return found


def findings(
    lines: Sequence[Line], found: Sequence[Difference], budget: float, scores: Sequence[str],
    terms: Terms = "equal",
) -> list[Finding]:  # fmt: skip
    """Return how Holdfast stands at a budget, family by family, with those on the same terms."""
    on_terms = {
        (line.family, line.strategy): terms_of(line)
        for line in lines
        if line.part == "cut" and line.budget == budget and line.figures
    }
    made: list[Finding] = []
    for line in lines:
        if (line.part, line.budget, line.strategy) != ("cut", budget, OURS):
            continue
        for score in scores:
            if score in line.figures:
                against = tuple(
                    one
                    for one in found
                    if (one.part, one.family, one.budget) == ("cut", line.family, budget)
                    and one.figure == score
                    and on_terms.get((line.family, one.other)) == terms
                )
                made.append(Finding(
                    family=line.family, figure=score, ours=line.figures[score], against=against
                ))  # fmt: skip
    return made


def terms_of(line: Line) -> Terms:
    """Return on which terms a strategy is compared."""
    if line.strategy in ADVERSARIES:
        return "adversary"
    over = line.figures.get(OVER)
    return "over" if over is not None and over.mean > OFTEN_OVER else "equal"


def drifts(rows: Sequence[Row], figure: str) -> dict[tuple[str, str], dict[int, Estimate]]:
    """Return by family and strategy a figure after so many compactions.

    Only sessions that are long enough for the most compactions of their family count, so that all
    points of a line stand on the same ones.
    """
    found: dict[tuple[str, str], dict[int, Estimate]] = {}
    for place, sessions in _drifted(rows, figure).items():
        steps = sorted({step for one in sessions for step in one})
        points = {step: estimate([one[step] for one in sessions if step in one]) for step in steps}
        found[place] = {step: at for step, at in points.items() if at is not None}
    return found


def drift_changes(rows: Sequence[Row], figure: str) -> dict[tuple[str, str], tuple[int, Estimate]]:
    """Return by family and strategy the most compactions, and how a figure changed from one on.

    Session by session, over those that are long enough for the most.
    """
    found: dict[tuple[str, str], tuple[int, Estimate]] = {}
    for place, sessions in _drifted(rows, figure).items():
        most = max((step for one in sessions for step in one), default=0)
        by = estimate([one[most] - one[1] for one in sessions if most in one and 1 in one])
        if most > 1 and by is not None:
            found[place] = most, by
    return found


def _drifted(rows: Sequence[Row], figure: str) -> dict[tuple[str, str], list[dict[int, float]]]:
    """Return a figure by number of compactions, of each session that has the most of its family."""
    points: dict[tuple[str, str], dict[str, dict[int, float]]] = defaultdict(dict)
    most: dict[str, int] = {}
    for row in rows:
        value = values_of(row)[figure] if row.part == "drift" and not row.failed else None
        if value is not None:
            points[row.family, row.strategy].setdefault(row.session, {})[row.steps] = value
            most[row.family] = max(row.steps, most.get(row.family, 0))
    return {
        place: [one for one in sessions.values() if most[place[0]] in one]
        for place, sessions in points.items()
    }


def _by_cut(rows: Sequence[Row]) -> dict[tuple[str, int], dict[str, float | None]]:
    return {(row.session, row.cut): values_of(row) for row in rows}


def _paired(
    ours: Mapping[tuple[str, int], Mapping[str, float | None]],
    theirs: Mapping[tuple[str, int], Mapping[str, float | None]],
) -> Iterator[tuple[str, Estimate]]:
    """Yield by figure the mean difference over sessions, each of which is that of its cuts."""
    for figure in COMPARED:
        sessions: dict[str, list[float | None]] = defaultdict(list)
        for place, values in ours.items():
            mine, other = values[figure], theirs.get(place, {}).get(figure)
            if mine is not None and other is not None:
                sessions[place[0]].append(mine - other)
        means = [value for value in map(mean, sessions.values()) if value is not None]
        if (by := estimate(means)) is not None:
            yield figure, by
