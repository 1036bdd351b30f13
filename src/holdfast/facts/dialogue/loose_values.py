"""Structured data that is not quite JSON: Python's own form, or JSON that was cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

_TOKEN = re.compile(
    r"""\s*+(?:(?P<open>[\[{(])|(?P<close>[\]})])|(?P<comma>,)|(?P<colon>:)|"""
    r"""[bru]?"(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)"?+|"""
    r"""[bru]?'(?P<single>[^'\\]*+(?:\\.[^'\\]*+)*+)'?+|"""
    r"""(?P<bare>[^\s,:\[\]{}()"']++)|.|\Z)""",
    re.S,
)
_LITERAL = re.compile(r"-?\d[\d.eE+-]*|None|True|False|null|true|false|NaN|nan|inf|\.{3}|…")
_MOST_DEPTH = 64


class _Level(Struct):
    """Where in an open bracket the reading stands."""

    mapping: bool
    path: str
    index: int = 0
    key: str = ""


def loose_leaves(text: str, most: int) -> Iterator[tuple[str, str, str]]:
    """Yield path, key and value of the first `most` leaves, as far as they can be told.

    Reading ends at the first word that no such value could hold: then it is a text after all.
    """
    levels: list[_Level] = []
    pending: str | None = None
    given = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind in ("double", "single", "bare"):
            if kind == "bare" and not _LITERAL.fullmatch(match["bare"]):
                if text[match.end() : match.end() + 1] != "(":
                    return
                continue
            if pending is not None:
                return
            pending = match[kind]
            continue
        if kind == "colon" and levels and levels[-1].mapping:
            levels[-1].key, pending = pending or "", None
            continue
        if kind in ("comma", "close") and levels:
            if pending is not None:
                yield *_place(levels[-1]), pending
                given += 1
                if given >= most:
                    return
            pending = None
            levels[-1].index += 1
            if kind == "close":
                levels.pop()
        elif kind == "open" and len(levels) < _MOST_DEPTH:
            path = _place(levels[-1])[0] if levels else ""
            levels.append(_Level(match["open"] == "{", path))
            pending = None
    if pending is not None and levels:
        yield *_place(levels[-1]), pending


def _place(level: _Level) -> tuple[str, str]:
    """Return the path and the key of what comes next."""
    if level.mapping:
        return (f"{level.path}.{level.key}" if level.path else level.key), level.key
    return f"{level.path}[{level.index}]", level.path.rpartition(".")[2]
