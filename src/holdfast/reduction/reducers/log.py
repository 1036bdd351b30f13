"""Logs: signal lines, repeated lines folded, timestamps compacted."""

from __future__ import annotations

import re

from holdfast.reduction.excerpt import read_lines
from holdfast.reduction.pack import line_render
from holdfast.reduction.rank import Taste, rank_lines
from holdfast.reduction.reduced import ReductionRequest, Render

TASTE = Taste()


def reduce_log(text: str, ask: ReductionRequest) -> Render:
    """Read a log, or any text of which no more is known than that it has lines."""
    return line_render(
        rank_lines(read_lines(text, ask.room_chars), TASTE), ask.reference, dress=without_days
    )


_STAMP = re.compile(
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
