"""Rows of a CSV table or a list of JSON objects: ends, failures, numbers far from the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import sqrt

import msgspec

from foldaway._core import Regex
from foldaway.reduction.excerpt import read_lines
from foldaway.reduction.ranking import line_render, ranking_of, scatter
from foldaway.reduction.reduced import ReductionRequest, Render

_FAILED = Regex(r"\b(?:error|failed|failure|fatal|critical|exception|timeout)\b", re.I)
_MARKS = ("\t", ",", ";", "|")
_HEAD_ROWS, _TAIL_ROWS = 5, 3
_MEASURED_ROWS, _MEASURED_OBJECTS = 1_000, 400
"""About how many are read for numbers that stand out; of more, every so many-th. An object is
decoded for it, which takes longer."""
_LEAST_VALUES = 8
"""A column with fewer numbers has no outliers."""
_FAR = 3.0
"""Standard deviations from the mean that make an outlier: the usual three."""


def reduce_table(text: str, ask: ReductionRequest) -> Render:
    """Read rows of values with a mark between them."""
    lines = read_lines(text, ask.room_chars)
    rows = lines.texts
    scores = [(10 + scatter(at)) if row.strip() else 0 for at, row in enumerate(rows)]
    for rank in range(min(_HEAD_ROWS, len(rows))):
        scores[rank] = 1000 - 100 * rank
    for rank in range(1, min(_TAIL_ROWS + 1, len(rows))):
        scores[-rank] = max(scores[-rank], 650 - 20 * rank)
    for at, row in enumerate(rows):
        if at > 0 and _FAILED.search(row):
            scores[at] = max(scores[at], 700 + scatter(at))
    for at, far in _far_rows(rows).items():
        scores[at] = max(scores[at], 600 + min(far, 50))
    return line_render(
        ranking_of(lines, scores), ask.reference, noun="" if lines.in_pieces else "row"
    )


def _far_rows(rows: Sequence[str]) -> dict[int, float]:
    """Return the rows with a number far from its column's mean, and how far."""
    head = rows[: min(20, len(rows))]
    mark = max(_MARKS, key=lambda mark: min((row.count(mark) for row in head if row), default=0))
    columns: dict[int, list[tuple[float, int]]] = {}
    for at in range(1, len(rows), len(rows) // _MEASURED_ROWS + 1):
        for place, cell in enumerate(rows[at].split(mark)[:64]):
            number = _number(cell)
            if number is not None:
                columns.setdefault(place, []).append((number, at))
    return _far_from_mean(columns.values())


def _number(cell: str) -> float | None:
    cell = cell.strip(' "')
    if not cell or cell[-1] not in "0123456789" or len(cell) > 12:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _far_from_mean(columns: Iterable[Sequence[tuple[float, int]]]) -> dict[int, float]:
    """Return the rows with a number more than `_FAR` deviations from its column's mean, and how
    far; a column holds numbers, each with the index of its row.
    """
    found: dict[int, float] = {}
    for pairs in columns:
        if len(pairs) < _LEAST_VALUES:
            continue
        middle = sum(number for number, _ in pairs) / len(pairs)
        spread = sqrt(sum((number - middle) ** 2 for number, _ in pairs) / len(pairs))
        for number, at in pairs if spread else ():
            far = abs(number - middle) / spread
            if far > _FAR:
                found[at] = max(far, found.get(at, 0.0))
    return found


_LOOKED_AT = 4_000
"""About how many objects of a list are searched for failures and states."""
_MOST_STATES = 12
"""A field with more different values is no state."""
_FAILED_OBJECT = Regex(
    rb'"(?:errors?|err|exception|failures?|traceback)"\s*:\s*+(?!null|""|\[\s*\]|\{\s*\}|false|0\b)'
    rb'|"(?:status|state|level|severity|conclusion|result|outcome)"\s*:\s*"'
    rb"(?:[Ee]rr|ERR|[Ff]ail|FAIL|[Ff]atal|FATAL|[Cc]rit|CRIT)"
)
_STATUS = Regex(
    rb'"(?:status|state|level|severity|conclusion|result|outcome|type|kind|role|ok|success)"'
    rb'\s*:\s*("[^"\\]{0,40}"|true|false|null|\d{1,6})'
)


def choose_notable(rows: Sequence[bytes], most: int) -> list[int]:
    """Return the indices of the `most` rows, JSON each, that are worth showing, in order.

    First the ends, then rows that failed, a row of each status, rows with a number far from the
    others; the rest are spread over the list. Of a very long list only every so many-th is read.
    Of a list of plain values, the start and the end.
    """
    count = len(rows)
    if most >= count:
        return list(range(count))
    if rows[0][:1] != b"{" and rows[-1][:1] != b"{":
        last = most // 3
        return [*range(most - last), *range(count - last, count)]
    looked_at = range(0, count, count // _LOOKED_AT + 1)
    wanted = [0, count - 1]
    failed = [at for at in looked_at if _FAILED_OBJECT.search(rows[at])]
    wanted += failed[: max(most // 3, 1)]
    wanted += _choose_by_status(rows, looked_at)
    wanted += _far_objects(rows, looked_at)[: max(most // 5, 1)]
    wanted += [1, 2, count - 2]
    chosen = dict.fromkeys(at for at in wanted if 0 <= at < count)
    if len(chosen) < most:
        spread = range(0, count, max(count // (4 * most), 1))
        chosen.update(dict.fromkeys(sorted(spread, key=scatter)))
    return sorted(list(chosen)[:most])


def _choose_by_status(rows: Sequence[bytes], looked_at: range) -> list[int]:
    first: dict[bytes, int] = {}
    for at in looked_at:
        found = _STATUS.search(rows[at])
        if found:
            first.setdefault(found[1], at)
            if len(first) > _MOST_STATES:
                return []
    return list(first.values())


def _far_objects(rows: Sequence[bytes], looked_at: range) -> list[int]:
    """Return the rows with a number far from the mean of its field, the farthest first."""
    columns: dict[str, list[tuple[float, int]]] = {}
    for at in looked_at[:: len(looked_at) // _MEASURED_OBJECTS + 1]:
        for name, number in _numbers(rows[at]):
            columns.setdefault(name, []).append((number, at))
    found = _far_from_mean(columns.values())
    return sorted(found, key=lambda at: (-found[at], at))


_MOST_NUMBER = 1e12
"""Larger numbers are ids and times, and would overflow when squared."""


def _numbers(row: bytes) -> list[tuple[str, float]]:
    try:
        value = msgspec.json.decode(row, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return []
    return [
        (name, float(number))
        for name, number in value.items()
        if isinstance(number, (int, float)) and abs(number) < _MOST_NUMBER
    ]
