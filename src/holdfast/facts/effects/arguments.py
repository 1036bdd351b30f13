"""What the arguments of a file tool say: paths, lines, lists. Never trusts their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from holdfast.facts.effects.tool_names import PATH_LISTS, PATHS

_STARTS = ("start_line", "startLine", "line_start", "start_line_one_indexed", "StartLine",
           "start", "line_number")  # fmt: skip
_ENDS = ("end_line", "endLine", "line_end", "end_line_one_indexed_inclusive", "EndLine", "end")
_RANGES = ("view_range", "line_range", "range")
_MAX_PATHS = 1_000


def text_of(arguments: Mapping[str, Any], *keys: str) -> str:
    """Return the first text among these arguments, empty where there is none."""
    for key in keys:
        value = arguments.get(key)
        if value is None:  # most are
            continue
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def path_of(arguments: Mapping[str, Any]) -> str:
    """Return the path that a call is about."""
    for key in PATHS:
        value = arguments.get(key)
        if value is not None and isinstance(value, str) and value.strip():
            return value.strip().removeprefix("file://")
    return ""


def paths_of(arguments: Mapping[str, Any]) -> list[str]:
    """Return all paths that a call names, in a list of texts or of objects too."""
    if path := path_of(arguments):
        return [path]
    found: list[str] = []
    for key in PATH_LISTS:
        value = arguments.get(key)
        for entry in cast("list[object]", value)[:_MAX_PATHS] if isinstance(value, list) else ():
            if isinstance(entry, str) and entry:
                found.append(entry)
            elif isinstance(entry, dict) and (path := path_of(cast("dict[str, Any]", entry))):
                found.append(path)
    return found


def list_of(arguments: Mapping[str, Any], *keys: str) -> list[Mapping[str, Any]]:
    """Return the objects of the first list among these arguments."""
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, list):
            entries = cast("list[object]", value)[:_MAX_PATHS]
            return [cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict)]
    return []


def lines_of(arguments: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the lines that a call is about: a range, a start and an end, an offset and a limit.

    A last line of 0 is the end of the file. An offset counts from 1; tools that count from 0
    cannot be told from those, and give lines that are one too low.
    """
    for key in _RANGES:
        value = arguments.get(key)
        if isinstance(value, list):
            numbers = [_number(entry) for entry in cast("list[object]", value)]
            if len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
                return _span(numbers[0], numbers[1])
    start, end = _first(arguments, _STARTS), _first(arguments, _ENDS)
    if end is not None:
        return _span(start or 1, end)
    if start is not None:
        return None if "line_number" in arguments else _span(start, 0)
    offset, limit = _first(arguments, ("offset",)), _first(arguments, ("limit",))
    if offset is None and limit is None:
        return None
    first = max(offset or 1, 1)
    return (first, first + limit - 1) if limit and limit > 0 else _span(first, 0)


def line_count(text: str) -> int:
    """Return how many lines a text has, at least one."""
    return text.count("\n") + (not text.endswith("\n")) or 1


def _span(first: int, last: int) -> tuple[int, int] | None:
    first = max(first, 1)
    if last <= 0:
        return (first, 0) if first > 1 else None
    return first, max(first, last)


def _first(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    for key in keys:
        if (number := _number(arguments.get(key))) is not None:
            return number
    return None


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 10**9 else None
    if isinstance(value, float):
        return int(value) if abs(value) < 10**9 else None
    if isinstance(value, str) and len(value) < 10 and value.isascii() and value.isdigit():
        return int(value)
    return None
