"""The summary as Markdown tables."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.lab.scoring.stats import Estimate
from holdfast.lab.summary import COST, OVER, SPEED, USED, Line

COLUMNS = ("recall", "far", "bound", "copy4", "files P", "files R", "errors", "commands",
           "constraints", "reach", "stale", USED, COST)  # fmt: skip
LEGEND = (
    "Means over sessions, 95 % bootstrap intervals below. recall: facts that the agent used after "
    "the cut and that still stand in the view; far: those neither in the first message nor in the "
    "last tenth; bound: beside their own words; copy4: runs of four words that the agent wrote "
    "again; files P, R: precision and recall of changed files; errors: error lines that nothing "
    "settled; commands: those run again later; constraints: the user's; reach: kept, or among the "
    "first five hits of a search for the words beside it; stale: changed values of which only an "
    "old one is shown; used: tokens as a share of the budget; cost: price of the rest of the "
    "session over that of going on with everything, cache counted."
)
_TITLES = {"cut": "at {budget:.0%}", "drift": "after {steps} compactions, {budget:.0%}",
           "own": "in as many tokens as the agent's own summary"}  # fmt: skip


def groups(lines: Sequence[Line]) -> dict[tuple[str, str, float, int], list[Line]]:
    """Return the lines that stand in one table, in order."""
    found: dict[tuple[str, str, float, int], list[Line]] = {}
    for line in lines:
        found.setdefault((line.part, line.family, line.budget, line.steps), []).append(line)
    return found


def title(line: Line) -> str:
    """Return what a table is about, by one of its lines."""
    what = _TITLES[line.part].format(budget=line.budget, steps=line.steps)
    return f"{line.family}, {what}"


def markdown(lines: Sequence[Line], main: float) -> str:
    """Return a table for each family: the main budget first, then other budgets, drift, own."""
    parts = ["# Results\n", LEGEND, ""]
    found = groups(lines)
    order = sorted(found, key=lambda key: (key[0] != "cut", key[0], key[2] != main, *key[1:]))
    for key in order:
        rows = found[key]
        most = max(line.sessions for line in rows)
        parts.append(f"## {title(rows[0])} ({most} sessions)\n")
        parts.append(f"| | {' | '.join(COLUMNS)} | faults | {SPEED} |")
        parts.append("| --- |" + " --- |" * (len(COLUMNS) + 2))
        parts.extend(map(_row, rows))
        parts.append("")
    return "\n".join(parts)


def _row(line: Line) -> str:
    if not line.figures:
        return f"| {line.strategy} | {line.failed} |" + " |" * (len(COLUMNS) + 1)
    cells = [cell(line.figures.get(name)) for name in COLUMNS]
    speed = line.figures.get(SPEED)
    fast = "–" if speed is None else f"{speed.mean:,.0f}"
    return f"| {line.strategy} | {' | '.join(cells)} | {faults(line)} | {fast} |"


def cell(found: Estimate | None) -> str:
    """Return a mean with its interval; one session has none."""
    if found is None:
        return "–"
    if found.sessions == 1:
        return short(found.mean)
    return f"{short(found.mean)} ({short(found.low)}–{short(found.high)})"


def short(value: float) -> str:
    """Return a figure in as few signs as it needs."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:.1f}"


def faults(line: Line) -> str:
    """Return what must not be: counts that are not 0, broken rules, budgets not kept."""
    said = [f"{count} {name}" for name, count in line.counts.items() if count]
    broken = sum((line.violations or {}).values())
    if broken:
        said.append(f"{broken} broken rules")
    over = line.figures.get(OVER)
    if over is not None and over.mean > 0:
        said.append(f"over budget in {over.mean:.0%}")
    if line.failed:
        said.append(line.failed)
    return "; ".join(said) or "none"
