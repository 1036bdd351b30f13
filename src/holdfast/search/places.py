"""Where in a text the terms of a query stand."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from holdfast.search.stem import WORD, stem
from holdfast.search.values import Term

MOST_PLACES = 12
"""Of one term that are looked for; more say nothing new."""


class _Letters(dict[int, str]):
    """Each character as one small letter without its accent, so that places stay the same."""

    def __missing__(self, code: int) -> str:
        char = unicodedata.normalize("NFD", chr(code))[0].lower()
        found = char if len(char) == 1 else chr(code)
        self[code] = found
        return found


_LETTERS = _Letters()


_ACCENTED = re.compile("[\u00c0-\u02af\u0370-\u07ff\u1e00-\u1fff\u2126-\u212b\uff21-\uff3a]")
"""Where small letters or accents are; most of what is not ASCII are frames, arrows and Chinese."""


def flat(text: str) -> str:
    """Return a text in small letters without accents, each character at its place."""
    if text.isascii() or not _ACCENTED.search(text):
        small = text.lower()
        if len(small) == len(text):
            return small
    return text.translate(_LETTERS)


def holds(text: str, term: Term) -> bool:
    """Return whether a text has the term."""
    if term.kind == "substring":
        return term.text in text or _holds_small(text, term.text)
    if term.kind == "prefix":
        return _pattern(term.text, True).search(text) is not None
    return next(places(text, flat(text), term), None) is not None


def places(text: str, flattened: str, term: Term) -> Iterator[tuple[int, int]]:
    """Yield where the term stands, first and one past the last character, in order.

    `flattened` is `flat(text)`, made once for all terms.
    """
    match term.kind:
        case "word":
            if len(term.words) == 1:
                yield from _by_stem(flattened, term.words[0])
            else:
                yield from _side_by_side(flattened, term.words)
        case "prefix":
            for found in _pattern(term.text, True).finditer(text):
                yield found.span()
        case "phrase":
            seen = list(_side_by_side(flattened, term.words))
            exact = [found.span() for found in _pattern(term.text, False).finditer(text)]
            yield from sorted({*seen, *exact}) if seen and exact else seen or exact
        case "substring":
            for found in _pattern(term.text, False).finditer(text):
                yield found.span()


@lru_cache(maxsize=256)
def _pattern(text: str, at_word_start: bool) -> re.Pattern[str]:
    return re.compile((r"(?<![^\W_])" if at_word_start else "") + re.escape(text), re.IGNORECASE)


def _by_stem(flattened: str, word: str) -> Iterator[tuple[int, int]]:
    wanted = stem(word)
    # A stem can differ from its word in the last letter: happi, happy.
    begin = wanted[:-1] if len(wanted) > 3 else wanted[:2] if len(wanted) == 3 else wanted
    at = flattened.find(begin)
    while at >= 0:
        found = WORD.match(flattened, at)
        end = found.end() if found else at + 1
        if found and not (at and _in_word(flattened[at - 1])) and stem(found[0]) == wanted:
            yield at, end
        at = flattened.find(begin, end)


def _side_by_side(flattened: str, words: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    if not words:
        return
    for start, end in _by_stem(flattened, words[0]):
        at: int | None = end
        for word in words[1:]:
            found = WORD.search(flattened, at)
            if found is None or stem(found[0]) != stem(word):
                at = None
                break
            at = found.end()
        if at is not None:
            yield start, at


def _holds_small(text: str, wanted: str) -> bool:
    """Bytes take any text at the speed of ASCII."""
    if wanted.isascii():
        return wanted.lower().encode() in text.encode("utf-8", "replace").lower()
    return wanted.casefold() in text.casefold()


def _in_word(char: str) -> bool:
    return char.isalnum()
