"""Any other tool: its name, its telling arguments, and what came of it by the shape of that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.fields import fields_of
from holdfast.facts.digests.line import clip, first_line, plural, size_of, words_of
from holdfast.reduction.signals import error_lines

_SHOWN_ARGUMENTS = 4
_ARGUMENTS_CHARS = 150
_SECRET = re.compile(r"token|secret|passw|api_?key|authorization|credential", re.I)
_ROWS = re.compile(r"\[\s{0,8}[(\[]")
_ROW_CHARS = 160
_LOOKED_AT_CHARS = 10_000


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "get_user(id=17): status=active, name=Ann"."""
    return f"{name}({_shown(arguments)}): {result_of(output, arguments)}"


def result_of(output: str, arguments: Mapping[str, Any] | None = None) -> str:
    """Return what a result says, by its shape: fields, rows, a failure, otherwise its size."""
    fields = fields_of(output, arguments)
    if fields:
        return fields
    failed = failure_in(output)
    if failed:
        return f"failed: {failed}"
    if _ROWS.match(output):
        return rows_of(output)
    error = _first_error(output)
    told = error or f"begins {first_line(output)!r}"
    return f"{size_of(output)}; {told}" if output.strip() else "nothing"


def _shown(arguments: Mapping[str, Any]) -> str:
    shown: list[str] = []
    room = _ARGUMENTS_CHARS
    for key, value in arguments.items():
        if len(shown) == _SHOWN_ARGUMENTS or room < 8:
            break
        words = "" if _is_secret(key) else words_of(value, room)
        if words:
            shown.append(f"{key[:30]}={words}")
            room -= len(shown[-1])
    return ", ".join(shown)


@lru_cache(1024)
def _is_secret(key: str) -> bool:
    return _SECRET.search(key[:100]) is not None


def rows_of(output: str) -> str:
    """Return how many rows a query gave, and the first."""
    opening = output[1:64].lstrip()[:1]
    closing = ")" if opening == "(" else "]"
    count = output.count(f"{closing}, {opening}") + output.count(f"{closing},\n") + 1
    end = output.find(f"{closing}, {opening}", 0, _ROW_CHARS * 4)
    first = output[1 : end + 1].strip() if end >= 0 else output[:_ROW_CHARS].strip("[]\n ")
    return f"{plural(count, 'row')}; first {clip(first, _ROW_CHARS)}"


def _first_error(output: str) -> str:
    ends = output[:_LOOKED_AT_CHARS]
    if len(output) > 2 * _LOOKED_AT_CHARS:
        ends = f"{ends}\n{output[-_LOOKED_AT_CHARS:]}"
    found = error_lines(ends, 1)
    return clip(found[0], 140) if found else ""
