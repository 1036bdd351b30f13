"""Quick looks at a text as a whole: what a terminal would show, single lines, literals, JSON."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

import msgspec
from ahocorasick_rs import BytesAhoCorasick
from msgspec import Raw

from foldaway._core import Regex, read_words

WORDS: Final = read_words("words", "foldaway.reduction")
"""The lists of `words.toml`."""
_ESCAPE = Regex(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?"
    r"|[PX^_][^\x1b\n]{0,4096}\x1b\\|[ -/]*[0-~])"
)


def plain(text: str) -> str:
    """Return a text without escape codes, with line feeds alone, and progress at its last state.

    What a carriage return overwrote is gone; a line that ends in one keeps what stood before it.
    """
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            text = "\n".join([_apply_returns(line) for line in text.split("\n")])
    return text


def _apply_returns(line: str) -> str:
    if "\r" not in line:
        return line
    return line.rstrip("\r").rpartition("\r")[2]


WINDOW_CHARS: Final = 600
"""The most of a line that is looked at."""

_BEFORE_CHARS = WINDOW_CHARS // 3
_TRIES = 20_000
"""After this many lines only `_TAIL_CHARS` are searched: no text makes a search slow."""
_TAIL_CHARS = 65_536


def places(
    text: str, sign: str, start: int = 0, stop: int | None = None, follow: Regex[str] | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the bounds of each line that holds a literal, before `follow`, in order, each once.

    A long line comes as pieces of at most `WINDOW_CHARS` around the literal.
    """
    stop = len(text) if stop is None else stop
    at = text.find(sign, start, stop)
    tries = 0
    while at >= 0:
        if follow is not None and not follow.match(text, at + len(sign)):
            at = text.find(sign, at + 1, stop)
            continue
        first, last = line_at(text, at)
        yield first, last
        tries += 1
        after = max(last, at + 1)
        if tries == _TRIES:
            after = max(after, stop - _TAIL_CHARS)
        at = text.find(sign, after, stop)


def find_matches(
    text: str, sign: str, pattern: Regex[str], most: int
) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the first `most` lines that hold `sign` and match `pattern` from their start."""
    given = 0
    for start, end in places(text, sign):
        found = pattern.match(text[start:end])
        if found:
            yield start, found
            given += 1
            if given >= most:
                return


def line_at(text: str, at: int) -> tuple[int, int]:
    """Return the bounds of the line around a place, at most `WINDOW_CHARS`; a CR ends it too."""
    low = max(0, at - _BEFORE_CHARS)
    first = max(text.rfind("\n", low, at), text.rfind("\r", low, at)) + 1 or low
    high = min(len(text), first + WINDOW_CHARS)
    last = text.find("\n", at, high)
    last = high if last < 0 else last
    carriage = text.find("\r", at, last)
    return first, (last if carriage < 0 else carriage)


def line_starts(texts: Sequence[str]) -> list[int]:
    """Return where each line begins in the lines joined by line feeds."""
    return list(accumulate((len(text) + 1 for text in texts), initial=0))


def indices(starts: Sequence[int], spans: Iterable[tuple[int, int]]) -> list[int]:
    """Return in which line, of those that begin at `starts`, each span begins."""
    return [bisect_right(starts, start) - 1 for start, _ in spans]


class Signs:
    """Literals that are looked for together; in bytes, which is quicker and takes any text."""

    def __init__(self, literals: Sequence[str]) -> None:
        self._automaton = BytesAhoCorasick([literal.encode() for literal in literals])

    def held(self, text: str) -> set[int]:
        """Return the places, in the list, of the literals that the text holds."""
        data = text.encode("utf-8", "surrogatepass")
        return {
            match[0] for match in self._automaton.find_matches_as_indexes(data, overlapping=True)
        }

    def any_in(self, text: str) -> bool:
        """Return whether the text holds any of them."""
        data = text.encode("utf-8", "surrogatepass")
        return bool(self._automaton.find_matches_as_indexes(data))


_STRING_OR_SPACE = Regex(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|[ \t\n\r]++', re.DOTALL)
_LEAST_CHARS = 32
"""A shorter text is not worth the look."""


def read_raw_json(text: str | bytes) -> Raw | None:
    """Return the JSON value that a text is, not parsed; None if it is not JSON."""
    try:
        return msgspec.json.decode(text, type=Raw)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def without_spaces(text: str) -> str:
    """Return a JSON text without whitespace outside of its strings; other text as it is.

    Nothing is parsed and written again: numbers, escapes, the order of keys and keys that stand
    twice are letter for letter those of the source.
    """
    if len(text) < _LEAST_CHARS or text.lstrip(" \t\n\r")[:1] not in ("{", "["):
        return text
    if read_raw_json(text) is None:
        return text
    return _STRING_OR_SPACE.sub(lambda found: found.group(1) or "", text)
