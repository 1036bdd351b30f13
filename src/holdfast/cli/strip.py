"""The map of a conversation: a row of cells coloured by role, with marks under some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

from rich.text import Text

from holdfast.transcript import Message, ToolResult

Cell: TypeAlias = Literal[
    "system", "user", "assistant", "tool", "unknown", "fine", "broken",
    "kept", "rewritten", "folded", "added",
]  # fmt: skip

Mark: TypeAlias = tuple[str, str, str]
"""The symbol under a cell, its style, and what it means."""

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


def cell_of(message: Message) -> Cell:
    """Return what a message is shown as; one that holds nothing but results is the tool's."""
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

    Where there are more cells than columns a column stands for several neighbours: it looks like
    most of them and is marked where any of them is.
    """
    per = per_column_of(len(cells), width)
    row, marks = Text(no_wrap=True), Text(no_wrap=True)
    symbol, style = mark
    for start in range(0, len(cells), per):
        chunk = cells[start : start + per]
        letter, look, _ = _LOOK[Counter(chunk).most_common(1)[0][0]]
        hit = any(index in marked for index in range(start, start + len(chunk)))
        row.append(letter, f"{look} bold" if hit else look)
        marks.append(symbol if hit else " ", style)
    return [row, marks] if marked else [row]


def per_column_of(count: int, width: int) -> int:
    """Return how many of `count` cells one column stands for."""
    return max(1, -(-count // max(1, width)))


def legend(cells: Collection[Cell], per_column: int, marks: Sequence[Mark]) -> Text:
    """Return what the letters and the marks mean, for those that appear."""
    line = Text()
    for cell, (letter, _, meaning) in _LOOK.items():
        if cell in cells:
            line.append(f"{letter} {meaning}   ", "dim")
    for symbol, style, meaning in marks:
        line.append(symbol, style).append(f" {meaning}   ", "dim")
    if per_column > 1:
        line.append(f"a column is {per_column:,} of them", "dim")
    line.rstrip()
    return line
