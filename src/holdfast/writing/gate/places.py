"""Where in the log words and numbers stand: a number is held against what its sentence is about."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import reduce

from msgspec import Struct

from holdfast.facts.names import terms_of, words_in

_NUMBERS = re.compile(r"(?<![^\W_])\d+(?:[.:-]\d+)*")
"""With no letter before it; a unit may follow."""
_COUNTED = re.compile(r"[$#+~-]?\d[\d.:%-]*[A-Za-z]{0,3}\Z")
_GROUPS = re.compile(r"\d+|[.:-]")
_MOST_GROUPS = 4
"""Of figures with points between them that are also looked up in part; 1.2 stands in 1.2.3."""
_LEAST_CHARS = 3
_LONGEST_CHARS = 64
_MOST_TERMS = 48
"""That a sentence is compared by."""


class Places(Struct, frozen=True, kw_only=True):
    """An index by term. A place is the position of a message, or one behind them for what an
    earlier note said.
    """

    by_term: dict[str, list[int]]
    """Ascending."""
    by_label: dict[str, int]
    folded: tuple[tuple[int, int], ...]
    """Where a sentence without a source may have its numbers from, in order."""
    given: frozenset[str]
    """Numbers that the model was given beside the log: the date, a focus."""


class Terms(Struct, frozen=True):
    """What a sentence is compared by, besides the words that stand in every one."""

    words: frozenset[str]
    numbers: frozenset[str]


def terms_in(text: str) -> Terms:
    """Return the content words of a sentence, names among them, and its numbers apart."""
    words: dict[str, None] = {}
    for term in terms_of(dict.fromkeys(words_in(text))):
        words[term] = None
        if len(words) >= _MOST_TERMS:
            break
    numbers = {one for one in _NUMBERS.findall(text) if len(one) >= _LEAST_CHARS}
    return Terms(frozenset(words), frozenset(numbers))


def is_counted(name: str) -> bool:
    """Return whether a name is a number, with or without a unit."""
    return _COUNTED.match(name) is not None


def is_about(places: Places, terms: Terms, label: str) -> bool:
    """Return whether a sentence shares a word, a name or a number with the message that it cites.

    One without any such word is about anything.
    """
    at = places.by_label.get(label, -1)
    every = terms.words | terms.numbers
    return not every or any(_stands(places.by_term.get(term, ()), at) for term in every)


def is_placed(places: Places, number: str, terms: Terms, label: str) -> bool:
    """Return whether a number stands in the message that its sentence cites; where that is "", in
    a folded one in which another term of the sentence stands too. Linear in where they stand.
    """
    wanted = [one for one in _NUMBERS.findall(number) if len(one) >= _LEAST_CHARS]
    if places.given.issuperset(wanted):
        return True
    rows = [places.by_term.get(one, []) for one in wanted]
    if label:
        at = places.by_label.get(label, -1)
        return all(_stands(row, at) for row in rows)
    held = reduce(lambda found, row: found.intersection(row), rows[1:], set(rows[0]))
    held = {at for at in held if any(start <= at < stop for start, stop in places.folded)}
    others = (terms.words | terms.numbers).difference(
        *map(_pieces, wanted), terms_of(words_in(number))
    )
    found = (places.by_term.get(term, ()) for term in others)
    return bool(held) and any(not held.isdisjoint(row) for row in found)


def _stands(row: Sequence[int], at: int) -> bool:
    found = bisect_left(row, at)
    return found < len(row) and row[found] == at


class PlacesBuilder:
    """The index while texts are added, in the order of their places."""

    def __init__(self) -> None:
        self.by_term: dict[str, list[int]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}

    def add(self, text: str, at: int) -> None:
        """Add a text in small letters that stands at a place."""
        for word in set(words_in(text)):
            if len(word) < _LEAST_CHARS and word.isascii():
                continue
            terms = self._terms.get(word)
            if terms is None:
                terms = self._terms[word] = tuple(terms_of((word,)))
            for term in terms:
                self._put(term, at)
        for number in set(_NUMBERS.findall(text)):
            for piece in _pieces(number):
                self._put(piece, at)

    def _put(self, term: str, at: int) -> None:
        row = self.by_term.setdefault(term, [])
        if not row or row[-1] != at:
            row.append(at)


def numbers_in(text: str) -> frozenset[str]:
    """Return the numbers of a text, also parts of them."""
    return frozenset(piece for number in _NUMBERS.findall(text) for piece in _pieces(number))


def _pieces(number: str) -> Iterator[str]:
    """Yield a number and the numbers in it that may stand for themselves."""
    if len(number) > _LONGEST_CHARS:
        return
    if number.isdecimal():
        if len(number) >= _LEAST_CHARS:
            yield number
        return
    parts = _GROUPS.findall(number)
    count = (len(parts) + 1) // 2
    widths = range(1, count + 1) if count <= _MOST_GROUPS else (1, count)
    for width in widths:
        for start in range(count - width + 1):
            piece = "".join(parts[2 * start : 2 * (start + width) - 1])
            if len(piece) >= _LEAST_CHARS:
                yield piece
