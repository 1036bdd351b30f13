"""Values from Python as JSON would have given them: dicts, lists, texts and numbers."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.dialects.jsontext import no_number, too_deep
from holdfast.errors import NotReadable

DEEPEST = 800
"""Levels that are taken; the parser of JSON stops where Python's own limit (1,000) is near."""

_PLAIN = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Any:
    """Return `value` in plain dicts and lists; whatever is plain already is the same object.

    Mappings and sequences of other types are taken for what they are. Raises `NotReadable` for
    what JSON does not have (other objects, keys that are no text, NaN) and for a value that is
    nested deeper than `DEEPEST` or contains itself. Nothing is mutated.
    """
    return value if _is_plain(value) else _rebuilt(value, 0)


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether all is plain; false also where something is wrong with it."""
    kind = type(value)
    nodes: Any = value
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return False
        nodes = value.values()
    elif kind is not list:
        return kind in _PLAIN or (kind is float and math.isfinite(value))
    if depth > DEEPEST:
        raise too_deep()
    for node in nodes:  # noqa: SIM110 a generator costs more
        if type(node) not in _PLAIN and not _is_plain(node, depth + 1):
            return False
    return True


def _rebuilt(value: Any, depth: int) -> Any:
    if type(value) in _PLAIN:
        return value
    if depth > DEEPEST:
        raise too_deep()
    match value:
        case str():
            return str.__getitem__(value, slice(None))
        case float() if not math.isfinite(value):
            raise no_number({math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN"))
        case int() | float():
            return value
        case Mapping():
            made = {_key(key): _rebuilt(inner, depth + 1) for key, inner in value.items()}
            same = type(value) is dict and all(made[key] is value.get(key, made) for key in made)
            return value if same else made
        case Sequence() if not isinstance(value, (bytes, bytearray, memoryview)):
            items = [_rebuilt(inner, depth + 1) for inner in value]
            same = type(value) is list and all(map(_is, items, value))
            return value if same else items
        case _:
            raise NotReadable(
                f"holds a {type(value).__name__}, which JSON does not have", where="$",
                remedy="give dicts, lists, texts and numbers; many clients have model_dump()",
            )  # fmt: skip


def _is(one: Any, other: Any) -> bool:
    return one is other


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotReadable(
            f"holds a key that is a {type(key).__name__}", where="$",
            remedy="the keys of an object are texts",
        )  # fmt: skip
    return key if type(key) is str else str.__getitem__(key, slice(None))
