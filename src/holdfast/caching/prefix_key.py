"""A key for the part of a request that never changes, so that a provider can route by it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.errors import NotReadable

STATIC = "hfk-"
SESSION = "hfs-"
"""What keys begin with: one of ours is never taken for a session id, nor one kind for the other."""

_DIGITS = 40
_MARK = "cache_control"


def prefix_key(
    instructions: str, tools: Sequence[Mapping[str, Any]] = (), session_id: str = ""
) -> str:
    """Return a key of the instructions and tool definitions, at most 64 characters long.

    The order of the tools, and of the keys in them, makes no difference; nor do cache marks. The
    session id counts only where there are neither instructions nor tools; "" where there is
    nothing at all. A hint for routing: equal keys promise nothing about equal requests. Raises
    `NotReadable` for a definition that JSON cannot say.
    """
    if not instructions and not tools:
        return SESSION + _digest(session_id) if session_id else ""
    schemas = sorted(_canonical(_unmarked(tool)) for tool in tools)
    # JSON has no raw NUL, so that no text can move from one field into the next
    return STATIC + _digest("\0".join((_canonical(instructions), *schemas)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _unmarked(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tool.items() if key != _MARK}


def _canonical(value: object) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise NotReadable(
            "holds what JSON cannot say", where="tools", remedy="give the definitions as plain JSON"
        ) from None
