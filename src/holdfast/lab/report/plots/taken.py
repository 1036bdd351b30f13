"""What plots take from a summary: the lines of a budget, the families, the strategies."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.lab.output import Summary
from holdfast.lab.summary import Line

MOST_FAMILIES = 12
"""More would not fit on a page; those with the most sessions are drawn."""


def main_lines(summary: Summary) -> dict[tuple[str, str], Line]:
    """Return the lines of the main budget that have figures, by family and strategy."""
    return {
        (line.family, line.strategy): line
        for line in summary.lines
        if line.part == "cut" and line.budget == summary.manifest.main and line.figures
    }


def families(lines: Sequence[Line]) -> list[str]:
    """Return the families in the order of the lines; of too many those with the most sessions."""
    found: dict[str, int] = {}
    for line in lines:
        found[line.family] = max(line.sessions, found.get(line.family, 0))
    most = sorted(found, key=lambda name: -found[name])[:MOST_FAMILIES]
    return [name for name in found if name in most]


def counts(lines: Sequence[Line], figures: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return by figure and family how many sessions have it."""
    found: dict[tuple[str, str], int] = {}
    for line in lines:
        for name in figures:
            if name in line.figures:
                place = name, line.family
                found[place] = max(line.figures[name].sessions, found.get(place, 0))
    return found


def strategies(lines: Sequence[Line]) -> list[str]:
    """Return the strategies that have figures, each once, in their order."""
    return list(dict.fromkeys(line.strategy for line in lines if line.figures))
