"""Which lines of a log matter: status, failures and what stands beside them, what is rare."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from holdfast.reduction.excerpt import Lines
from holdfast.reduction.lines import indices, line_starts, places
from holdfast.reduction.marks import shortened
from holdfast.reduction.pack import LINE_CHARS, Ranking, ranking_of, scattered
from holdfast.reduction.signals import error_spans, status_spans
from holdfast.reduction.testreport import failing_packages, failing_spans, summary_spans

__all__ = ["Taste", "rank_lines", "status_lines"]


class Taste(Struct, frozen=True):
    """What a kind of output has of its own."""

    noise: tuple[str, ...] = ()
    """How lines begin that only say that things go on."""
    warning: float = 350
    """The rank of a warning."""
    detail_lines: int = 3
    """How many lines after a failure belong to it."""


STATUS, FAILING, ERROR, REPEATED_ERROR = 1000.0, 900.0, 800.0, 250.0
END, DETAIL, BEFORE, HEAD, TAIL = 850.0, 600.0, 150.0, 420.0, 450.0
RARE, FIRST, REPEATED, NOISE = 60.0, 40.0, 5.0, 1.0

_HEAD_LINES, _TAIL_LINES = 6, 12
_MOST_SPANS = 2_000
_FAILING_DETAIL_LINES = 12
_FOLDED_FROM = 2
_FOLDED_ERRORS = 5
"""So many lines after the first are folded; of errors, whose numbers may matter, more."""
_COUNTED_LINES = 25
_COUNTED = re.compile(
    r"\W{0,6}(?:\[[^\]]{1,30}\] )?(?:found |total:? )?\d[\d,]* (?:files? changed|files?|issues?"
    r"|errors?|warnings?|problems?|rows?|results?|match(?:es)?|tests?|vulnerabilit\w+)\b.{0,80}$",
    re.I,
)
"""How many there were of what the whole output is about."""
_WARNING = re.compile(r"\b(?:warn(?:ing)?|deprecated)\b", re.I)


def rank_lines(lines: Lines, taste: Taste) -> Ranking:
    """Return the lines ranked; runs of lines that differ in digits alone are folded into one."""
    texts = lines.texts
    joined = "\n".join(texts)
    keys = joined.encode("utf-8", "surrogatepass").translate(None, b"0123456789").split(b"\n")
    scores, shown, covers = _by_rarity(texts, keys, lines.places)
    _by_place(texts, scores, taste.noise)
    starts = line_starts(texts)
    _raise_first(scores, keys, indices(starts, _warnings(joined)), taste.warning, NOISE)
    failures = indices(starts, error_spans(joined, _MOST_SPANS))
    _raise_first(scores, keys, failures, ERROR, REPEATED_ERROR)
    _raise_beside(texts, scores, failures, taste.detail_lines)
    packages = ((at, at) for at in failing_packages(joined, _MOST_SPANS))
    failing = indices(starts, [*failing_spans(joined, _MOST_SPANS), *packages])
    for at in failing:
        scores[at] = max(scores[at], FAILING)
    _raise_beside(texts, scores, failing, _FAILING_DETAIL_LINES, deeper=True)
    for at in indices(starts, [*status_spans(joined), *summary_spans(joined)]):
        scores[at] = max(scores[at], STATUS)
    covers = {at: n for at, n in covers.items() if n >= _FOLDED_ERRORS or scores[at] < ERROR}
    for at, count in covers.items():
        for hidden in range(at + 1, at + 1 + count):
            scores[hidden] = 0
    return ranking_of(lines, scores, {at: shown[at] for at in covers}, covers)


def _by_rarity(
    texts: list[str], keys: list[bytes], numbers: Iterable[int]
) -> tuple[list[float], dict[int, str], dict[int, int]]:
    """Return scores by how often a line's shape occurs, and the runs that are folded."""
    often = Counter(keys)
    seen: set[bytes] = set()
    scores: list[float] = []
    shown: dict[int, str] = {}
    covers: dict[int, int] = {}
    opened = -1
    last_key = b""
    last_number = -1
    for at, (key, number) in enumerate(zip(keys, numbers, strict=True)):
        if not key or key.isspace():
            scores.append(0)
        elif key not in seen:
            seen.add(key)
            scores.append((RARE if often[key] == 1 else FIRST) + scattered(at))
        else:
            scores.append(REPEATED + scattered(at))
        if key and key == last_key and number == last_number + 1:
            covers[opened] = covers.get(opened, 0) + 1
        else:
            opened, last_key = at, key
        last_number = number
    covers = {at: count for at, count in covers.items() if count >= _FOLDED_FROM}
    for at, count in covers.items():
        shown[at] = f"{shortened(texts[at], LINE_CHARS)} [+{count:,} alike]"
    return scores, shown, covers


def _by_place(texts: list[str], scores: list[float], noise: tuple[str, ...]) -> None:
    """Raise what stands at the ends, lower what only says that things go on."""
    full = [at for at, score in enumerate(scores) if score > 0]
    for rank, at in enumerate(full[:_HEAD_LINES]):
        scores[at] = HEAD - 20 * rank
    for rank, at in enumerate(full[: -_TAIL_LINES - 1 : -1]):
        scores[at] = max(scores[at], TAIL - 15 * rank)
    if noise:
        for at in full:
            if texts[at].lstrip().startswith(noise):
                scores[at] = NOISE
    for at in full[:1] + full[-1:]:
        scores[at] = END
    for at in status_lines(texts):
        scores[at] = STATUS


def status_lines(texts: Sequence[str]) -> list[int]:
    """Return the lines at the ends that say how many there were, or how it ended."""
    near = range(min(_COUNTED_LINES, len(texts)))
    far = range(max(len(texts) - _COUNTED_LINES, len(near)), len(texts))
    return [at for at in (*near, *far) if _COUNTED.match(texts[at]) or status_spans(texts[at])]


def _raise_first(
    scores: list[float], keys: list[bytes], found: list[int], first: float, again: float
) -> None:
    """Raise the first line of each shape to `first`, the others to `again`."""
    seen: set[bytes] = set()
    for at in found:
        key = keys[at].rpartition(b":: ")[2]  # without the file of a diagnostic
        scores[at] = max(scores[at], (again if key in seen else first) + scattered(at))
        seen.add(key)


def _raise_beside(
    texts: list[str], scores: list[float], found: list[int], after: int, *, deeper: bool = False
) -> None:
    """Raise the lines after each failure, as far as they belong to it, and the one before."""
    for at in found:
        if at > 0:
            scores[at - 1] = max(scores[at - 1], BEFORE)
        depth = _depth(texts[at])
        for step in range(1, after + 1):
            if at + step >= len(texts) or not texts[at + step].strip():
                break
            if deeper and _depth(texts[at + step]) <= depth:
                break
            scores[at + step] = max(scores[at + step], DETAIL - 30 * step)


def _depth(text: str) -> int:
    return len(text) - len(text.lstrip())


def _warnings(joined: str) -> list[tuple[int, int]]:
    return [
        (start, end)
        for sign in ("arn", "ARN", "eprecated")
        for start, end in places(joined, sign)
        if _WARNING.search(joined, start, end)
    ]
