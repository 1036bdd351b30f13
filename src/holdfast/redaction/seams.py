"""The literals of a text as a reader sees it, out of those of the text as it is.

Where little is left out, most literals only move: a second search of all of it would take as long
as the first.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

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
    shifts = (0, *view.shifts)
    begins = [at + shift for at, shift in zip(view.starts, shifts, strict=False)]
    ends = [at + shift for at, shift in zip(view.starts, view.shifts, strict=True)]
    found: set[Hit] = set()
    for number, start, end in hits:
        passed = bisect_right(ends, start)
        if passed == len(begins) or begins[passed] >= end:
            found.add((number, start - shifts[passed], end - shifts[passed]))
    for seam in view.starts:
        first = max(0, seam - longest)
        for number, start, end in find(view.data[first : seam + longest]):
            if first + start < seam < first + end:
                found.add((number, first + start, first + end))
    return sorted(found, key=lambda hit: (hit[2], hit[1]))
