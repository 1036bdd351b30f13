"""The rows as tables for people, and as values for a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from scoring.run import Row
from scoring.score import COUNTS, RATES
from scoring.sessions import FAMILIES
from scoring.stats import Estimate, estimate
from scoring.strategies import FIRST, STRATEGIES

_WIDTH = 16
_COMPARED = ("head + tail", "keep tail", "random lines")
_OVER = 1.05
_LEGEND = """\
Means over sessions with 95 % bootstrap intervals; tokens by Holdfast's estimator. A row "− x" is
Holdfast minus x, session by session. used = tokens taken, as a share of the budget; over = share of
sessions with a view more than 5 % above it (then the baselines got as many tokens). far = facts
neither in the first message nor in the last tenth; bound = beside its own words; files P, R =
precision of the touched files that a summary claims, recall of those really touched."""


def print_tables(rows: Sequence[Row], budgets: Sequence[float]) -> None:
    """Print a table for each budget and family, with the differences to the baselines."""
    print(_LEGEND)
    for budget in budgets:
        for family in FAMILIES:
            here = [row for row in rows if row.family == family.name and row.budget == budget]
            if here:
                _print_family(family.name, budget, here)


def as_values(rows: Sequence[Row], *, with_missed: bool) -> dict[str, Any]:
    """Return all figures; what was missed stays away from those who must not tune on it."""
    table: list[dict[str, Any]] = []
    for family, budget in dict.fromkeys((row.family, row.budget) for row in rows):
        here = [row for row in rows if (row.family, row.budget) == (family, budget)]
        for name in STRATEGIES:
            mine = [row for row in here if row.strategy == name]
            cells = {rate: estimate(_known(mine, rate)) for rate in RATES}
            table.append(
                {"family": family, "budget": budget, "strategy": name, "used": _used(mine)}
                | {rate: asdict(found) if found else None for rate, found in cells.items()}
                | {count: sum(row.counts[count] for row in mine) for count in COUNTS}
            )
    values = [asdict(row) for row in rows]
    if not with_missed:
        for value in values:
            del value["missed"]
    return {"table": table, "rows": values}


def _print_family(family: str, budget: float, rows: Sequence[Row]) -> None:
    sessions = {row.session for row in rows}
    cases = sum(row.cases for row in rows if row.strategy == FIRST)
    print(f"\n{family} at {budget:.0%}: {len(sessions)} sessions, {cases} cuts")
    heads = "".join(f"{name:>{_WIDTH}}" for name in RATES)
    print(f"{'':15}{'used':>5}{'over':>6}{heads}", *COUNTS, sep="  ")
    for name in STRATEGIES:
        mine = [row for row in rows if row.strategy == name]
        cells = "".join(_cell(estimate(_known(mine, rate))) for rate in RATES)
        over = sum(row.worst_used > _OVER for row in mine) / len(mine)
        counts = [f"{sum(row.counts[count] for row in mine):>{len(count)}}" for count in COUNTS]
        print(f"{name:15}{_used(mine):5.2f}{over:6.0%}{cells}", *counts, sep="  ")
    for name in _COMPARED:
        cells = "".join(_cell(difference(rows, rate, name)) for rate in RATES)
        print(f"{'− ' + name:26}{cells}")


def difference(rows: Sequence[Row], rate: str, base: str) -> Estimate | None:
    """Return Holdfast minus another strategy, session by session."""
    scores: dict[str, dict[str, float]] = {FIRST: {}, base: {}}
    for row in rows:
        value = row.rates[rate]
        if value is not None and row.strategy in scores:
            scores[row.strategy][row.session] = value
    mine, other = scores[FIRST], scores[base]
    return estimate([mine[name] - other[name] for name in mine if name in other])


def _known(rows: Sequence[Row], rate: str) -> list[float]:
    return [value for row in rows if (value := row.rates[rate]) is not None]


def _used(rows: Sequence[Row]) -> float:
    return sum(row.used for row in rows) / len(rows)


def _cell(found: Estimate | None) -> str:
    if found is None:
        return f"{'–':>{_WIDTH}}"
    low, high = _short(found.low), _short(found.high)
    return f"{f'{_short(found.mean)} {low}…{high}':>{_WIDTH}}"


def _short(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:.1f}"
