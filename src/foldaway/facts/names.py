"""What a text names (paths, commands, numbers), and whether two entries tell the same fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway._core import Regex
from foldaway.facts.languages import VOCABULARIES, WORDS

NameKind: TypeAlias = Literal["path", "url", "command", "identifier", "number"]

RUNS = Regex(r"[0-9A-Za-z_\u00c0-\u10ff\u1200-\u1fff$.@/~+:#%=&?\\-]+")
"""Signs without a blank or bracket between them; a run ends where Chinese or Japanese begins."""
_WORDS = Regex(r"\w+")
_CODE = Regex(r"`([^`\n]{2,300})`")
_PLAIN = Regex(r"(?<![\w`/.-])[a-z][\w.+-]{0,40}(?:[ \t]{1,4}--?[A-Za-z][\w-]{0,40}){1,20}")
"""A command without marks around it: a word with options behind it."""
_EDGES = ".:-/#@$+~%=&?\\"
_TELLING = Regex(r"[/_\d\\]|[a-z][A-Z]|\w\.\w|(?<!\w)--?\w")
_NUMBER = Regex(r"[$#+~-]?\d[\d.:%-]*\Z")
_ENDING = Regex(r"\w\.[A-Za-z][A-Za-z0-9]{0,7}\Z")
_LEAST_CHARS = 3
"""A shorter run of characters names nothing."""
_LONGEST_CHARS = 400
"""A longer one is data."""
_MOST_NAMES = 200
"""Reading ends after this many names."""


class Name(Struct, frozen=True, gc=False):
    """Something that a text names, as it names it."""

    kind: NameKind
    text: str


def names_in(text: str) -> list[Name]:
    """Return what a text names, each once, in order; linear.

    Numbers of fewer than three signs are left out: a text counts things that nobody numbered.
    """
    found: dict[Name, None] = {}
    for code in _CODE.findall(text):
        words = code.split()
        if len(words) > 1:
            found[Name("command", " ".join(words))] = None
    for command in _PLAIN.findall(text):
        found[Name("command", " ".join(command.split()))] = None
    for run in dict.fromkeys(RUNS.findall(text)):
        name = _named(run)
        if name is not None:
            found[name] = None
            if len(found) >= _MOST_NAMES:
                break
    return list(found)


def words_in(text: str) -> list[str]:
    """Return the words and pieces of names in a text, in small letters."""
    return _WORDS.findall(text.casefold())


def without_names(text: str) -> str:
    """Return a text without the paths, identifiers and numbers in it."""
    return RUNS.sub(lambda run: " " if _TELLING.search(bare(run.group())) else run.group(), text)


def bare(run: str) -> str:
    """Return a run without the signs that a sentence puts at its ends; a leading slash stays."""
    end = run.rstrip(_EDGES)
    return end if end[:1] in "/~$" else end.lstrip(_EDGES)


def _named(run: str) -> Name | None:
    text = bare(run)
    if not _LEAST_CHARS <= len(text) <= _LONGEST_CHARS or not _TELLING.search(text):
        return None
    if text.casefold() in WORDS["no_names"]:
        return None
    if "://" in text or text.startswith("www."):
        return Name("url", text)
    if _NUMBER.match(text):
        return Name("number", text)
    if "/" in text or "\\" in text or (_ENDING.search(text) and not text[0].isdigit()):
        return Name("path", text)
    return Name("identifier", text)


_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_COMPARED_WORDS = Regex(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
_MOST_WORDS = 32
"""Different words of an entry that are compared."""
_STEM_CHARS = 6
"""Of a word, without its ending."""
_ENDINGS = ("ing", "ed", "es", "s")
"""`fixing`, `fixed` and `fixes` are one word, near enough."""
_LEAST_WORD_CHARS = 3
"""Shorter words say nothing about a topic."""
_LONGEST_WORD_CHARS = 200
"""Shorter words tell nothing; a longer run is not a word."""
_SMALL = frozenset(word for vocabulary in VOCABULARIES for word in vocabulary.stops)
"""Words that stand in every sentence."""
_LEAST_SHARED = 2
"""Words that two entries share, at least."""
_ALIKE = 0.75
"""Of the words of the shorter entry, if both name the same thing."""
_READ_CHARS = 400
"""Of an entry."""


class Likeness(Struct, frozen=True, gc=False):
    """What entries are compared by: their words, shortened, and what they name."""

    start: str
    """The text itself, if there are too few words to identify it."""
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
    for run in dict.fromkeys(_COMPARED_WORDS.findall(text)):
        if run[0] >= "\u3040":
            yield from _pairs(run)
        elif len(run) >= _LEAST_WORD_CHARS and run not in _SMALL:
            yield _stem(run)


def lookup_terms(words: Iterable[str]) -> Iterator[str]:
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
    """Yield pairs of signs, for scripts without blanks between words."""
    return (run[at : at + 2] for at in range(max(len(run) - 1, 1)))


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_WORD_CHARS:
            word = word[: -len(ending)]
            break
    return word.rstrip("e")[:_STEM_CHARS]


def is_same(one: Likeness, other: Likeness) -> bool:
    """Return whether the words of the shorter are in the longer, most of them if both name the
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
        """Return the tag of the first fact that is the same, None if there is none."""
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
