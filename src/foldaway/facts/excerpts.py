"""A part of one text that is too long: rows if it is data, otherwise its ends and lines."""

from __future__ import annotations

from foldaway.facts.ledger.lines import lines_of, whole_words
from foldaway.facts.rows import data_rows, shorten_row
from foldaway.reduction.signals import error_lines

_MOST_ROWS = 400
"""Of a text that is data."""
_LEAST_TOLD = 0.5
"""Of the room, what rows fill at least, unless they tell everything; chosen."""
_LEAST_OF_TEXT = 0.2
"""Of a text, what rows that tell everything are at least; JSON has about twice as many characters
as its rows, and what has five times as many is mostly one long text."""
_LEAST_ROW_CHARS = 160
"""An item is not shortened below this: more of them would say less; chosen."""
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
    left_out = f"[… {len(text) - keep_chars:,} characters left out …]"
    shown, is_all = _told_by_rows(text, keep_chars)
    if shown:
        return shown if is_all else f"{shown}\n{left_out}"
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


def _told_by_rows(text: str, room: int) -> tuple[str, bool]:
    """Return the items of a text that is data, a line each, as many as fit, and whether that is
    all there is; "" of another text, and of data that is mostly one long text.

    Every item is told before any is told at length.
    """
    if text.count("\n") * _LINE_CHARS > len(text):
        return "", False
    rows = data_rows(text, _MOST_ROWS, room)
    size = sum(len(row) + 1 for row in rows)
    if size < min(room * _LEAST_TOLD, len(text) * _LEAST_OF_TEXT):
        return "", False
    if size <= room and len(rows) < _MOST_ROWS:
        return "\n".join(rows), not any(row.endswith("…") for row in rows)
    each = max(room // max(len(rows), 1), _LEAST_ROW_CHARS)
    shown: list[str] = []
    left = room
    for row in rows:
        short = shorten_row(row, min(each, room))
        left -= len(short) + 1
        if left < 0:
            break
        shown.append(short)
    return "\n".join(shown), False
