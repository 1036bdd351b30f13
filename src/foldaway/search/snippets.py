"""The piece of a text that shows why it was found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import islice

from msgspec import Struct

from foldaway.search.text import clean
from foldaway.search.values import Term
from foldaway.search.words import MOST_PLACES, flatten, places

_BLANKS = re.compile(r"\s+")
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\x80-\x9f]")
"""Marks that turn the direction of writing, with which a text could show as another."""
_JOINER = "\u200d"
_WORD_CHARS = 24
"""How far a cut moves to fall between words."""
_CLUSTER_CHARS = 32
_FLAG_CHARS = 4_096
"""How long a row of flags is looked at, to tell which two letters are one."""


class Snippet(Struct, frozen=True, gc=False):
    """One line. `marks` are the places of the terms in it, first and one past the last."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()
    starts: bool = True
    """Whether it is the beginning of the text."""
    ends: bool = True


def snippet(text: str, terms: Sequence[Term], most: int = 240) -> Snippet:
    """Return at most `most` characters of a text around the place with most of the terms.

    Blanks and line ends are single blanks; terminal codes and control characters are gone. What a
    reader sees as one character is not parted.
    """
    text = _DIRECTIONS.sub("", clean(text))
    start = _begin(text, _find_best_window(text, terms, most), most)
    stop = _boundary(text, min(start + most, len(text)), forward=False)
    if stop <= start:
        stop = min(start + most, len(text))
    piece = _BLANKS.sub(" ", text[start:stop]).strip()
    return Snippet(piece, _marks(piece, terms), start == 0, stop >= len(text))


def _find_best_window(text: str, terms: Sequence[Term], most: int) -> tuple[int, int]:
    """Return the first and last place of the window that holds the most different terms."""
    flattened = flatten(text)
    spans = sorted(
        (start, stop, number)
        for number, term in enumerate(terms)
        for start, stop in islice(places(text, flattened, term), MOST_PLACES)
    )
    best, best_value = (0, 0), (0, 0)
    left = 0
    inside: dict[int, int] = {}
    for start, stop, number in spans:
        inside[number] = inside.get(number, 0) + 1
        while stop - spans[left][0] > most * 2 // 3 and spans[left][0] < start:
            gone = spans[left][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            left += 1
        value = (len(inside), sum(inside.values()))
        if value > best_value:
            best, best_value = (spans[left][0], stop), value
    return best


def _begin(text: str, best: tuple[int, int], most: int) -> int:
    """Return where to start, so that the place stands in the middle and a word is whole."""
    if len(text) <= most:
        return 0
    start = best[0] - max((most - (best[1] - best[0])) // 2, 0)
    start = min(max(start, 0), len(text) - most)
    if start == 0:
        return 0
    found = _BLANKS.search(text, start, min(start + _WORD_CHARS, best[0]))
    return _boundary(text, found.end() if found else start, forward=True)


def _boundary(text: str, at: int, *, forward: bool) -> int:
    """Return the next place where no cluster of characters is parted."""
    if not forward and at < len(text):
        blank = text.rfind(" ", max(at - _WORD_CHARS, 0), at)
        at = blank if blank > 0 else at
    for _ in range(_CLUSTER_CHARS):
        if at <= 0 or at >= len(text) or not _parts(text, at):
            break
        at += 1 if forward else -1
    return at


def _parts(text: str, at: int) -> bool:
    """Whether a cut before `at` parts a letter from its accents or an emoji from its rest."""
    char, before = text[at], text[at - 1]
    if char == _JOINER or before == _JOINER or "\U0001f3fb" <= char <= "\U0001f3ff":
        return True
    if _is_flag(char) and _is_flag(before):
        run = 0
        while run < min(at, _FLAG_CHARS) and _is_flag(text[at - 1 - run]):
            run += 1
        return run % 2 == 1
    return unicodedata.category(char)[0] == "M"


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _marks(piece: str, terms: Sequence[Term]) -> tuple[tuple[int, int], ...]:
    """Return the places of all terms, those that touch or overlap as one."""
    flattened = flatten(piece)
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(
        span for term in terms if not term.small for span in places(piece, flattened, term)
    ):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return tuple(merged)
