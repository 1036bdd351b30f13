"""Settings as plain values, and why a settings file is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast


class NotEditable(Exception):
    """A text that cannot be changed safely; the message says why, without its content."""


def value_at(plain: object, path: Sequence[str]) -> Any:
    """Return what is under a path of keys, None if nothing is."""
    for key in path:
        if not isinstance(plain, dict):
            return None
        plain = cast("dict[str, object]", plain).get(key)
    return plain


def replace_value(plain: dict[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    """Return the values with another one under a path, without any if it is None."""
    key, *rest = path
    if not isinstance(cast("object", plain), dict):
        raise NotEditable(f"what holds {key!r} is not a table")
    new = replace_value(plain.get(key, {}), rest, value) if rest else value
    others = {name: one for name, one in plain.items() if name != key}
    return others if new is None else {**others, key: new}
