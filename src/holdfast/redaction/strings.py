r"""Keeps a secret within the string that it starts in, so that JSON stays JSON.

A value that is cut off in one string of JSON has no closing quote there: `"… \"hunt", "b": "… \""`.
The quote that a pattern finds is another string's. What ends the string before it tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.redaction.span import LINE, PRIVATE_KEY, Span

REACH = 64
"""So far after a quote the next item of JSON is looked for."""


def within_strings(data: bytes, spans: Sequence[Span]) -> list[Span]:
    """Return the spans, each cut where the string of JSON ends that it starts in."""
    cut = [_cut(data, span) for span in spans]
    return [span for span in cut if span.end > span.start]


def enclosing_end(data: bytes, start: int, end: int) -> int:
    """Return where the string ends in which a value stands whose own quote is escaped."""
    opened = _OPENED.search(data, max(0, start - 8), start)
    depth = 0 if opened is None else len(opened[1])
    for quote in _QUOTE.finditer(data, start, end) if depth else ():
        if len(quote[1]) < depth:
            return quote.start()
    return end


def string_end(data: bytes, start: int, end: int) -> int:
    """Return where the string of JSON ends that a value starts in, or `end` if that is earlier."""
    if data.find(b'"', start, end) < 0:
        return end
    opened = _OPENED.search(data, max(0, start - 8), start)
    depth = 0 if opened is None else len(opened[1])
    for quote in _QUOTE.finditer(data, start, end):
        if len(quote[1]) < depth or _NEXT.match(data, quote.end(), quote.end() + REACH):
            return quote.start()
    return end


def _cut(data: bytes, span: Span) -> Span:
    if span.kind in (LINE, PRIVATE_KEY):
        return span
    end = string_end(data, span.start, span.end)
    return span if end == span.end else span._replace(end=end)


_OPENED = re.compile(rb"""(\\*)["'`]\Z""")
_QUOTE = re.compile(rb'(\\*)"')
_NEXT = re.compile(
    rb"""\s*+(?:[,:]\s*+(?:\\*+["\[{]|-?[0-9]|true|false|null)|[\]}]\s*+(?:[,\]}"\\]|\Z))"""
)
"""What follows a string of JSON: another item, the value of a name, the end of its list."""
