"""The pictures of `inspect` and `diff`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.cli.diff import Compared
from holdfast.cli.draw import (
    console_for,
    counted,
    headed,
    indented,
    print_line,
    print_more,
    print_warnings,
    shortened,
)
from holdfast.cli.inputs import Input
from holdfast.cli.inspect import Seen
from holdfast.cli.picture import BAR_COLUMNS, arrow, print_bars, saving, show_difference
from holdfast.engine.difference import Difference
from holdfast.engine.inspection import Copies, Inspection, Long

SHOWN_TRANSCRIPTS = 5
SHOWN_PLACES = 8


def show_inspection(given: Input, seen: Sequence[Seen]) -> None:
    """Print where the context of every transcript of a file goes."""
    console = console_for()
    for number, one in enumerate(seen[:SHOWN_TRANSCRIPTS]):
        found = one.found
        told = f"{counted(found.messages, 'message')}, {counted(found.tokens, 'token')}"
        if given.holds_many:
            told = f"line {given.records[number].line}: {told}"
        print_line(console, headed(console, given, "ok").append(told))
        print_bars(console, [(share.name, share.tokens, None) for share in found.categories])
        _pressure(console, found)
        _longest(console, found.longest)
        _duplicates(console, found.duplicates)
        console.print()
        if found.is_estimate:
            _note(console, "token figures are estimates")
        if one.window.note:
            _note(console, one.window.note)
    print_warnings(console, given)
    print_more(console, len(seen), SHOWN_TRANSCRIPTS)


def show_comparison(given: Input, compared: Compared, made: Difference) -> None:
    """Print what became of every message, and the categories before and after."""
    console = console_for()
    print_compared(console, headed(console, given, "ok"), compared, made)


def print_compared(console: Console, head: Text, compared: Compared, made: Difference) -> None:
    """Print two transcripts beside each other, below a head that names them."""
    told = (
        f"{counted(compared.messages_before, 'message')}, "
        f"{counted(compared.tokens_before, 'token')} {arrow(console)} "
        f"{counted(compared.messages_after, 'message')}, "
        f"{counted(compared.tokens_after, 'token')} "
        f"({saving(compared.tokens_before, compared.tokens_after)})"
    )
    print_line(console, head.append(told))
    show_difference(console, made)
    rows = sorted(compared.categories, key=lambda one: -one.tokens_before)
    print_bars(console, [(one.name, one.tokens_before, one.tokens_after) for one in rows])
    console.print()
    _note(console, "token figures are estimates")


def _pressure(console: Console, found: Inspection) -> None:
    utf = console.encoding.startswith("utf")
    filled = min(round(BAR_COLUMNS * found.pressure), BAR_COLUMNS)
    style = {"none": "yellow" if found.warning else "green", "soft": "yellow", "hard": "red"}
    bar = Text(("█" if utf else "#") * filled, style[found.urgency])
    bar.append(("░" if utf else ".") * (BAR_COLUMNS - filled), "bright_black")
    line = (
        Text("\n  pressure  ")
        .append_text(bar)
        .append(
            f"  {found.pressure:.0%} of the threshold of {found.threshold_tokens:,} "
            f"(window {found.effective_window:,}): {_verdict(found)}"
        )
    )
    print_line(console, line)


def _verdict(found: Inspection) -> str:
    if not found.fits_window:
        return "it does not fit the window"
    if found.urgency == "hard":
        return "compaction is urgent"
    if found.urgency == "soft":
        return "compaction is due"
    return "compaction will soon be due" if found.warning else "no need for compaction"


def _longest(console: Console, rows: Sequence[Long]) -> None:
    console.print(Text("\n  longest messages", "bold"))
    grid = _grid()
    for row in rows:
        name = f"m{row.position}" + (f" {row.id}" if row.id else "")
        grid.add_row(f"{row.tokens:,}", shortened(name), row.role, shortened(", ".join(row.tools)))
    console.print(indented(grid, 4))


def _duplicates(console: Console, rows: Sequence[Copies]) -> None:
    if not rows:
        console.print(Text("\n  no identical tool results", "dim"))
        return
    console.print(Text("\n  identical tool results", "bold").append("  (tokens of the copies)"))
    grid = _grid()
    for row in rows:
        places = ", ".join(f"m{at}" for at in row.positions[:SHOWN_PLACES])
        more = ", …" if len(row.positions) > SHOWN_PLACES else ""
        grid.add_row(
            f"{row.tokens:,}", f"×{len(row.positions):,}", shortened(row.tool), f"{places}{more}"
        )
    console.print(indented(grid, 4))


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, justify="right")
    for _ in range(3):
        grid.add_column(overflow="fold")
    return grid


def _note(console: Console, sentence: str) -> None:
    print_line(console, Text("  note: ", "yellow").append(shortened(sentence)))
