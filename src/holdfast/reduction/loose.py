"""JSON without the whitespace between its tokens."""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw

__all__ = ["without_spaces"]

_STRING_OR_SPACE = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|[ \t\n\r]++', re.DOTALL)
_LEAST_CHARS = 32
"""Below this there is nothing to be had."""


def without_spaces(text: str) -> str:
    """Return a JSON text without whitespace outside of its strings; other text as it is.

    Nothing is parsed and written anew: numbers, escapes, the order of keys and keys that stand
    twice are letter for letter those of the source.
    """
    if len(text) < _LEAST_CHARS or text.lstrip(" \t\n\r")[:1] not in ("{", "["):
        return text
    try:
        msgspec.json.decode(text, type=Raw)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
    return _STRING_OR_SPACE.sub(lambda found: found.group(1) or "", text)
