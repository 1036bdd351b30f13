"""What every picture is made of: lines, tables, bars, and maps of a conversation.

rich is imported where something is drawn, so that a command that prints JSON does not load it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from foldaway.cli.files import SHOWN_ENTRIES, count_of, label, shorten
from foldaway.cli.inputs import Input
from foldaway.transcript import Message, ToolResult

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import ProgressColumn
    from rich.text import Text

    from foldaway.engine import ViewDifference

NOT_A_TERMINAL = (100, 24)
"""Columns and lines if the output is not a terminal and COLUMNS is not set."""
LEAST_COLUMNS = 20
"""A narrower terminal is drawn for as if it had this many columns."""
BAR_COLUMNS = 24
"""The width of the longest bar of a category."""
SCORE_COLUMNS = 8
"""The width of the bar of a score of 1."""

Piece: TypeAlias = "str | tuple[str, str] | Text"
"""A text, alone or with its style."""
Cell: TypeAlias = Literal[
    "system",
    "user",
    "assistant",
    "tool",
    "unknown",
    "fine",
    "broken",
    "kept",
    "rewritten",
    "folded",
    "added",
]
Mark: TypeAlias = tuple[str, str, str]
"""The symbol under a cell, its style, and what it means."""

_OUTCOMES = {
    "ok": ("✓", "ok", "bold green"),
    "broken": ("✗", "BROKEN", "bold red"),
    "same": ("=", "same", "bold"),
    "refused": ("✗", "NOT DONE", "bold red"),
}
"""The symbol before a verdict, the word for terminals without it, its style."""
_LOOK: dict[Cell, tuple[str, str, str]] = {
    "system": ("s", "black on bright_black", "system"),
    "user": ("u", "black on cyan", "user"),
    "assistant": ("a", "black on bright_blue", "assistant"),
    "tool": ("t", "black on yellow", "tool"),
    "unknown": ("?", "white on magenta", "unknown role"),
    "fine": (".", "black on green", "valid transcript"),
    "broken": ("x", "white on red", "broken transcript"),
    "kept": ("k", "black on green", "kept"),
    "rewritten": ("r", "black on yellow", "rewritten"),
    "folded": ("f", "white on bright_black", "folded"),
    "added": ("+", "black on bright_magenta", "added"),
}
_LANDMARKS: tuple[Cell, ...] = ("broken", "added", "rewritten", "user")
"""What a column for several neighbors looks like if one of them is that."""
_COLUMNS: dict[str, dict[str, Any]] = {
    "l": {"no_wrap": True},
    "r": {"no_wrap": True, "justify": "right"},
    "w": {},
    "W": {"justify": "right"},
    "f": {"overflow": "fold"},
    "p": {"overflow": "fold", "max_width": 48},
    "t": {"no_wrap": True, "overflow": "ellipsis"},
    "b": {"no_wrap": True},
    "o": {"no_wrap": True},
    "n": {"no_wrap": True, "justify": "right"},
}
"""Columns of a table: on one line to the left or right, wrapped at words, folded anywhere, a path,
which leaves room for a sentence beside it, or a title, which is cut at its end. If there is no
room bars become shorter and go first, then texts and numbers that are not needed (o, n)."""
_GAP = 2
"""Columns between two columns of a table."""
_TEXTS = "wWfpt"
_LEAST_BESIDE_BAR, _LEAST_TITLE, _LEAST_TEXT, _LEAST_BAR = 32, 24, 12, 4
"""Columns of a text before bars become shorter, of a title and a text before other columns go, and
of a bar before it goes."""


def console_for(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, or as COLUMNS says."""
    from rich.console import Console

    class WholeConsole(Console):
        def on_broken_pipe(self) -> None:
            """Let the end of the reader come out: the command line knows what to do then."""
            raise BrokenPipeError

    columns, lines = shutil.get_terminal_size(NOT_A_TERMINAL)
    return WholeConsole(
        stderr=stderr,
        width=max(LEAST_COLUMNS, columns),
        height=lines,  # without it rich takes a dumb terminal for one of 80 columns
        highlight=False,
        emoji=False,
        markup=False,
    )


def text_of(*pieces: Piece) -> Text:
    """Return pieces as one text."""
    from rich.text import Text

    return Text.assemble(*pieces)


class Picture:
    """What a command draws for people, on one console, with or without symbols of Unicode."""

    def __init__(self, *, stderr: bool = False) -> None:
        self.console = console_for(stderr=stderr)
        self.unicode = self.console.encoding.startswith("utf")
        self.arrow = "→" if self.unicode else "->"
        self.block, self.shade = ("█", "░") if self.unicode else ("#", ".")

    def line(self, *pieces: Piece) -> None:
        """Print a line as one line, so that names of files can be copied and searched."""
        self.console.print(text_of(*pieces), soft_wrap=True)

    def paragraph(self, *pieces: Piece, indent: int = 0) -> None:
        """Print a text, wrapped at the width of the terminal."""
        self.show(text_of(*pieces), indent)

    def show(self, what: RenderableType, indent: int = 0) -> None:
        """Print anything that rich can draw, moved to the right."""
        from rich.padding import Padding

        self.console.print(Padding(what, (0, 0, 0, indent), expand=False) if indent else what)

    def blank(self) -> None:
        """Print an empty line."""
        self.console.print()

    def note(self, sentence: str) -> None:
        """Print a remark below a picture; "" is none."""
        if sentence:
            self.line(("  note: ", "yellow"), shorten(sentence))

    def table(
        self,
        columns: str,
        rows: Iterable[Sequence[Piece]],
        *,
        indent: int = 2,
        names: Sequence[str] = (),
        min_width: int = 0,
    ) -> None:
        """Print rows below each other; `columns` has a letter of `_COLUMNS` for each.

        What matters is never cut: see `_COLUMNS`. A line below names what there was no room for.
        """
        from rich.table import Table

        lines = [[text_of(cell) for cell in row] for row in rows]
        if names:
            lines.insert(0, [text_of((name, "dim")) for name in names])
        widths = _fit(columns, lines, self.console.width - indent) if lines else {}
        grid = Table.grid(padding=(0, _GAP))
        cells: list[list[Text]] = []
        for at, width in widths.items():
            least = None if at else min_width or None
            cut = width if columns[at] == "t" else None
            grid.add_column(min_width=least, width=cut, **_COLUMNS[columns[at]])
            column = [line[at] for line in lines]
            cells.append(_shorten_bars(column, width) if columns[at] == "b" else column)
        for line in zip(*cells, strict=True):
            grid.add_row(*line)
        self.show(grid, indent)
        missing = [name for at, name in enumerate(names) if name and at not in widths]
        if missing:
            what = f"no room for: {', '.join(missing)}; a wider terminal or --json has them"
            self.paragraph((what, "dim"), indent=max(indent, _GAP))

    def more(self, total: int, shown: int = SHOWN_ENTRIES, what: str = "") -> None:
        """Print how many entries are not shown, if any, and what they are or how to see them."""
        if total > shown:
            self.paragraph((f"    … and {total - shown:,} more {what}".rstrip(), "dim"))

    def heading(self, given: Input, outcome: str) -> Text:
        """Return the start of a verdict: a symbol and the name of the file."""
        symbol, word, style = _OUTCOMES[outcome]
        mark = (symbol if self.unicode else word, style)
        return text_of(mark, (f" {label(given.name)}", "bold"), "  ")

    def warnings(self, given: Input) -> None:
        """Print what was recovered while reading."""
        for warning in given.document.warnings[:SHOWN_ENTRIES]:
            self.paragraph(("warning: ", "yellow"), warning, indent=2)
        self.more(len(given.document.warnings))

    def bar(self, value: float, most: float, columns: int, *, least: int = 1) -> str:
        """Return a bar as long as a value beside the largest."""
        wide = round(columns * value / most) if most > 0 else 0
        return self.block * (max(least, wide) if value > 0 else 0)

    def meter(self, full: int, columns: int, style: str = "cyan") -> Text:
        """Return a bar of which the first `full` columns are filled."""
        empty = self.shade * max(columns - full, 0)
        return text_of((self.block * full, style), (empty, "bright_black"))

    def category_bars(self, rows: Sequence[tuple[str, int, int | None]]) -> None:
        """Print a bar for each category: tokens before and, if they are given, after."""
        full = max((max(was, now or 0) for _, was, now in rows), default=0)
        lines: list[tuple[Piece, ...]] = []
        for name, was, now in rows:
            wide = len(self.bar(was, full, BAR_COLUMNS))
            left = wide if now is None else min(len(self.bar(now, full, BAR_COLUMNS)), BAR_COLUMNS)
            after = "" if now is None else f"{self.arrow} {now:,}"
            lines.append((shorten(name), f"{was:,}", self.meter(left, wide), after))
        self.blank()
        self.table("lrbr", lines)

    def strip(
        self,
        title: str,
        cells: Sequence[Cell],
        marked: Collection[int],
        mark: Mark,
        *,
        per_column: int = 0,
    ) -> None:
        """Print a row of cells with the marks below it, to a given scale if there is one."""
        wide = -(-len(cells) // per_column) if per_column else self.width_beside(title)
        for number, line in enumerate(strip(cells, marked, wide, mark[:2])):
            margin = title if number == 0 else " " * len(title)
            self.console.print(text_of("  ", (margin, "dim"), line), no_wrap=True)

    def legend(
        self, title: str, cells: Sequence[Cell], marks: Sequence[Mark], count: int = 0
    ) -> None:
        """Print what the letters and marks mean; `count` is how many cells the row had."""
        pieces: list[Piece] = [
            (f"{letter} {meaning}   ", "dim")
            for cell, (letter, _, meaning) in _LOOK.items()
            if cell in cells
        ]
        for symbol, style, meaning in marks:
            pieces += [(symbol, style), (f" {meaning}   ", "dim")]
        per_column = cells_per_column(count or len(cells), self.width_beside(title))
        if per_column > 1:
            pieces.append((f"a column is {per_column:,} of them", "dim"))
        line = text_of(*pieces)
        line.rstrip()
        self.show(line, 2 + len(title))

    def width_beside(self, title: str) -> int:
        """Return the columns that are left beside a title."""
        return max(10, self.console.width - len(title) - 4)

    def difference(self, made: ViewDifference) -> None:
        """Print the conversation before and after, to the same scale, with what became of it."""
        before: list[Cell] = list(made.before)
        after: list[Cell] = list(made.after)
        new = {index for index, fate in enumerate(made.after) if fate == "added"}
        what = "added: the summary" if len(new) == 1 else "added: the summary, words in gaps"
        mark: Mark = ("▲" if self.unicode else "^", "bold bright_magenta", what)
        self.strip("before ", before, (), mark)
        per = cells_per_column(len(before), self.width_beside("before "))
        self.strip("after  ", after, new, mark, per_column=per)
        self.legend("before ", [*before, *after], [mark] if new else [], len(before))
        fates = ("kept", "rewritten", "folded", "added")
        self.line("  ", ", ".join(f"{made.count(fate):,} {fate}" for fate in fates))


def _fit(columns: str, lines: Sequence[Sequence[Text]], room: int) -> dict[int, int]:
    """Return the columns that are not empty and that there is room for, each with its width."""
    wide = [max((line[at].cell_len for line in lines), default=0) for at in range(len(columns))]
    given = {at: width for at, width in enumerate(wide) if width}

    def limit(kinds: str, least: int) -> None:
        for at in [at for at in given if columns[at] in kinds]:
            given[at] = min(wide[at], max(least, given[at] + spare()))

    def spare() -> int:
        return room - sum(given.values()) - _GAP * (len(given) - 1)

    limit(_TEXTS, _LEAST_BESIDE_BAR)
    limit("b", 0)
    for at in [at for at in given if columns[at] == "b" and given[at] < min(wide[at], _LEAST_BAR)]:
        del given[at]
    limit("t", _LEAST_TITLE)
    limit(_TEXTS.removesuffix("t"), _LEAST_TEXT)
    for at in [at for at in reversed(given) if columns[at] in "on"]:
        if spare() < 0:
            del given[at]
    limit(_TEXTS, _LEAST_TEXT)
    return given


def _shorten_bars(cells: Sequence[Text], columns: int) -> list[Text]:
    """Return bars made shorter in proportion, so that the longest has at most these columns."""
    from rich.text import Text

    most = max(len(cell) for cell in cells)
    if most <= columns:
        return list(cells)
    share = most / columns
    return [
        Text().join(cell[int(at * share)] for at in range(-(-len(cell) * columns // most)))
        for cell in cells
    ]


def cell_of(message: Message) -> Cell:
    """Return what a message is shown as; one that contains only results is the tool's."""
    match message.role:
        case "system" | "developer":
            return "system"
        case "assistant" | "tool" | "unknown":
            return message.role
        case "user":
            only_results = all(isinstance(part, ToolResult) for part in message.parts)
            return "tool" if message.parts and only_results else "user"


def strip(
    cells: Sequence[Cell], marked: Collection[int], width: int, mark: tuple[str, str]
) -> list[Text]:
    """Return the row of cells, never wider than `width`, and below it the marks, if any.

    If there are more cells than columns a column is for several neighbors: it looks like most of
    them, or like the first landmark among them, and is marked if any of them is.
    """
    from rich.text import Text

    per = cells_per_column(len(cells), width)
    row, marks = Text(no_wrap=True), Text(no_wrap=True)
    symbol, style = mark
    for start in range(0, len(cells), per):
        chunk = cells[start : start + per]
        letter, look, _ = _LOOK[min(chunk, key=lambda one: _rank(one, chunk))]
        hit = any(index in marked for index in range(start, start + len(chunk)))
        row.append(letter, f"{look} bold" if hit else look)
        marks.append(symbol if hit else " ", style)
    return [row, marks] if marked else [row]


def _rank(cell: Cell, chunk: Sequence[Cell]) -> tuple[int, int]:
    """Return how a cell compares with its neighbors; the least is what their column looks like."""
    rank = _LANDMARKS.index(cell) if cell in _LANDMARKS else len(_LANDMARKS)
    return rank, -chunk.count(cell)


def cells_per_column(count: int, width: int) -> int:
    """Return how many of `count` cells one column is for."""
    return max(1, -(-count // max(1, width)))


def saving(before: int, after: int) -> str:
    """Return the change of a size in per cent, with its sign; 100 only if nothing is left."""
    change = round(100 * (after / before - 1)) if before else 0
    change = max(change, -99) if after else change
    return f"{'−' if change < 0 else '+' if change else ''}{abs(change)}%"


def size(messages: int, tokens: int) -> str:
    """Return the size of a conversation for people."""
    return f"{count_of(messages, 'message')}, {count_of(tokens, 'token')}"


class progress_bar:  # noqa: N801 - used as a function that opens something
    """A bar on standard error with what is done; it gives a function that updates its fields."""

    def __init__(
        self,
        what: str,
        *,
        quiet: bool,
        total: float | None = None,
        columns: Sequence[str | ProgressColumn] = (),
    ) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = columns or (MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(
            "{task.description}",
            BarColumn(),
            *columns,
            console=console_for(stderr=True),
            disable=quiet,
            transient=True,
        )
        self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> Callable[..., None]:
        self._bar.start()
        return partial(self._bar.update, self._task)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
