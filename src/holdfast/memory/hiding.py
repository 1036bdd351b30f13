"""Messages without their secrets, in the form that they had."""

from __future__ import annotations

from typing import Any, cast

from holdfast.dialects.jsontext import dump_text, parse
from holdfast.errors import NotReadable
from holdfast.ports import Redact


def without_secrets(value: Any, redact: Redact) -> Any:
    """Return a JSON value without secrets; every list and object is there, with all it held.

    It is read as a whole, for names of fields tell secrets. Where a quote that is never closed
    made a secret of what stands after it, it is read piece by piece.
    """
    hidden = _hidden(value, redact)
    if _is_like(value, hidden):
        return hidden
    if isinstance(value, list):
        return [without_secrets(one, redact) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return redact(value) if isinstance(value, str) else value
    fields = cast("dict[str, Any]", value)
    if len(fields) == 1:
        return {key: without_secrets(one, redact) for key, one in fields.items()}
    pieces = [without_secrets({key: one}, redact) for key, one in fields.items()]
    return {key: one for piece in pieces for key, one in piece.items()}


def _hidden(value: Any, redact: Redact) -> Any:
    try:
        return parse(redact(dump_text(value)).encode())
    except NotReadable:
        return None


def _is_like(one: Any, two: Any) -> bool:
    """Return whether two values have their lists and objects at the same places."""
    if isinstance(one, dict) and isinstance(two, dict):
        return _is_like(
            list(cast("dict[str, Any]", one).values()), list(cast("dict[str, Any]", two).values())
        )
    if isinstance(one, list) and isinstance(two, list):
        mine, other = cast("list[Any]", one), cast("list[Any]", two)
        return len(mine) == len(other) and all(map(_is_like, mine, other))
    return not isinstance(one, (dict, list)) and not isinstance(two, (dict, list))
