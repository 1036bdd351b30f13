"""The lines of a text that matter, ranked, and the best of them within a number of characters.

Status comes first, then failures and the lines next to them, then what is rare.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from foldaway._core import Regex
from foldaway.reduction.excerpt import Lines, read_lines
from foldaway.reduction.lines import indices, line_starts, places
from foldaway.reduction.reduced import (
    ReductionDraft,
    ReductionRequest,
    Render,
    clip_line,
    closing,
    gap,
    plural,
)
from foldaway.reduction.signals import (
    error_spans,
    failing_packages,
    failing_spans,
    status_spans,
    summary_spans,
)


def reduce_log(text: str, ask: ReductionRequest) -> Render:
    """Read a log, or any text of which no more is known than that it has lines."""
    ranking = rank_lines(read_lines(text, ask.room_chars))
    return line_render(ranking, ask.reference, dress=without_days)


class RankSettings(Struct, frozen=True):
    """What differs from one kind of output to another."""

    noise: tuple[str, ...] = ()
    """How lines begin that only say that things go on."""
    warning: float = 350
    """The rank of a warning."""
    detail_lines: int = 3
    """How many lines after a failure belong to it."""


PLAIN: Final = RankSettings()


STATUS, FAILING, ERROR, REPEATED_ERROR = 1000.0, 900.0, 800.0, 250.0
END, DETAIL, BEFORE, HEAD, TAIL = 850.0, 600.0, 150.0, 420.0, 450.0
RARE, FIRST, REPEATED, NOISE = 60.0, 40.0, 5.0, 1.0
"""The rank of a line: how it ended and what failed before the ends, the ends before what is only
rare. Chosen by hand; `bench/reduce.py` measures what a reduction keeps."""

_HEAD_LINES, _TAIL_LINES = 6, 12
"""How many lines at the ends are raised; how a command ended is more often the question."""
_MOST_SPANS = 2_000
"""How many failures are looked for."""
_FAILING_DETAIL_LINES = 12
"""How many lines below the name of a failed test belong to it, if they are indented more."""
_FOLDED_FROM, _FOLDED_ERRORS = 2, 5
"""From this many lines like the first on they are folded; errors later, their numbers matter."""
_COUNTED_LINES = 25
"""How many lines at each end are searched for `_COUNTED`."""
_COUNTED = Regex(
    r"\W{0,6}(?:\[[^\]]{1,30}\] )?(?:found |total:? )?\d[\d,]* (?:files? changed|files?|issues?"
    r"|errors?|warnings?|problems?|rows?|results?|match(?:es)?|tests?|vulnerabilit\w+)\b.{0,80}$",
    re.I,
)
"""How many there were of what the whole output is about."""
_WARNING = Regex(r"\b(?:warn(?:ing)?|deprecated)\b", re.I)


def rank_lines(lines: Lines, settings: RankSettings = PLAIN) -> Ranking:
    """Return the lines ranked; runs of lines that differ in digits alone are folded into one."""
    texts = lines.texts
    joined = "\n".join(texts)
    keys = joined.encode("utf-8", "surrogatepass").translate(None, b"0123456789").split(b"\n")
    scores, shown, covers = _score_rarity(texts, keys, lines.places)
    _score_places(texts, scores, settings.noise)
    starts = line_starts(texts)
    _raise_first(scores, keys, indices(starts, _warnings(joined)), settings.warning, NOISE)
    failures = indices(starts, error_spans(joined, _MOST_SPANS))
    _raise_first(scores, keys, failures, ERROR, REPEATED_ERROR)
    _raise_beside(texts, scores, failures, settings.detail_lines)
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


def _score_rarity(
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
            scores.append((RARE if often[key] == 1 else FIRST) + scatter(at))
        else:
            scores.append(REPEATED + scatter(at))
        if key and key == last_key and number == last_number + 1:
            covers[opened] = covers.get(opened, 0) + 1
        else:
            opened, last_key = at, key
        last_number = number
    covers = {at: count for at, count in covers.items() if count >= _FOLDED_FROM}
    for at, count in covers.items():
        shown[at] = f"{clip_line(texts[at], LINE_CHARS)} [+{count:,} alike]"
    return scores, shown, covers


def _score_places(texts: list[str], scores: list[float], noise: tuple[str, ...]) -> None:
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
        scores[at] = max(scores[at], (again if key in seen else first) + scatter(at))
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


LINE_CHARS: Final = 400
"""A longer line is cut in its middle."""

_GAP_CHARS = 14
"""The room for the mark of a gap, "[… 12 lines]"; a gap that is not longer is filled."""
_MISSES = 64
"""After this many lines that do not fit, no smaller ones are looked for."""


class Ranking(Struct, frozen=True):
    """Lines, best first, and what replaces them."""

    lines: Lines
    order: list[int]
    """Indices of the lines that may be shown, best first; lines that never are, are not here."""
    shown: Mapping[int, str] = {}
    """What is shown in place of a line, whatever its length."""
    covers: Mapping[int, int] = {}
    """How many of the lines after it a line stands for."""
    notes: tuple[str, ...] = ()


def ranking_of(
    lines: Lines,
    scores: Sequence[float],
    shown: Mapping[int, str] | None = None,
    covers: Mapping[int, int] | None = None,
) -> Ranking:
    """Return the lines with a score above 0, the highest first, earlier ones before later ones."""
    order = [at for at, score in enumerate(scores) if score > 0]
    order.sort(key=scores.__getitem__, reverse=True)
    return Ranking(lines, order, shown or {}, covers or {})


def without(ranking: Ranking, hidden: Collection[int], shown: Mapping[int, str]) -> Ranking:
    """Return a ranking in which some lines are never shown, and others differently."""
    order = [at for at in ranking.order if at not in hidden]
    return Ranking(ranking.lines, order, {**ranking.shown, **shown}, ranking.covers, ranking.notes)


def scatter(at: int) -> float:
    """Return a number in [0, 1) that spreads equally ranked lines over a text, three at a time."""
    return (at // 3 * 2_654_435_761 & 0xFFFF) / 0x10000


def line_render(
    ranking: Ranking,
    reference: str | None,
    *,
    noun: str = "",
    mark: Callable[[int, str], str] = gap,
    dress: Callable[[list[str]], list[str]] = list,
) -> Render:
    """Return what gives the best lines of a ranking within a number of characters.

    `mark` stands in the text for what is missing there; `dress` may shorten the lines that are
    shown, seen together.
    """
    lines = ranking.lines
    unit = noun or lines.noun

    def render(budget_chars: int) -> ReductionDraft:
        note = closing((f"{plural(lines.total, unit)} of {lines.total:,}",), reference)
        kept = _choose(ranking, budget_chars - (0 if reference is None else len(note)))
        parts, missing = _assemble(ranking, kept, lambda absent: mark(absent, unit))
        shown = "\n".join(dress(parts))
        if not missing:
            return ReductionDraft(shown, (), {}, ranking.notes)
        left_out = (f"{plural(missing, unit)} of {lines.total:,}",)
        text = shown if reference is None else f"{shown}\n{closing(left_out, reference)}"
        return ReductionDraft(text, left_out, {plural(2, unit)[2:]: missing}, ranking.notes)

    return render


def _choose(ranking: Ranking, budget_chars: int) -> list[int]:
    """Return the best lines that fit, in the order of the text."""
    texts, shown = ranking.lines.texts, ranking.shown
    taken: set[int] = set()
    used = misses = 0
    for at in ranking.order:
        size = (len(shown[at]) if at in shown else min(len(texts[at]), LINE_CHARS)) + 1
        if at - 1 not in taken and at + 1 not in taken:
            size += _GAP_CHARS
        if used + size > budget_chars:
            misses += 1
            if misses > _MISSES:
                break
            continue
        used += size
        taken.add(at)
    return sorted(taken)


def _assemble(
    ranking: Ranking, kept: Sequence[int], mark: Callable[[int], str]
) -> tuple[list[str], int]:
    """Return the kept lines with gaps marked, and how much is not in them."""
    lines, shown, covers = ranking.lines, ranking.shown, ranking.covers
    parts: list[str] = []
    missing = place = 0
    previous = -1
    for at in kept:
        absent = lines.places[at] - place
        if absent > 0:
            filler = lines.texts[previous + 1 : at]
            if len(filler) == absent and sum(map(len, filler)) + absent <= _GAP_CHARS:
                parts.extend(filler)
            else:
                parts.append(mark(absent))
                missing += absent
        parts.append(shown[at] if at in shown else clip_line(lines.texts[at], LINE_CHARS))
        previous = at + covers.get(at, 0)
        missing += previous - at
        place = lines.end(previous)
    if place < lines.total:
        parts.append(mark(lines.total - place))
        missing += lines.total - place
    return parts, missing


_STAMP = Regex(
    r"(\[?)(\d{4}[-/]\d\d[-/]\d\d)[T ](\d\d:\d\d:\d\d)"
    r"(?:[.,]\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)?(?=[\] \t])"
)


def without_days(parts: list[str]) -> list[str]:
    """Return the lines without the day, fraction and zone of a stamp whose day stands above."""
    day = ""
    found: list[str] = []
    for part in parts:
        stamp = _STAMP.match(part) if part[:2].strip("[").isdigit() else None
        if stamp is None:
            found.append(part)
            continue
        same = stamp[2] == day
        found.append(f"{stamp[1]}{stamp[3]}{part[stamp.end() :]}" if same else part)
        day = stamp[2]
    return found
