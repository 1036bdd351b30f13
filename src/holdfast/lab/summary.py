"""The rows of a run as a table: means over sessions with intervals, and differences to a base."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.lab.rows import Part, Row
from holdfast.lab.scoring.score import COUNTS, RATES
from holdfast.lab.scoring.stats import Estimate, estimate, mean
from holdfast.lab.ways.registry import BASE

USED, OVER, COST, SPEED = "used", "over", "cost", "ms per 100K"
FIGURES = (*RATES, USED, OVER, COST, SPEED)
LESS_IS_BETTER = frozenset({"stale", OVER, COST, SPEED})
_TOKENS = 100_000


class Line(Struct, frozen=True, kw_only=True):
    """One strategy in one family, at one budget or after so many compactions."""

    part: Part
    family: str
    strategy: str
    budget: float
    """0 where each session has its own: what its agent's summary took."""
    steps: int
    sessions: int
    cuts: int
    figures: dict[str, Estimate]
    """By name; a figure that no session has is left out."""
    against: dict[str, Estimate]
    """The same minus those of head+tail, session by session."""
    counts: dict[str, int]
    violations: dict[str, int] | None
    failed: str = ""
    """Why there are no figures, or with how many cuts it failed."""


def summarise(rows: Sequence[Row]) -> list[Line]:
    """Return a line for each family, budget, number of compactions and strategy.

    A session counts once: its cuts are averaged first. The order is that of the rows.
    """
    groups: dict[tuple[Part, str, float, int], dict[str, list[Row]]] = {}
    for row in rows:
        budget = 0.0 if row.part == "own" else row.budget
        group = groups.setdefault((row.part, row.family, budget, row.steps), {})
        group.setdefault(row.strategy, []).append(row)
    lines: list[Line] = []
    for (part, family, budget, steps), group in sorted(groups.items(), key=_order):
        base = _by_session(group.get(BASE, ()))
        for strategy, mine in group.items():
            lines.append(_line((part, family, budget, steps), strategy, mine, base))
    return lines


def _order(item: tuple[tuple[Part, str, float, int], object]) -> tuple[str, str, float, int]:
    part, family, budget, steps = item[0]
    return part, family, budget, steps


def _line(
    key: tuple[Part, str, float, int], strategy: str, rows: Sequence[Row],
    base: dict[str, dict[str, float]],
) -> Line:  # fmt: skip
    part, family, budget, steps = key
    made = [row for row in rows if not row.failed]
    by_session = _by_session(made)
    failed = [row.failed for row in rows if row.failed]
    said = "" if not failed else failed[0] if not made else f"{len(failed)} cuts: {failed[0]}"
    checked = [row.violations for row in made if row.violations is not None]
    broken: Counter[str] = Counter()
    for one in checked:
        broken.update(one)
    return Line(
        part=part, family=family, strategy=strategy, budget=budget, steps=steps,
        sessions=len(by_session), cuts=len(made),
        figures=_figures(by_session), against=_against(by_session, base),
        counts={name: sum(row.counts.get(name, 0) for row in made) for name in COUNTS},
        violations=dict(broken) if checked else None,
        failed=said,
    )  # fmt: skip


def _by_session(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """Return the figures of each session, its cuts averaged."""
    cuts: dict[str, list[dict[str, float | None]]] = defaultdict(list)
    for row in rows:
        if not row.failed:
            cuts[row.session].append(values_of(row))
    found: dict[str, dict[str, float]] = {}
    for session, values in cuts.items():
        means = {name: mean([value[name] for value in values]) for name in FIGURES}
        found[session] = {name: value for name, value in means.items() if value is not None}
    return found


def values_of(row: Row) -> dict[str, float | None]:
    """Return the figures of a row; None where there was nothing to hold."""
    return {
        **{name: row.rates.get(name) for name in RATES},
        USED: row.used,
        OVER: float(row.is_over),
        COST: row.cost,
        SPEED: row.cpu_ms / row.tokens_before * _TOKENS if row.tokens_before else None,
    }


def _figures(by_session: dict[str, dict[str, float]]) -> dict[str, Estimate]:
    found = {
        name: estimate([values[name] for values in by_session.values() if name in values])
        for name in FIGURES
    }
    return {name: value for name, value in found.items() if value is not None}


def _against(
    mine: dict[str, dict[str, float]], base: dict[str, dict[str, float]]
) -> dict[str, Estimate]:
    found: dict[str, Estimate] = {}
    for name in RATES:
        pairs = [
            values[name] - base[session][name]
            for session, values in mine.items()
            if name in values and name in base.get(session, {})
        ]
        if (made := estimate(pairs)) is not None:
            found[name] = made
    return found
