"""Where Holdfast is behind, dear, slow or wrong, family by family; computed, never typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.lab.output import Summary
from holdfast.lab.report.glossary import title_of
from holdfast.lab.report.verdict import COMPARED, Difference, Terms, findings
from holdfast.lab.report.words import interval, listed, loss, number
from holdfast.lab.summary import COST, OVER, SPEED, USED, Line
from holdfast.lab.ways.registry import OURS


def losses(summary: Summary, found: Sequence[Difference]) -> dict[str, list[str]]:
    """Return by family what speaks against Holdfast at the main budget, a sentence each."""
    at_main = [
        line
        for line in summary.lines
        if line.part == "cut" and line.budget == summary.manifest.main
    ]
    said: dict[str, list[str]] = {}
    for line in at_main:
        if line.strategy == OURS and line.figures:
            rivals = [one for one in at_main if one.family == line.family and one is not line]
            rows = [*behind(summary, found, line.family), *_dear(line), *_over(line),
                    *_slow(line, rivals), *_faulty(line)]  # fmt: skip
            said[line.family] = rows
    return said


def behind(
    summary: Summary, found: Sequence[Difference], family: str, terms: Terms = "equal"
) -> list[str]:
    """Return who is ahead of Holdfast in which score, beyond chance."""
    return [
        f"{title_of(one.figure)} ({number(one.ours.mean)}): behind {listed(map(loss, worse))}."
        for one in findings(summary.lines, found, summary.manifest.main, COMPARED, terms)
        if one.family == family and (worse := one.of("behind"))
    ]


def _dear(line: Line) -> Iterator[str]:
    cost = line.figures.get(COST)
    if cost is not None and cost.low > 1:
        yield f"Cost: the compaction cost more than it saved, {interval(cost)}."
    elif cost is not None and cost.high > 1:
        yield f"Cost: whether it paid for itself is not certain, {interval(cost)}."


def _over(line: Line) -> Iterator[str]:
    over, used = line.figures.get(OVER), line.figures.get(USED)
    if over is not None and used is not None and over.mean > 0:
        yield (
            f"Budget: over it in {over.mean * 100:.0f} % of the cuts, {number(used.mean)} times "
            "the tokens asked for on the mean; the others were given as many."
        )


def _slow(line: Line, rivals: Sequence[Line]) -> Iterator[str]:
    mine = line.figures.get(SPEED)
    times = {one.strategy: one.figures[SPEED].mean for one in rivals if SPEED in one.figures}
    if mine is None or not times:
        return
    faster = [name for name, value in times.items() if value < mine.mean]
    if faster:
        best = min(times, key=lambda name: times[name])
        yield (
            f"CPU (a time): {number(mine.mean)} ms per 100,000 tokens; {len(faster)} of "
            f"{len(times)} others take less, {best} {number(times[best])} ms."
        )


def _faulty(line: Line) -> Iterator[str]:
    for name, count in line.counts.items():
        if count:
            yield f"Faults: {count} {name}."
    broken = {name: count for name, count in (line.violations or {}).items() if count}
    if broken:
        rows = [f"{count} for {name}" for name, count in broken.items()]
        yield f"Faults: broken rules of providers, {listed(rows)}."
    if line.failed:
        yield f"Faults: {line.failed}."
