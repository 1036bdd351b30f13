"""The pieces that every picture is made of: a console, lines, rows of cells, shortened texts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holdfast.cli.files import label
from holdfast.cli.inputs import Input
from holdfast.cli.strip import Cell, Mark, legend, per_column_of, strip

SHOWN_PER_RULE = 5
"""Entries of one kind that are listed before "… and n more"."""
SHOWN_CHARS = 240
"""Characters of an explanation; an id or a role can be of any length."""
NOT_A_TERMINAL = (100, 24)
"""Columns and lines where the output is no terminal and COLUMNS does not say."""


def console_for(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, or as COLUMNS says."""
    columns = shutil.get_terminal_size(NOT_A_TERMINAL).columns
    width = max(20, columns)
    return _Console(stderr=stderr, width=width, highlight=False, emoji=False, markup=False)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let the end of the reader come out: the command line knows what to do then."""
        raise BrokenPipeError


class progress_bar:  # noqa: N801 - used as a function that opens something
    """A bar on standard error that is told how many are done, and of how many."""

    def __init__(self, what: str, *, quiet: bool) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        self._bar = Progress(
            "{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=console_for(stderr=True), disable=quiet, transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task(what, total=None)

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar.start()
        return lambda done, total: self._bar.update(self._task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def print_line(console: Console, text: Text) -> None:
    """Print a line with a file's name in it as one line, so that it can be copied and searched."""
    console.print(text, soft_wrap=True)


_OUTCOMES = {
    "ok": ("✓", "ok", "bold green"),
    "broken": ("✗", "BROKEN", "bold red"),
    "same": ("=", "same", "bold"),
    "refused": ("✗", "NOT DONE", "bold red"),
}


def headed(console: Console, given: Input, outcome: str) -> Text:
    """Return the start of a verdict: a symbol and the name of the file."""
    plain = not console.encoding.startswith("utf")
    symbol, spelled, style = _OUTCOMES[outcome]
    symbol = spelled if plain else symbol
    return Text().append(symbol, style).append(f" {label(given.name)}", "bold").append("  ")


def print_warnings(console: Console, given: Input) -> None:
    """Print what was recovered while reading."""
    for warning in given.document.warnings[:SHOWN_PER_RULE]:
        console.print(Text("  warning: ", "yellow").append(warning))
    print_more(console, len(given.document.warnings))


def print_strip(
    console: Console, title: str, cells: Sequence[Cell], marked: Collection[int], mark: Mark,
    *, per_column: int = 0,
) -> None:  # fmt: skip
    """Print a row of cells with the marks below it, to the scale of another where that is given."""
    wide = -(-len(cells) // per_column) if per_column else width_for(console, title)
    for number, line in enumerate(strip(cells, marked, wide, mark[:2])):
        margin = title if number == 0 else " " * len(title)
        console.print(Text("  ").append(margin, "dim").append_text(line), no_wrap=True)


def print_legend(
    console: Console, title: str, cells: Sequence[Cell], marks: Sequence[Mark], count: int = 0
) -> None:
    """Print what the letters and marks mean; `count` is how many cells the row had."""
    per_column = per_column_of(count or len(cells), width_for(console, title))
    console.print(indented(legend(set(cells), per_column, marks), 2 + len(title)))


def print_more(console: Console, total: int, shown: int = SHOWN_PER_RULE) -> None:
    """Print how many entries are not shown, if any."""
    if total > shown:
        console.print(Text(f"    … and {total - shown:,} more", "dim"))


def indented(inner: Text | Table, columns: int) -> Padding:
    """Return a text or table moved to the right."""
    return Padding(inner, (0, 0, 0, columns), expand=False)


def width_for(console: Console, title: str) -> int:
    """Return the columns that are left beside a title."""
    return max(10, console.width - len(title) - 4)


def shortened(text: str) -> str:
    """Return a text as far as it is shown, without control characters."""
    shown = "".join(char if char.isprintable() else "�" for char in text[:SHOWN_CHARS])
    return shown if len(text) <= SHOWN_CHARS else f"{shown}…"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 message", "2 messages"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
