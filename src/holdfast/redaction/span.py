"""What a secret is inside the redactor: a span of the bytes that it reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PRIVATE_KEY = "private-key"
LINE = "line"
"""The kinds whose placeholder has no tag."""


class Span(NamedTuple):
    """A secret: where it stands, what it is, and how early its rule comes."""

    start: int
    end: int
    kind: str
    rank: int


def merged(spans: Iterable[Span]) -> list[Span]:
    """Join what overlaps into one span, with the kind of the largest, or of the earlier rule."""
    merged: list[Span] = []
    end = -1
    for span in sorted(spans):
        if span[0] < end:
            last = merged[-1]
            best = min(last, span, key=lambda s: (s.start - s.end, s.rank))
            end = max(end, span.end)
            merged[-1] = Span(last.start, end, best.kind, best.rank)
        else:
            merged.append(span)
            end = span[1]
    return merged
