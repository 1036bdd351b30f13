"""The pictures of `holdfast lab`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.cli.draw import console_for, counted, indented, print_line
from holdfast.cli.files import label
from holdfast.lab.figures import COST, OVER, USED
from holdfast.lab.report.tables import format_cell, format_short, groups, title
from holdfast.lab.results import OURS, MeanInterval, ScoreLine, WrittenRun

_COLUMNS = ("bound", "far", "copy4", "files R", "errors", "constraints", "reach", USED, COST)
_ALL = ("recall", "far", "bound", "copy4", "files P", "files R", "errors", "commands",
        "constraints", "reach", "stale", USED, COST)  # fmt: skip
_BAR = 8
_WIDE = 250
"""Columns that all scores with their intervals need; a narrower terminal wraps them."""


def show_run(folder: Path, written: WrittenRun, *, problems: int, short: int) -> None:
    """Print the tables of the main budget, and where everything is."""
    console = console_for()
    show_lines(main_lines(written.lines))
    said = [f"everything is in {label(str(folder))}/: report.html, table.md, summary.json"]
    if short:
        said.append(f"{counted(short, 'session')} too short, left out")
    if problems:
        said.append(f"{counted(problems, 'file or line', 'files or lines')} not readable")
    for note in (*said, *written.notes):
        print_line(console, Text(f"  {note}", "dim"))


def show_lines(lines: Sequence[ScoreLine], *, wide: bool = False) -> None:
    """Print a table for each family and budget; with `wide` all scores and their intervals."""
    console = console_for()
    if wide:
        console.width = max(console.width, _WIDE)
    for rows in groups(lines).values():
        most = max(line.sessions for line in rows)
        print_line(console, Text(f"\n{title(rows[0])}, {counted(most, 'session')}", "bold"))
        console.print(indented(_table(console, rows, wide=wide), 2))


def main_lines(lines: Sequence[ScoreLine]) -> list[ScoreLine]:
    """Return the lines of the budget next to 20 %, and those of agents' own summaries."""
    budgets = {line.budget for line in lines if line.part == "cut"}
    nearest = min(budgets, key=lambda share: abs(share - 0.2)) if budgets else 0.0
    return [
        line
        for line in lines
        if (line.part == "cut" and line.budget == nearest) or line.part == "own"
    ]


def _table(console: Console, rows: Sequence[ScoreLine], *, wide: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    columns = _ALL if wide else _COLUMNS
    table.add_column("", no_wrap=True)
    if not wide:
        table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("faults", style="red", overflow="fold")
    plain = not console.encoding.startswith("utf")
    for line in rows:
        name = Text(line.strategy, "bold green" if line.strategy.startswith(OURS) else "")
        bars = [] if wide else [_bar(line.figures.get("bound"), plain=plain)]
        cells = [_cell(line.figures.get(column), wide=wide) for column in columns]
        table.add_row(name, *bars, *cells, Text(_faults(line)))
    return table


def _faults(line: ScoreLine) -> str:
    """Return what must not be, in as few words as a terminal has room for."""
    said = [f"{count} {name}" for name, count in line.counts.items() if count]
    if broken := sum((line.violations or {}).values()):
        said.append(f"{broken} rules")
    over = line.figures.get(OVER)
    if over is not None and over.mean > 0:
        said.append(f"over {over.mean:.0%}")
    if line.failed:
        said.append("some failed" if line.figures else line.failed)
    return ", ".join(said)


def _cell(found: MeanInterval | None, *, wide: bool) -> str:
    if wide:
        return format_cell(found)
    return "–" if found is None else format_short(found.mean)


def _bar(found: MeanInterval | None, *, plain: bool) -> str:
    if found is None:
        return ""
    full = round(found.mean * _BAR)
    return ("#" if plain else "█") * full + ("." if plain else "░") * (_BAR - full)
