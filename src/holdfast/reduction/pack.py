"""The best lines of a text within a number of characters, in their order, gaps marked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct

from holdfast.reduction.excerpt import Lines
from holdfast.reduction.marks import closing, gap, plural, shortened
from holdfast.reduction.reduced import ReductionDraft, Render

__all__ = ["LINE_CHARS", "Ranking", "line_render", "ranking_of", "scattered", "without"]

LINE_CHARS: Final = 400
"""A longer line is cut in its middle."""

_GAP_CHARS = 14
_MISSES = 64


class Ranking(Struct, frozen=True):
    """Lines, best first, and what stands in for them."""

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


def scattered(at: int) -> float:
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
        parts.append(shown[at] if at in shown else shortened(lines.texts[at], LINE_CHARS))
        previous = at + covers.get(at, 0)
        missing += previous - at
        place = lines.end(previous)
    if place < lines.total:
        parts.append(mark(lines.total - place))
        missing += lines.total - place
    return parts, missing
