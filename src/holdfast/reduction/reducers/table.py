"""CSV and other tables: header, ends, rows that failed, rows with a number far from the others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.reduction.excerpt import read_lines
from holdfast.reduction.pack import line_render, ranking_of, scattered
from holdfast.reduction.reduced import ReductionRequest, Render
from holdfast.reduction.rows import mean_and_deviation

_FAILED = re.compile(r"\b(?:error|failed|failure|fatal|critical|exception|timeout)\b", re.I)
_MARKS = ("\t", ",", ";", "|")
_MEASURED = 1_000
_FAR = 3.0
_HEAD_ROWS, _TAIL_ROWS = 5, 3


def reduce_table(text: str, ask: ReductionRequest) -> Render:
    """Read rows of values with a mark between them."""
    lines = read_lines(text, ask.room_chars)
    rows = lines.texts
    scores = [(10 + scattered(at)) if row.strip() else 0 for at, row in enumerate(rows)]
    for rank in range(min(_HEAD_ROWS, len(rows))):
        scores[rank] = 1000 - 100 * rank
    for rank in range(1, min(_TAIL_ROWS + 1, len(rows))):
        scores[-rank] = max(scores[-rank], 650 - 20 * rank)
    for at, row in enumerate(rows):
        if at > 0 and _FAILED.search(row):
            scores[at] = max(scores[at], 700 + scattered(at))
    for at, far in _outliers(rows).items():
        scores[at] = max(scores[at], 600 + min(far, 50))
    return line_render(
        ranking_of(lines, scores), ask.reference, noun="" if lines.in_pieces else "row"
    )


def _outliers(rows: Sequence[str]) -> dict[int, float]:
    """Return the rows with a number far from its column's mean, and how far."""
    head = rows[: min(20, len(rows))]
    mark = max(_MARKS, key=lambda mark: min((row.count(mark) for row in head if row), default=0))
    columns: dict[int, list[tuple[float, int]]] = {}
    for at in range(1, len(rows), len(rows) // _MEASURED + 1):
        for place, cell in enumerate(rows[at].split(mark)[:64]):
            number = _number(cell)
            if number is not None:
                columns.setdefault(place, []).append((number, at))
    found: dict[int, float] = {}
    for pairs in columns.values():
        values = [number for number, _ in pairs]
        if len(values) < 8:
            continue
        middle, spread = mean_and_deviation(values)
        for number, at in pairs if spread else ():
            far = abs(number - middle) / spread
            if far > _FAR:
                found[at] = max(far, found.get(at, 0.0))
    return found


def _number(cell: str) -> float | None:
    cell = cell.strip(' "')
    if not cell or cell[-1] not in "0123456789" or len(cell) > 12:
        return None
    try:
        return float(cell)
    except ValueError:
        return None
