"""Which rows of a long list to show: its ends, what failed, what is unlike the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import sqrt

import msgspec

from holdfast.reduction.pack import scattered

__all__ = ["mean_and_deviation", "notable"]

_LOOKED_AT = 4_000
_MEASURED = 400
_MOST_VALUES = 12
_FAR = 3.0
"""Standard deviations from the mean that make an outlier."""

_FAILED = re.compile(
    rb'"(?:errors?|err|exception|failures?|traceback)"\s*:\s*+(?!null|""|\[\s*\]|\{\s*\}|false|0\b)'
    rb'|"(?:status|state|level|severity|conclusion|result|outcome)"\s*:\s*"'
    rb"(?:[Ee]rr|ERR|[Ff]ail|FAIL|[Ff]atal|FATAL|[Cc]rit|CRIT)"
)
_STATUS = re.compile(
    rb'"(?:status|state|level|severity|conclusion|result|outcome|type|kind|role|ok|success)"'
    rb'\s*:\s*("[^"\\]{0,40}"|true|false|null|\d{1,6})'
)


def notable(rows: Sequence[bytes], most: int) -> list[int]:
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
    failed = [at for at in looked_at if _FAILED.search(rows[at])]
    wanted += failed[: max(most // 3, 1)]
    wanted += _one_of_each_status(rows, looked_at)
    wanted += _outliers(rows, looked_at)[: max(most // 5, 1)]
    wanted += [1, 2, count - 2]
    chosen = dict.fromkeys(at for at in wanted if 0 <= at < count)
    if len(chosen) < most:
        spread = range(0, count, max(count // (4 * most), 1))
        chosen.update(dict.fromkeys(sorted(spread, key=scattered)))
    return sorted(list(chosen)[:most])


def _one_of_each_status(rows: Sequence[bytes], looked_at: range) -> list[int]:
    first: dict[bytes, int] = {}
    for at in looked_at:
        found = _STATUS.search(rows[at])
        if found:
            first.setdefault(found[1], at)
            if len(first) > _MOST_VALUES:
                return []
    return list(first.values())


def _outliers(rows: Sequence[bytes], looked_at: range) -> list[int]:
    """Return the rows with a number more than `_FAR` deviations from the mean of its column."""
    columns: dict[str, list[tuple[float, int]]] = {}
    for at in looked_at[:: len(looked_at) // _MEASURED + 1]:
        for name, number in _numbers(rows[at]):
            columns.setdefault(name, []).append((number, at))
    found: dict[int, float] = {}
    for pairs in columns.values():
        if len(pairs) < 8:
            continue
        values = [number for number, _ in pairs]
        middle, spread = mean_and_deviation(values)
        for number, at in pairs:
            far = abs(number - middle) / spread if spread else 0.0
            if far > _FAR:
                found[at] = max(found.get(at, 0.0), far)
    return sorted(found, key=lambda at: (-found[at], at))


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of some values and their standard deviation."""
    middle = sum(values) / len(values)
    return middle, sqrt(sum((value - middle) ** 2 for value in values) / len(values))


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
