"""A part of one text that is too long: rows if it is data, otherwise its ends and lines."""

from __future__ import annotations

from holdfast.facts.dialogue.values import data_rows
from holdfast.facts.ledger.lines import lines_of, whole_words
from holdfast.reduction.signals import error_lines

_MOST_ROWS = 400
"""Of a text that is data."""
_LEAST_TOLD = 0.5
"""Of the room, what items may leave empty at most; chosen."""
_LINE_CHARS = 200
"""Data whose lines are this long on average is told by its rows."""
_BETWEEN = 0.5
"""How much goes to single lines between the ends; more of it loses what stands around them."""
_MOST_LINES = 200
"""Between the two ends."""
_LAST_CHARS = 160
"""Of the end, at least: how it went is said last."""
_READ_CHARS = 12_000
"""Of a longer text so much at each end is looked through for lines."""
_MOST_ERRORS = 8
"""Lines about failures, which come before the others."""


def excerpted(text: str, keep_chars: int) -> str:
    """Return about `keep_chars` of a text, cut between words, and how much was left out."""
    shown = _worthiest(text, keep_chars)
    left_out = f"[… {len(text) - keep_chars:,} characters left out …]"
    if shown:
        return f"{shown}\n{left_out}"
    for_lines = int(keep_chars * _BETWEEN)
    first, last = _ends(text, keep_chars - for_lines)
    between = _telling(text[len(first) : len(text) - len(last)], for_lines)
    room = keep_chars - sum(len(line) + 1 for line in between)
    first, last = _ends(text, room)
    told = [line for line in between if line not in first and line not in last]
    return "\n".join((first, left_out, *told, *(["[…]"] if told else []), last))


def _ends(text: str, keep_chars: int) -> tuple[str, str]:
    """Return the first two thirds and the last third of so many characters, each whole words.

    Where that is little, more of the end: how it went, and where one stands, is said last.
    """
    tail = max(keep_chars - keep_chars * 2 // 3, min(_LAST_CHARS, keep_chars * 2 // 3))
    head = keep_chars - tail
    return whole_words(text[:head], head), whole_words(f"…{text[len(text) - tail :]}", tail + 2)


def _telling(text: str, room: int) -> list[str]:
    """Return the lines that tell of failures, and those that name most, in their order."""
    if len(text) > 2 * _READ_CHARS:
        text = f"{text[:_READ_CHARS]}\n{text[-_READ_CHARS:]}"
    rows = lines_of(text, _MOST_LINES)
    wrong = set(error_lines(text, _MOST_ERRORS))
    order = sorted(range(len(rows)), key=lambda at: (rows[at].text not in wrong, -rows[at].worth))
    kept: list[int] = []
    known: set[str] = set()
    for at in order:
        cost = len(rows[at].text) + 1
        if cost <= room and not known.issuperset(rows[at].terms):
            room -= cost
            known.update(rows[at].terms)
            kept.append(at)
    return [rows[at].text for at in sorted(kept)]


def _worthiest(text: str, room: int) -> str:
    """Return the items of a text that is data, a line each, as many as fit; "" of another text.

    The worthiest fields of each stand beside each other, so every item is told before any is told
    at length.
    """
    if text.count("\n") * _LINE_CHARS > len(text):
        return ""
    shown: list[str] = []
    left = room
    for row in data_rows(text, _MOST_ROWS):
        left -= len(row) + 1
        if left < 0:
            break
        shown.append(row)
    # a few rows of very long lists say less than the text itself
    return "\n".join(shown) if left < room * _LEAST_TOLD else ""
