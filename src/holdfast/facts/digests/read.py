"""Reading files: which one, which lines of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.fields import fields_of
from holdfast.facts.digests.line import path_of, size_of, whole_number
from holdfast.facts.tools import own_name

_NUMBERED = re.compile(r"[ \t]{0,12}(\d{1,7})(?:→|\t|\||:)")
_NUMBERED_LATER = re.compile(r"\n(?=\d{1,7}:)")
_BEFORE_CONTENT = ("<content>", "<file>", "cat -n` on")
_LAST_LINES = 40
_A_FAILURE_CHARS = 4_000
_STARTS = ("offset", "start_line", "line_start", "line_number", "StartLine", "start", "from")
_ENDS = ("end_line", "line_end", "EndLine", "end", "to")


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Read src/app.py lines 40-160"."""
    path = path_of(arguments)
    if not path:
        said = fields_of(output, arguments)
        if said:
            return f"{name} read {said}"
        path = "a file"
    failed = failure_in(output) if len(output) < _A_FAILURE_CHARS else ""
    if failed:
        return f"{name} did not read {path}: {failed}"
    verb = "" if own_name(name)[:4].lower() == "read" else " read"
    return f"{name}{verb} {path}{_lines(arguments, output)}"


def _lines(arguments: Mapping[str, Any], output: str) -> str:
    shown = numbered_lines(output)
    if shown is not None:
        return lines_from(*shown)
    start, end = whole_number(arguments, *_STARTS), whole_number(arguments, *_ENDS)
    view = arguments.get("view_range")
    if isinstance(view, list) and len(cast("list[Any]", view)) == 2:
        start, end = (at if isinstance(at, int) else None for at in cast("list[Any]", view))
    if end is not None and end > (start or 1):
        return f"{lines_from(start or 1, end)}: {size_of(output)}"
    where = f" from line {start}" if start is not None and start > 1 else ""
    return f"{where}: {size_of(output)}"


def lines_from(first: int, last: int) -> str:
    """Return e.g. " lines 40-160", " line 40"."""
    return f" lines {first}-{last}" if last > first else f" line {first}"


def numbered_lines(output: str) -> tuple[int, int] | None:
    """Return the first and last line number of an output that numbers its lines."""
    start = _NUMBERED.match(output, _content_at(output))
    if start is None:
        return None
    first = last = int(start[1])
    end = len(output)
    for _ in range(_LAST_LINES):
        at = output.rfind("\n", start.end(), end)
        found = _NUMBERED.match(output, at + 1) if at >= 0 else None
        if found is not None and int(found[1]) >= first:
            last = int(found[1])
        if at < 0 or found is not None:
            break
        end = at
    return (first, last) if last - first <= len(output) // 2 else None


def _content_at(output: str) -> int:
    """Return where the content starts, after the words with which some tools open it."""
    if output[:1] in " \t0123456789":
        return 0
    head = output[:600]
    if head.startswith("[File:"):
        found = _NUMBERED_LATER.search(head)
        return found.end() if found else 0
    for sign in _BEFORE_CONTENT:
        found = head.find(sign)
        if found >= 0:
            at = found + len(sign)
            return at if head[at : at + 1].isdecimal() else head.find("\n", at) + 1
    return 0
