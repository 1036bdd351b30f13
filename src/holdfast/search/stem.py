"""Words and their stems, as the word indexes of the stores see them."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

WORD = re.compile(r"[^\W_]+")
_MARKS = re.compile("[\u0300-\u036f]+")
_VOWELS = frozenset("aeiou")
_MOST_CHARS = 64
"""Longer words keep their endings; SQLite's stemmer has the same limit, in bytes."""

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "logi": "log", "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous",
    "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive",
    "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


def folded(text: str) -> str:
    """Return a text in small letters, Latin letters without their accents."""
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFD", text.lower()))


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded: runs of letters and digits."""
    return WORD.findall(folded(text))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of a folded word by Porter's rules; other than English letters stay."""
    if len(word) <= 2 or len(word) >= _MOST_CHARS or not word.isascii():
        return word
    return _step_5(_step_4(_step_3(_step_2(_step_1c(_step_1b(_step_1a(word)))))))


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


def _short(word: str) -> bool:
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
            return _mended(rest) if "v" in _shape(rest) else word
    return word


def _mended(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c" and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _short(word) else word


def _step_1c(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and "v" in _shape(word[:-1]) else word


def _step_2(word: str) -> str:
    return _replaced(word, _STEP_2)


def _step_3(word: str) -> str:
    return _replaced(word, _STEP_3)


def _replaced(word: str, endings: dict[str, str]) -> str:
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
        if measure > 1 or (measure == 1 and not _short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
