"""Who is ahead of whom beyond chance, session by session, and the same in sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway.lab.figures import COST, LESS_IS_BETTER, OVER, RATES, SPEED, USED, title_of
from foldaway.lab.results import (
    ADVERSARIES,
    OURS,
    OWN,
    MeanInterval,
    Part,
    RunSummary,
    ScoreLine,
    ScoreRow,
    group_by_table,
    mean,
    mean_interval,
    values_of,
)

MAIN_SCORES = ("bound", "copy4")
"""The two that a list of bare facts cannot win: what a verdict is about first."""
COMPARED = (*RATES, COST)
LEAST_SESSIONS = 6
"""Five that all point one way come about by chance once in sixteen, six once in 32."""
OFTEN_OVER = 0.1
"""Who takes more than it was allowed in more than one of ten cuts is not an equal."""

Standing: TypeAlias = Literal["ahead", "even", "behind", "too few"]
Basis: TypeAlias = Literal["equal", "over", "adversary"]
"""On which terms somebody is compared: with as many tokens, with more, or without usable text."""
_WITH_MORE: tuple[tuple[Standing, str], ...] = (
    ("ahead", "Foldaway is ahead all the same of"),
    ("behind", "ahead of Foldaway are"),
)
_STANDINGS: Mapping[Standing, str] = {
    "ahead": "Foldaway is ahead",
    "behind": "Foldaway is behind",
    "even": "not apart",
    "too few": "too few sessions to say",
}


class ScoreDifference(Struct, frozen=True, kw_only=True):
    """Foldaway minus another strategy, in one figure of one table."""

    part: Part
    family: str
    budget: float
    steps: int
    figure: str
    other: str
    by: MeanInterval
    """Mean over the sessions that have both, cut by cut; its `sessions` is how many."""

    @property
    def standing(self) -> Standing:
        """Where Foldaway stands: ahead only where the whole interval is on its side."""
        if self.by.sessions < LEAST_SESSIONS:
            return "too few"
        low, high = self.by.low, self.by.high
        if self.figure in LESS_IS_BETTER:
            low, high = -high, -low
        return "ahead" if low > 0 else "behind" if high < 0 else "even"


class ScoreFinding(Struct, frozen=True, kw_only=True):
    """One score in one family: Foldaway's figure, and where it stands with each other strategy."""

    family: str
    figure: str
    ours: MeanInterval
    against: tuple[ScoreDifference, ...]

    def of(self, standing: Standing) -> list[ScoreDifference]:
        """Return the differences of one standing."""
        return [one for one in self.against if one.standing == standing]


def compare_strategies(rows: Sequence[ScoreRow], mine: str = OURS) -> list[ScoreDifference]:
    """Return a strategy minus each other one, wherever both have a figure of the same cut."""
    found: list[ScoreDifference] = []
    tables = group_by_table(row for row in rows if not row.failed)
    for (part, family, budget, steps), table in tables:
        ours = _group_by_cut(table.get(mine, ()))
        for other, theirs in table.items():
            if other == mine:
                continue
            for figure, by in _pair_means(ours, _group_by_cut(theirs)):
                found.append(
                    ScoreDifference(
                        part=part,
                        family=family,
                        budget=budget,
                        steps=steps,
                        figure=figure,
                        other=other,
                        by=by,
                    )
                )
    return found


def compare_at_budget(
    lines: Sequence[ScoreLine],
    found: Sequence[ScoreDifference],
    budget: float,
    scores: Sequence[str],
    basis: Basis = "equal",
) -> list[ScoreFinding]:
    """Return how Foldaway stands at a budget, family by family, with those on the same terms."""
    by_basis = {
        (line.family, line.strategy): basis_of(line)
        for line in lines
        if line.part == "cut" and line.budget == budget and line.figures
    }
    made: list[ScoreFinding] = []
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
                    and by_basis.get((line.family, one.other)) == basis
                )
                made.append(
                    ScoreFinding(
                        family=line.family, figure=score, ours=line.figures[score], against=against
                    )
                )
    return made


def basis_of(line: ScoreLine) -> Basis:
    """Return on which terms a strategy is compared."""
    if line.strategy in ADVERSARIES:
        return "adversary"
    over = line.figures.get(OVER)
    return "over" if over is not None and over.mean > OFTEN_OVER else "equal"


def drifts_of(
    rows: Sequence[ScoreRow], figure: str
) -> dict[tuple[str, str], dict[int, MeanInterval]]:
    """Return by family and strategy a figure after each number of compactions.

    Only sessions that are long enough for the most compactions of their family count, so that all
    points of a line stand on the same ones.
    """
    found: dict[tuple[str, str], dict[int, MeanInterval]] = {}
    for place, sessions in _compute_session_drifts(rows, figure).items():
        steps = sorted({step for one in sessions for step in one})
        points = {
            step: mean_interval([one[step] for one in sessions if step in one]) for step in steps
        }
        found[place] = {step: at for step, at in points.items() if at is not None}
    return found


def drift_changes(
    rows: Sequence[ScoreRow], figure: str
) -> dict[tuple[str, str], tuple[int, MeanInterval]]:
    """Return by family and strategy the most compactions, and how a figure changed from one on.

    Session by session, over those that are long enough for the most.
    """
    found: dict[tuple[str, str], tuple[int, MeanInterval]] = {}
    for place, sessions in _compute_session_drifts(rows, figure).items():
        most = max((step for one in sessions for step in one), default=0)
        by = mean_interval([one[most] - one[1] for one in sessions if most in one and 1 in one])
        if most > 1 and by is not None:
            found[place] = most, by
    return found


def _compute_session_drifts(
    rows: Sequence[ScoreRow], figure: str
) -> dict[tuple[str, str], list[dict[int, float]]]:
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


def _group_by_cut(rows: Sequence[ScoreRow]) -> dict[tuple[str, int], dict[str, float | None]]:
    return {(row.session, row.cut): values_of(row) for row in rows}


def _pair_means(
    ours: Mapping[tuple[str, int], Mapping[str, float | None]],
    theirs: Mapping[tuple[str, int], Mapping[str, float | None]],
) -> Iterator[tuple[str, MeanInterval]]:
    """Yield by figure the mean difference over sessions, each of which is that of its cuts."""
    for figure in COMPARED:
        sessions: dict[str, list[float | None]] = defaultdict(list)
        for place, values in ours.items():
            mine, other = values[figure], theirs.get(place, {}).get(figure)
            if mine is not None and other is not None:
                sessions[place[0]].append(mine - other)
        means = [value for value in map(mean, sessions.values()) if value is not None]
        if (by := mean_interval(means)) is not None:
            yield figure, by


def write_headline(found: Sequence[ScoreFinding], figure: str) -> str:
    """Return one sentence on a score: in which families Foldaway leads, and in which not."""
    mine = [one for one in found if one.figure == figure and one.against]
    judged = [one for one in mine if len(one.of("too few")) < len(one.against)]
    if not judged:
        return (
            f"On {title_of(figure)} nothing can be said: no family has {LEAST_SESSIONS} sessions "
            "in which Foldaway and another strategy were both scored."
        )
    first = [one.family for one in judged if len(one.of("ahead")) == len(one.against)]
    rest = [_describe_other(one) for one in judged if one.family not in first]
    total = f"{len(judged)} {'family' if len(judged) == 1 else 'families'}"
    if not rest:
        where = f"all of {total}: {join_names(first)}" if len(first) > 1 else first[0]
        return (
            f"On {title_of(figure)} Foldaway is ahead of every strategy that kept to the same "
            f"number of tokens, in {where}."
        )
    lead = (
        f"is ahead of every strategy that kept to the same number of tokens in {join_names(first)} "
        f"({len(first)} of {total})"
        if first
        else f"leads all strategies that kept to the same number of tokens in none of {total}"
    )
    return f"On {title_of(figure)} Foldaway {lead}; {'; '.join(rest)}."


def describe_over_budget(found: Sequence[ScoreFinding], figure: str) -> str:
    """Return one sentence on those that took more tokens than allowed, and stand apart from it.

    "" if there are none.
    """
    mine = [one for one in found if one.figure == figure and one.against]
    said: list[str] = []
    for standing, words in _WITH_MORE:
        where: dict[str, list[str]] = {}
        for one in mine:
            for row in one.of(standing):
                where.setdefault(row.other, []).append(one.family)
        names = [
            name if len(families) == len(mine) else f"{name} ({', '.join(families)})"
            for name, families in where.items()
        ]
        if names:
            said.append(f"{words} {join_names(names)}")
    if not said:
        return ""
    return f"Of those that took more tokens than allowed, on {title_of(figure)}: {'; '.join(said)}."


def _describe_other(one: ScoreFinding) -> str:
    said = [
        f"{word} {join_names(row.other for row in rows)}"
        for word, rows in (
            ("behind", one.of("behind")),
            ("not apart from", one.of("even")),
            ("not comparable with", one.of("too few")),
        )
        if rows
    ]
    return f"in {one.family} it is {' and '.join(said)}"


def list_own(found: Sequence[ScoreDifference]) -> list[str]:
    """Return how Foldaway stands to summaries that agents wrote themselves, in as many tokens."""
    return [
        f"{one.family}, {title_of(one.figure)}: {_STANDINGS[one.standing]}, "
        f"{format_difference(one.by)}, {one.by.sessions} session{'s' * (one.by.sessions != 1)}."
        for one in found
        if one.part == "own" and one.other == OWN and one.figure in MAIN_SCORES
    ]


def list_drifts(rows: Sequence[ScoreRow], scores: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what the most compactions in a row change for Foldaway, beside a single one.

    A row is family, strategy, compactions, sessions, and the change of each score.
    """
    changes = {score: drift_changes(rows, score) for score in scores}
    places = sorted({place for found in changes.values() for place in found})
    said: list[tuple[str, ...]] = []
    for place in places:
        if place[1].startswith(OURS):
            known = {score: found[place] for score, found in changes.items() if place in found}
            most, sessions = max((most, by.sessions) for most, by in known.values())
            cells = [
                format_difference(known[score][1]) if score in known else "–" for score in scores
            ]
            said.append((*place, str(most), str(sessions), *cells))
    return said


def describe_loss(one: ScoreDifference) -> str:
    """Return in words by how much another strategy is ahead of Foldaway."""
    by = one.by
    mean, low, high = abs(by.mean), *sorted((abs(by.low), abs(by.high)))
    spread = f"{format_number(low)} to {format_number(high)}"
    return f"{one.other} by {format_number(mean)} ({spread})"


def format_difference(by: MeanInterval) -> str:
    """Return a difference with its interval."""
    return with_interval(by, format_sign)


def format_interval(found: MeanInterval) -> str:
    """Return a mean with its interval."""
    return with_interval(found, format_number)


def with_interval(found: MeanInterval, form: Callable[[float], str], between: str = " to ") -> str:
    """Return a mean with its interval in brackets; one session has none."""
    if found.sessions == 1:
        return form(found.mean)
    return f"{form(found.mean)} ({form(found.low)}{between}{form(found.high)})"


def format_sign(value: float) -> str:
    """Return a difference: + or − before it, unless it shows as nothing."""
    shown = format_number(abs(value))
    return shown if float(shown) == 0 else f"{'+' if value > 0 else '−'}{shown}"


def format_number(value: float) -> str:
    """Return a figure with two places, a large one without."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def join_names(names: Iterable[str]) -> str:
    """Return names in a row, the last two with an `and`."""
    rows = list(names)
    return " and ".join([", ".join(rows[:-1]), rows[-1]] if len(rows) > 1 else rows)


def list_losses(summary: RunSummary, found: Sequence[ScoreDifference]) -> dict[str, list[str]]:
    """Return by family what speaks against Foldaway at the main budget, a sentence each."""
    at_main = [
        line
        for line in summary.lines
        if line.part == "cut" and line.budget == summary.manifest.main
    ]
    said: dict[str, list[str]] = {}
    for line in at_main:
        if line.strategy == OURS and line.figures:
            rivals = [one for one in at_main if one.family == line.family and one is not line]
            rows = [
                *list_rivals(summary, found, line.family),
                *_list_costs(line),
                *_list_over(line),
                *_slow(line, rivals),
                *_list_faults(line),
            ]
            said[line.family] = rows
    return said


def list_rivals(
    summary: RunSummary, found: Sequence[ScoreDifference], family: str, basis: Basis = "equal"
) -> list[str]:
    """Return who is ahead of Foldaway in which score, beyond chance."""
    return [
        f"{title_of(one.figure)} ({format_number(one.ours.mean)}): "
        f"behind {join_names(map(describe_loss, worse))}."
        for one in compare_at_budget(summary.lines, found, summary.manifest.main, COMPARED, basis)
        if one.family == family and (worse := one.of("behind"))
    ]


def _list_costs(line: ScoreLine) -> Iterator[str]:
    cost = line.figures.get(COST)
    if cost is not None and cost.low > 1:
        yield f"Cost: the compaction cost more than it saved, {format_interval(cost)}."
    elif cost is not None and cost.high > 1:
        yield f"Cost: whether it paid for itself is not certain, {format_interval(cost)}."


def _list_over(line: ScoreLine) -> Iterator[str]:
    over, used = line.figures.get(OVER), line.figures.get(USED)
    if over is not None and used is not None and over.mean > 0:
        yield (
            f"Budget: over it in {over.mean * 100:.0f} % of the cuts, {format_number(used.mean)} "
            "times the tokens asked for on the mean; the others were given as many."
        )


def _slow(line: ScoreLine, rivals: Sequence[ScoreLine]) -> Iterator[str]:
    mine = line.figures.get(SPEED)
    times = {one.strategy: one.figures[SPEED].mean for one in rivals if SPEED in one.figures}
    if mine is None or not times:
        return
    faster = [name for name, value in times.items() if value < mine.mean]
    if faster:
        best = min(times, key=lambda name: times[name])
        yield (
            f"CPU (a time): {format_number(mine.mean)} ms per 100,000 tokens; {len(faster)} of "
            f"{len(times)} others take less, {best} {format_number(times[best])} ms."
        )


def _list_faults(line: ScoreLine) -> Iterator[str]:
    for name, count in line.counts.items():
        if count:
            yield f"Faults: {count} {name}."
    broken = {name: count for name, count in (line.violations or {}).items() if count}
    if broken:
        rows = [f"{count} for {name}" for name, count in broken.items()]
        yield f"Faults: broken rules of providers, {join_names(rows)}."
    if line.failed:
        yield f"Faults: {line.failed}."
