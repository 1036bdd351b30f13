"""The tables of the page as values: figures with intervals and marks, faults, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.lab.output import Summary
from holdfast.lab.report.glossary import FAULTS
from holdfast.lab.report.verdict import Difference, Standing
from holdfast.lab.report.words import listed, number
from holdfast.lab.rows import Row
from holdfast.lab.summary import OVER, SPEED, Line
from holdfast.lab.table import COLUMNS, groups
from holdfast.lab.ways.registry import OURS

_SHOWN = (*COLUMNS, OVER, SPEED)
_REASON_CHARS = 300
_MARKS: dict[Standing, str] = {"ahead": "▼", "behind": "▲", "even": "", "too few": ""}
"""Beside another's figure: Holdfast is ahead, so it is lower."""


class Cell(Struct, frozen=True):
    """One figure of a table: what is shown, what is sorted by, and how it stands to Holdfast's."""

    figure: str
    value: float | None
    shown: str
    interval: str = ""
    mark: str = ""


class TableRow(Struct, frozen=True):
    """A strategy in a table."""

    strategy: str
    is_ours: bool
    cells: list[Cell]
    failed: str = ""


class Table(Struct, frozen=True, kw_only=True):
    """All strategies in one family under the same conditions."""

    title: str
    sessions: int
    is_main: bool
    figures: list[str]
    rows: list[TableRow]


class FaultRow(Struct, frozen=True):
    """What a strategy did that must not be, over all cuts and budgets."""

    strategy: str
    is_ours: bool
    counts: list[int]
    violations: str
    over: str


def tables(summary: Summary, found: Sequence[Difference]) -> list[Table]:
    """Return the tables of the main budget first, then those of other budgets, drift, own."""
    standings: dict[tuple[str, str, float, int, str, str], Standing] = {
        (one.part, one.family, one.budget, one.steps, one.other, one.figure): one.standing
        for one in found
    }
    made: list[tuple[tuple[bool, str, bool], Table]] = []
    main = summary.manifest.main
    for (part, family, budget, steps), lines in groups(summary.lines).items():
        figures = [name for name in _SHOWN if any(name in line.figures for line in lines)]
        is_main = part == "cut" and budget == main
        rows: list[TableRow] = []
        for line in lines:
            marks = {
                name: _MARKS[standings.get((part, family, budget, steps, line.strategy, name),
                                           "even")]
                for name in figures
            }  # fmt: skip
            rows.append(_table_row(line, figures, marks))
        table = Table(
            title=_title(lines[0]), sessions=max(line.sessions for line in lines),
            is_main=is_main, figures=figures, rows=rows,
        )  # fmt: skip
        made.append(((part != "cut", part, budget != main), table))
    return [table for _, table in sorted(made, key=lambda item: item[0])]


def _title(line: Line) -> str:
    share = f"{line.budget * 100:g} % of the tokens"
    what = {
        "cut": f"at {share}",
        "drift": f"after {line.steps} compaction{'s' * (line.steps > 1)}, {share}",
        "own": "in as many tokens as the agent's own summary",
    }
    return f"{line.family}, {what[line.part]}"


def _table_row(line: Line, figures: Sequence[str], marks: dict[str, str]) -> TableRow:
    cells: list[Cell] = []
    for name in figures:
        found = line.figures.get(name)
        if found is None:
            cells.append(Cell(name, None, "–"))
        else:
            spread = f"{number(found.low)}–{number(found.high)}"
            interval = spread if found.sessions > 1 else "1 session"
            cells.append(Cell(name, found.mean, number(found.mean), interval, marks[name]))
    return TableRow(
        line.strategy, line.strategy.startswith(OURS), cells, line.failed[:_REASON_CHARS]
    )


def fault_rows(rows: Sequence[Row]) -> Iterator[FaultRow]:
    """Yield what each strategy did wrong in these rows."""
    by: dict[str, list[Row]] = {}
    for row in rows:
        if not row.failed:
            by.setdefault(row.strategy, []).append(row)
    for name, mine in by.items():
        broken: Counter[str] = Counter()
        checked = [row.violations for row in mine if row.violations is not None]
        for one in checked:
            broken.update(one)
        wrong = [f"{count:,} for {provider}" for provider, count in broken.items() if count]
        over = sum(row.is_over for row in mine)
        yield FaultRow(
            name, name.startswith(OURS),
            [sum(row.counts.get(fault, 0) for row in mine) for fault in FAULTS],
            "no messages to check" if not checked
            else f"{listed(wrong) or '0'} ({len(checked):,} views)",
            f"{over:,} of {len(mine):,} views",
        )  # fmt: skip


def failures(lines: Sequence[Line]) -> list[tuple[str, str, str]]:
    """Return who failed, why, and where; one reason once."""
    where: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        if line.failed:
            where.setdefault((line.strategy, line.failed[:_REASON_CHARS]), []).append(_title(line))
    return [(name, reason, "; ".join(places)) for (name, reason), places in where.items()]
