"""The words that stand for what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["LEAST_CUT_CHARS", "closing", "gap", "is_only_marks", "plural", "shortened"]

LEAST_CUT_CHARS: Final = 40
"""Less than this is not worth cutting out of a line: the mark is nearly as long."""


def plural(number: int, noun: str) -> str:
    """Return e.g. "1 line", "1,204 lines", "3 matches", "2 entries"."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{number:,} {noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}s"


def gap(number: int, noun: str = "line") -> str:
    """Return the mark that stands in a text for `number` units left out there."""
    return f"[… {plural(number, noun)}]"


def closing(left_out: Sequence[str], reference: str | None) -> str:
    """Return the last line of a reduction: what is not in it, and where it is."""
    where = f"; original: {reference}" if reference else ""
    return f"[left out: {', '.join(left_out)}{where}]"


def is_only_marks(text: str) -> bool:
    """Return whether nothing is left of a text but our own words."""
    lines = text.splitlines()
    return all(line.startswith(("[… ", "[left out: ")) or not line.strip() for line in lines)


def shortened(line: str, most: int) -> str:
    """Return a line in `most` characters: start, how much is missing, end. Short ones stay."""
    size = len(line)
    if size <= most or size <= LEAST_CUT_CHARS:
        return line
    mark = f"[… {size - most + 20:,} characters …]"
    room = max(most - len(mark), 0)
    head = room * 2 // 3
    missing = size - room
    mark = f"[… {missing:,} characters …]"
    return f"{line[:head]}{mark}{line[size - (room - head) :]}" if room else mark[:most]
