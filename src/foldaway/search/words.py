"""Words and their stems, as the indexes of the stores see them, and where terms are in a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from foldaway.search.values import Term

WORD = re.compile(r"[^\W_]+")
_MARKS = re.compile("[\u0300-\u036f]+")
_ACCENTED = re.compile("[\u00c0-\u02af\u0370-\u07ff\u1e00-\u1fff\u2126-\u212b\uff21-\uff3a]")
"""Where small letters or accents are; most of what is not ASCII are frames, arrows and Chinese."""
MOST_PLACES = 12
"""Of one term that are looked for; more say nothing new."""
_VOWELS = frozenset("aeiou")
_MOST_CHARS = 64
"""Longer words keep their endings; SQLite's stemmer has the same limit, in bytes."""

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "logi": "log",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_STEP_4 = (
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ment",
    "ent",
    "ion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
)


def fold_text(text: str) -> str:
    """Return a text in small letters, Latin letters without their accents."""
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFD", text.lower()))


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded: runs of letters and digits."""
    return WORD.findall(fold_text(text))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of a folded word by Porter's rules; other than English letters stay."""
    if len(word) <= 2 or len(word) >= _MOST_CHARS or not word.isascii():
        return word
    word = _step_1c(_step_1b(_step_1a(word)))
    return _step_5(_step_4(_replace_ending(_replace_ending(word, _STEP_2), _STEP_3)))


def _shape(word: str) -> str:
    """Return `v` and `c` for each letter; `y` after a consonant is a vowel."""
    shape = ""
    for char in word:
        vowel = char in _VOWELS or (char == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _ends(word: str, ending: str) -> bool:
    """Whether it has this ending and something before it."""
    return len(word) > len(ending) and word.endswith(ending)


def _measure(word: str) -> int:
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Whether it ends in consonant, vowel, consonant, the last of them not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _step_1a(word: str) -> str:
    if _ends(word, "sses") or _ends(word, "ies"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _step_1b(word: str) -> str:
    if _ends(word, "eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if _ends(word, ending):
            rest = word[: -len(ending)]
            return _restore_ending(rest) if "v" in _shape(rest) else word
    return word


def _restore_ending(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c" and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _is_short(word) else word


def _step_1c(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and "v" in _shape(word[:-1]) else word


def _replace_ending(word: str, endings: dict[str, str]) -> str:
    for ending, other in endings.items():
        if _ends(word, ending):
            rest = word[: -len(ending)]
            return rest + other if _measure(rest) > 0 else word
    return word


def _step_4(word: str) -> str:
    for ending in _STEP_4:
        if _ends(word, ending):
            rest = word[: -len(ending)]
            kept = _measure(rest) <= 1 or (ending == "ion" and not rest.endswith(("s", "t")))
            return word if kept else rest
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _is_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


class _Letters(dict[int, str]):
    """Each character as one small letter without its accent, so that places stay the same."""

    def __missing__(self, code: int) -> str:
        char = unicodedata.normalize("NFD", chr(code))[0].lower()
        found = char if len(char) == 1 else chr(code)
        self[code] = found
        return found


_LETTERS = _Letters()


def flatten(text: str) -> str:
    """Return a text in small letters without accents, each character at its place."""
    if text.isascii() or not _ACCENTED.search(text):
        small = text.lower()
        if len(small) == len(text):
            return small
    return text.translate(_LETTERS)


def has_term(text: str, term: Term) -> bool:
    """Return whether a text has the term."""
    if term.kind == "substring":
        return term.text in text or _has_small_term(text, term.text)
    if term.kind == "prefix":
        return _pattern(term.text, True).search(text) is not None
    return next(places(text, flatten(text), term), None) is not None


def places(text: str, flattened: str, term: Term) -> Iterator[tuple[int, int]]:
    """Yield where the term stands, first and one past the last character, in order.

    `flattened` is `flat(text)`, made once for all terms.
    """
    match term.kind:
        case "word":
            if len(term.words) == 1:
                yield from _find_by_stem(flattened, term.words[0])
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


def _find_by_stem(flattened: str, word: str) -> Iterator[tuple[int, int]]:
    wanted = stem(word)
    # A stem can differ from its word in the last letter: happi, happy.
    begin = wanted[:-1] if len(wanted) > 3 else wanted[:2] if len(wanted) == 3 else wanted
    at = flattened.find(begin)
    while at >= 0:
        found = WORD.match(flattened, at)
        end = found.end() if found else at + 1
        if found and not (at and flattened[at - 1].isalnum()) and stem(found[0]) == wanted:
            yield at, end
        at = flattened.find(begin, end)


def _side_by_side(flattened: str, words: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    if not words:
        return
    for start, end in _find_by_stem(flattened, words[0]):
        at: int | None = end
        for word in words[1:]:
            found = WORD.search(flattened, at)
            if found is None or stem(found[0]) != stem(word):
                at = None
                break
            at = found.end()
        if at is not None:
            yield start, at


def _has_small_term(text: str, wanted: str) -> bool:
    """Bytes take any text at the speed of ASCII."""
    if wanted.isascii():
        return wanted.lower().encode() in text.encode("utf-8", "replace").lower()
    return wanted.casefold() in text.casefold()
