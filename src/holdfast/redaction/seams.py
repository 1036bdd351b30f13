"""The literals of a text as a reader sees it, out of those of the text as it is.

Where little is left out, most literals only move: a second search of all of it would take as long
as the first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter

from holdfast.redaction.matching import Hit
from holdfast.redaction.view import APART, View

FEW = 64
"""The same for the literals themselves."""


def moved_hits(
    hits: Sequence[Hit], view: View, find: Callable[[bytes], list[Hit]], longest: int
) -> list[Hit]:
    """Return what `find` finds in the view, in the same order; `hits` are those of the original.

    No literal is longer than `longest`.
    """
    size = len(view.data)
    if view.is_blanked or len(view.starts) * APART > size or len(hits) * FEW > size:
        return find(view.data)
    moved: list[Hit] = []
    first = begin = shift = 0
    for seam, left_out in zip((*view.starts, size), (*view.shifts, 0), strict=True):
        # hits come by their ends: those between two gaps stand together
        last = bisect_right(hits, seam + shift, first, key=_END)
        moved += [
            (number, start - shift, end - shift)
            for number, start, end in hits[first:last]
            if start >= begin
        ]
        first, begin, shift = last, seam + left_out, left_out
    over: set[Hit] = set()
    for seam in view.starts:
        near = max(0, seam - longest)
        for number, start, end in find(view.data[near : seam + longest]):
            if near + start < seam < near + end:
                over.add((number, near + start, near + end))
    return sorted([*moved, *over], key=itemgetter(2, 1)) if over else moved


_END = itemgetter(2)
