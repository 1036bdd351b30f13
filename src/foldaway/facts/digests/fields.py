"""Results that are data, told by their fields; the digest of a tool that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any, cast

import msgspec

from foldaway.facts.digests.line import clip, failure_in, first_line, plural, size_of, words_of
from foldaway.facts.rows import shorten_row, value_rows
from foldaway.reduction.signals import error_lines
from foldaway.regex import Regex

READ_WHOLE_CHARS = 100_000
"""A longer result is not decoded; chosen, it bounds the time."""
_END_CHARS = 2_000
"""Of a longer result, read at each end; chosen."""
_ROOM_CHARS = 200
"""For the fields; what a digest of `LIMIT_CHARS` leaves beside its lead."""
_VALUE_CHARS = 48
"""Of one value; chosen, an id or a short name."""
_PART_CHARS = 20
"""Of one part of a nested value, and the least room for another field; chosen."""
_MOST_FIELDS = 40
"""Fields that are tried; chosen, there is room for fewer."""
_SHOWN_ITEMS = 3
"""Of a list; chosen."""

_FIRST = ("error", "errors", "error_message", "exception", "status", "state", "success", "ok",
          "is_error", "code", "exit_code", "result", "outcome", "reason", "timed_out", "id",
          "name", "title", "key", "number", "count", "total", "total_count", "message")  # fmt: skip
"""Told before the other fields, in this order."""
_RANK = {key: rank for rank, key in enumerate(_FIRST)}
_BY_RANK = itemgetter(0)
_IDS = ("_id", "Id", "_name", "_number", "_status", "_count", "_total")
_NAMES = frozenset({"id", "name", "title", "key", "path", "file", "number"})
_WRAPPERS = frozenset({"result", "data", "response", "value", "content", "item", "output"})
_FIELD = Regex(
    r'"((?:error|status|state|success|ok|id|name|title|total|total_count|count|message)'
    r'(?:_?(?:code|message|id))?)"\s{0,4}:\s{0,4}("(?:[^"\\\n]|\\.){1,80}"|-?\d{1,18}|true|false)'
)


def fields_of(output: str, known: Mapping[str, Any] | None = None) -> str | None:
    """Return the telling fields of a JSON result, None where the output is not JSON.

    What `known` (the arguments) already says is left out. A result that is very long or torn is
    read at its ends alone.
    """
    if output[:1] not in ("{", "[") and output[:64].lstrip()[:1] not in ("{", "["):
        return None
    value = _read(output)
    if isinstance(value, dict):
        return _object(cast("dict[str, Any]", value), known or {})
    if isinstance(value, list):
        return _items(cast("list[Any]", value))
    return _at_the_ends(output)


def object_in(output: str) -> dict[str, Any] | None:
    """Return the JSON object that an output is, None where it is none or is very long."""
    value = _read(output)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _read(output: str) -> Any:
    if len(output) > READ_WHOLE_CHARS:
        return None
    try:
        return msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _object(value: dict[str, Any], known: Mapping[str, Any]) -> str:
    if len(value) == 1:
        key, only = next(iter(value.items()))
        if isinstance(only, dict) and key in _WRAPPERS:
            value = cast("dict[str, Any]", only)
    if not value:
        return "an empty object"
    pairs = [
        (_rank_of(key), key, field)
        for key, field in value.items()
        if field is not None and field != "" and not (key in known and _same(known[key], field))
    ]
    if not pairs:
        return f"nothing new in {plural(len(value), 'field')}"
    pairs.sort(key=_BY_RANK)
    shown: list[str] = []
    room = _ROOM_CHARS
    for _, key, field in pairs[:_MOST_FIELDS]:
        words = f"{key[:40]}={_value(field)}"
        if len(words) <= room or not shown:
            shown.append(words)
            room -= len(words) + 2
        if room < _PART_CHARS:
            break
    left = len(pairs) - len(shown)
    return ", ".join(shown) + (f" and {plural(left, 'more field')}" if left else "")


def _same(one: Any, other: Any) -> bool:
    """Return whether two scalars are equal; what has parts is not compared, it may be deep."""
    return not isinstance(one, (dict, list)) and one == other


@lru_cache(1024)
def _rank_of(key: str) -> int:
    found = _RANK.get(key)
    return len(_RANK) + (not key.endswith(_IDS)) if found is None else found


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value if len(value) <= _VALUE_CHARS else f"{value[: _VALUE_CHARS - 1]}…"
    if isinstance(value, dict):
        return f"{{{_parts(cast('dict[str, Any]', value))}}}"
    if isinstance(value, list):
        items = cast("list[Any]", value)
        named = _named(items)
        return f"[{len(items)}: {named}]" if named else f"[{len(items)}]"
    return words_of(value)


def _parts(value: dict[str, Any]) -> str:
    """Return the first fields of an inner object, only their names where they have parts."""
    parts: list[str] = []
    for key, field in value.items():
        if len(parts) == _SHOWN_ITEMS:
            parts.append("…")
            break
        words = words_of(field, _PART_CHARS)
        parts.append(f"{key[:24]}={words}" if words else key[:24])
    return ", ".join(parts)


def _items(items: list[Any]) -> str:
    if not items:
        return "an empty list"
    count = plural(len(items), "item")
    if isinstance(items[0], (dict, list)):
        named = f": {_named(items)}" if len(items) > 1 and isinstance(items[0], dict) else ""
        rows = value_rows(items[:1], 1)
        told = shorten_row(rows[0], _ROOM_CHARS - len(named)) if rows else ""
        return f"{count}{named}; first {told}" if len(items) > 1 else f"{count}: {told}"
    named = _named(items)
    return f"{count}: {named}" if named else count


def _named(items: list[Any]) -> str:
    """Return the names of the first items: themselves where they are scalars, otherwise ids."""
    names = [words for item in items[:_SHOWN_ITEMS] if (words := _name(item))]
    return ", ".join(names) + (", …" if len(items) > _SHOWN_ITEMS and names else "")


def _name(item: Any) -> str:
    if not isinstance(item, dict):
        return words_of(item, 24)
    for key, field in cast("dict[str, Any]", item).items():
        if _names_it(key):
            words = words_of(field, 24)
            if words:
                return words
    return ""


@lru_cache(1024)
def _names_it(key: str) -> bool:
    return key in _NAMES or key.endswith(_IDS)


def _at_the_ends(output: str) -> str:
    ends = output if len(output) <= 2 * _END_CHARS else output[:_END_CHARS] + output[-_END_CHARS:]
    found: dict[str, str] = {}
    for match in _FIELD.finditer(ends):
        found.setdefault(match[1], match[2].strip('"'))
    pairs = sorted(found.items(), key=lambda pair: _rank_of(pair[0]))[:6]
    return ", ".join(f"{key}={clip(words, _VALUE_CHARS)}" for key, words in pairs)


_SHOWN_ARGUMENTS = 4
"""Arguments of a call that are shown; chosen."""
_ARGUMENTS_CHARS = 150
"""For all of them; half of a digest (`LIMIT_CHARS`)."""
_SECRET = Regex(r"token|secret|passw|api_?key|authorization|credential", re.I)
_ROWS = Regex(r"\[\s{0,8}[(\[]")
_ROW_CHARS = 160
"""Of the first row of a table; chosen, half of a digest."""
_LOOKED_AT_CHARS = 10_000
"""Of a table, read at each end; chosen."""


def digest_other(name: str, arguments: Mapping[str, Any], output: str) -> str:
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
