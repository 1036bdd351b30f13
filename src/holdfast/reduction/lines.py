"""Single lines of a text that is never split as a whole."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from holdfast.regex import Regex

__all__ = ["WINDOW_CHARS", "indices", "line_at", "line_starts", "matches", "places"]

WINDOW_CHARS: Final = 600
"""The most of a line that is looked at."""

_BEFORE_CHARS = WINDOW_CHARS // 3
_TRIES = 20_000
_TAIL_CHARS = 65_536


def places(
    text: str,
    sign: str,
    start: int = 0,
    stop: int | None = None,
    follow: Regex[str] | None = None,
) -> Iterator[tuple[int, int]]:
    """Yield the bounds of each line that holds a literal, before `follow`, in order, each once.

    A long line comes as pieces of at most `WINDOW_CHARS` around the literal. After 20,000 lines
    only the tail of the text is still looked at, so that no text makes the search slow.
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


def matches(
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
