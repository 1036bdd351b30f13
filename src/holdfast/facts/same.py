"""Whether two entries tell the same fact."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from holdfast.facts.dialogue.vocabulary import phrases_in
from holdfast.facts.dialogue.words import VOCABULARIES
from holdfast.facts.names import names_in

_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORDS = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
_MOST_WORDS = 32
_STEM_CHARS = 6
_ENDINGS = ("ing", "ed", "es", "s")
"""`fixing`, `fixed` and `fixes` are one word, near enough."""
_LEAST_WORD_CHARS = 3
_LONGEST_WORD_CHARS = 200
_SMALL = frozenset(
    word for vocabulary in VOCABULARIES for word in phrases_in(vocabulary.stops or "")
)
"""Words that stand in every sentence."""
_LEAST_SHARED = 2
_ALIKE = 0.75
_READ_CHARS = 400


class Likeness(Struct, frozen=True, gc=False):
    """What entries are compared by: their words, shortened, and what they name."""

    start: str
    """The text itself, where there are too few words to tell it by."""
    words: frozenset[str]
    names: frozenset[str]


def likeness(text: str) -> Likeness:
    """Return what a text is compared by; only its beginning counts."""
    read = text[:_READ_CHARS].casefold()
    words: dict[str, None] = {}
    for word in _pieces(read):
        words[word] = None
        if len(words) >= _MOST_WORDS:
            break
    return Likeness(
        "" if len(words) >= _LEAST_SHARED else read,
        frozenset(words),
        frozenset(name.text.casefold() for name in names_in(text[:_READ_CHARS])),
    )


def _pieces(text: str) -> Iterator[str]:
    for run in dict.fromkeys(_WORDS.findall(text)):
        if run[0] >= "\u3040":
            yield from _pairs(run)
        elif len(run) >= _LEAST_WORD_CHARS and run not in _SMALL:
            yield _stem(run)


def terms_of(words: Iterable[str]) -> Iterator[str]:
    """Yield what words in small letters are looked up by: shortened, but names and numbers whole.

    Small words are left out, and so are those too long for one.
    """
    for word in words:
        if word.isascii() and not word.isalpha():
            if _LEAST_WORD_CHARS <= len(word) <= _LONGEST_WORD_CHARS and not word.isdecimal():
                yield word
        else:
            yield from _pieces(word[:_LONGEST_WORD_CHARS])


def _pairs(run: str) -> Iterator[str]:
    """Yield pairs of signs, where there are no blanks between words."""
    return (run[at : at + 2] for at in range(max(len(run) - 1, 1)))


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_WORD_CHARS:
            word = word[: -len(ending)]
            break
    return word.rstrip("e")[:_STEM_CHARS]


def is_same(one: Likeness, other: Likeness) -> bool:
    """Return whether the words of the shorter are in the longer, most of them where both name the
    same thing, and neither names something that sets them apart.

    One other word sets two sentences without names apart: to keep both costs little, and a fact
    that is taken for another is lost.
    """
    fewer = min(len(one.words), len(other.words))
    shared = len(one.words & other.words)
    alike = _ALIKE if one.names and other.names else 1.0
    if shared < _LEAST_SHARED or shared < alike * fewer:
        return False
    return one.names <= other.names or other.names <= one.names


class Known:
    """Facts that are told already; a new one is compared with those that share two words."""

    def __init__(self) -> None:
        self._exact: dict[Likeness, int] = {}
        self._rows: list[tuple[Likeness, int]] = []
        self._by_word: dict[str, list[int]] = {}

    def add(self, like: Likeness, tag: int) -> None:
        """Remember a fact under a tag of the caller's."""
        if like in self._exact:
            return
        self._exact[like] = tag
        for word in like.words:
            self._by_word.setdefault(word, []).append(len(self._rows))
        self._rows.append((like, tag))

    def find(self, like: Likeness) -> int | None:
        """Return the tag of the first fact that is the same, None where there is none."""
        if like in self._exact:
            return self._exact[like]
        counts: dict[int, int] = {}
        for word in like.words:
            for row in self._by_word.get(word, ()):
                counts[row] = counts.get(row, 0) + 1
        for row in sorted(row for row, shared in counts.items() if shared >= _LEAST_SHARED):
            other, tag = self._rows[row]
            if is_same(like, other):
                return tag
        return None
