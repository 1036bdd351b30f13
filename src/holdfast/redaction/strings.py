r"""Keeps a secret within the string that it starts in, so that JSON stays JSON.

A value that is cut off in one string of JSON has no closing quote there: `"… \"hunt", "b": "… \""`.
The quote that a pattern finds is another string's. What ends the string before it tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.redaction.span import LINE, PRIVATE_KEY, Span


def within_strings(data: bytes, spans: Sequence[Span]) -> list[Span]:
    """Return the spans, each cut where the string of JSON ends that it starts in."""
    cut = [_cut(data, span) for span in spans]
    return [span for span in cut if span.end > span.start]


def is_in_string(data: bytes, start: int, end: int) -> bool:
    """Whether a value whose own quote is escaped stands in one string up to `end`."""
    shallower = _SHALLOWER.get(_depth(data, start))
    return shallower is None or shallower.search(data, start, end) is None


def string_end(data: bytes, start: int, end: int) -> int:
    """Return where the string of JSON ends that a value starts in, or `end` if that is earlier."""
    if data.find(b'"', start, end) < 0:
        return end
    shallower = _SHALLOWER.get(_depth(data, start))
    for quote in (shallower, _ENDS):
        found = None if quote is None else quote.search(data, start, end + BEYOND)
        if found is not None:
            end = min(end, start + len(data[start : found.start()].rstrip(b"\\")))
    return end


def _depth(data: bytes, start: int) -> int:
    """Return how many backslashes stand before the quote that a value starts behind."""
    at = start - 1
    if at < 0 or data[at] not in b"\"'`":
        return 0
    before = data[max(0, at - DEEPEST) : at]
    return len(before) - len(before.rstrip(b"\\"))


def _cut(data: bytes, span: Span) -> Span:
    if span.kind in (LINE, PRIVATE_KEY):
        return span
    end = string_end(data, span.start, span.end)
    return span if end == span.end else span._replace(end=end)


BEYOND = 64
"""So far beyond a value the next item of JSON is looked for."""
DEEPEST = 7
_SHALLOWER = {depth: re.compile(rb'(?<!%b)"' % (rb"\\" * depth)) for depth in range(1, DEEPEST + 1)}
"""A quote with fewer backslashes than that of the value; it ends the string around it. The
backslashes before it are no part of the pattern: a long row of them would be read again and again.
"""
_NEXT = rb"""\s*+(?:[,:]\s*+(?:\\*+["\[{]|-?[0-9]|true|false|null)|[\]}]\s*+(?:[,\]}"\\]|\Z))"""
"""What follows a string of JSON: another item, the value of a name, the end of its list."""
_ENDS = re.compile(rb'"(?=' + _NEXT + rb")")
