"""Build and lint output: diagnostics and how it ended; what went well is only counted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.reduction.excerpt import read_lines
from holdfast.reduction.marks import plural, shortened
from holdfast.reduction.pack import Ranking, line_render, without
from holdfast.reduction.rank import Taste, rank_lines
from holdfast.reduction.reduced import ReductionRequest, Render
from holdfast.reduction.reducers.search import reduce_search

TASTE = Taste(
    noise=(
        "Compiling", "Downloading", "Downloaded", "Fetching", "Checking", "Building", "Unpacking",
        "Setting up", "Selecting", "Preparing", "Get:", "Hit:", "go: downloading", "Collecting",
        "Requirement already", "Using cached", "Installing", "Resolving", "Copying", "Creating",
        "added ", "npm http", "npm timing", "[INFO] Download", "> Task", " ---> ", "Step ",
        "-- ", "make[", "CC ", "LD ", "AR ", "CXX ", "Progress", "remote:", "Receiving", "Updating",
    ),
    warning=300,
    detail_lines=3,
)  # fmt: skip

_DIAGNOSTIC = re.compile(
    r"(?:\[[^\]]{1,30}\] )?([^\s:()]{1,200}):(\d{1,7}(?::\d{1,5})?):? (?=\S)(.*)"
)
_DIGITS = re.compile(r"\d+")
_ALSO_CHARS = 240
_MESSAGE_CHARS = 220
_DETAIL_LINES = 2
_DENSE = 0.6


def reduce_build(text: str, ask: ReductionRequest) -> Render:
    """Read the output of a compiler, a linter or a package manager.

    Where it is little else than diagnostics, they are shown by file.
    """
    lines = read_lines(text, ask.room_chars)
    full = [line for line in lines.texts if line.strip()]
    found = sum(1 for line in full if _DIAGNOSTIC.match(line))
    if found > _DENSE * len(full):
        return reduce_search(text, ask, noun="finding")
    return line_render(_gathered(rank_lines(lines, TASTE)), ask.reference)


def _gathered(ranking: Ranking) -> Ranking:
    """Return the ranking with one line for each message, and the other places behind it."""
    texts = ranking.lines.texts
    groups: dict[str, list[tuple[int, str, str]]] = {}
    for at, text in enumerate(texts):
        found = _DIAGNOSTIC.match(text) if ":" in text else None
        if found:
            key = _DIGITS.sub("", found[3])
            groups.setdefault(key, []).append((at, found[1], found[2]))
    hidden: set[int] = set()
    shown: dict[int, str] = {}
    for (first, path, _), *others in groups.values():
        if others:
            places = _places(path, [(path, place) for _, path, place in others])
            shown[first] = f"{shortened(texts[first], _MESSAGE_CHARS)} [also {places}]"
            for at, _, _ in others:
                hidden.update(range(at, at + 1 + _details(texts, at)))
        elif len(texts[first]) > _MESSAGE_CHARS:
            shown[first] = shortened(texts[first], _MESSAGE_CHARS)
    return without(ranking, hidden, shown)


def _places(path: str, others: Sequence[tuple[str, str]]) -> str:
    """Return e.g. "12:5, 13:5, b.go:7:1", a path only where it differs from the one before."""
    parts: list[str] = []
    size = 0
    for at, (other, place) in enumerate(others):
        parts.append(place if other == path else f"{other}:{place}")
        path = other
        size += len(parts[-1]) + 2
        if size > _ALSO_CHARS and at + 1 < len(others):
            parts.append(f"{plural(len(others) - at - 1, 'place')} more")
            break
    return ", ".join(parts)


def _details(texts: Sequence[str], at: int) -> int:
    """Return how many of the next lines show the source of a diagnostic."""
    for step in range(1, _DETAIL_LINES + 1):
        if at + step >= len(texts) or texts[at + step][:1] not in (" ", "\t", "^"):
            return step - 1
    return _DETAIL_LINES
