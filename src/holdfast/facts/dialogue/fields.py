"""A tool result that is one long value, as its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from holdfast.facts.dialogue.field_words import worth_of
from holdfast.lenient_json import loose_leaves

_MOST_LEAVES = 4_000
"""Leaves that are weighed before the rest of a huge value is given up."""
_MOST_CHARS = 160
"""A longer value is text and not a field."""
_MOST_PATH_CHARS = 200
_MOST_LOOSE_CHARS = 400_000
_MOST_DEPTH = 64
_SHORT_CHARS = 40
_LONG_COST = 1.5
_DEPTH_COST = 0.1
_LATER_COST = 0.002
_LATER_FROM = 500
"""Of two fields of the same name the earlier one comes first."""
_EMPTY = ("null", "None", "", "[]", "{}")
_EMPTY_COST = 2.0
_ID = re.compile(r"(?=[\d_-]*[A-Za-z])(?=\D*\d)[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*\Z")
_ID_WORTH = 3.0
"""What looks like an id is one, whatever its name."""
_decoder = msgspec.json.Decoder(float_hook=str)
"""Numbers stay as they are written: 1.10 is not 1.1."""


class Field(Struct, frozen=True, gc=False):
    """`path = value`; the path is made of the keys above it, e.g. `flights[0].date`."""

    path: str
    value: str
    worth: float
    """How likely it is needed again, by its name, its length and its depth."""


def fields(text: str, most: int) -> tuple[Field, ...]:
    """Return at most `most` fields of structured data, the worthiest first.

    JSON, Python's own form of it, rows of a table, and either of them cut off at the end. Any
    other text has no fields. A string that is itself such a value is read too.
    """
    start = text[:64].lstrip()[:1]
    if start not in ("{", "[", "("):
        return ()
    found: dict[str, Field] = {}
    for path, key, value, depth in _leaves(text):
        if not value or len(value) > _MOST_CHARS or len(path) > _MOST_PATH_CHARS or path in found:
            continue
        if not value.isprintable():
            continue
        worth = worth_of(key) - _DEPTH_COST * depth - _LATER_COST * min(len(found), _LATER_FROM)
        if len(value) > _SHORT_CHARS:
            worth -= _LONG_COST
        elif value in _EMPTY:
            worth -= _EMPTY_COST
        elif worth < _ID_WORTH and _ID.match(value):
            worth = _ID_WORTH
        found[path] = Field(path, value, worth)
    ranked = sorted(found.values(), key=_by_worth)
    return tuple(ranked[:most])


def _by_worth(field: Field) -> float:
    return -field.worth


def _leaves(text: str) -> Iterator[tuple[str, str, str, int]]:
    try:
        value = _decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError, ValueError):
        for path, key, leaf in loose_leaves(text[:_MOST_LOOSE_CHARS], _MOST_LEAVES):
            yield path, key, leaf, path.count(".") + path.count("[")
        return
    yield from _walked(value)


def _walked(value: object) -> Iterator[tuple[str, str, str, int]]:
    """Yield the leaves of a decoded value, in their order, without recursion."""
    given = 0
    stack: list[tuple[str, str, object, int]] = [("", "", value, 0)]
    while stack and given < _MOST_LEAVES:
        path, key, here, depth = stack.pop()
        given += 1
        if depth > _MOST_DEPTH:
            continue
        match here:
            case dict():
                rows: list[tuple[object, object]] = list(here.items())[:_MOST_LEAVES]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType, reportUnknownMemberType]
                stack.extend(
                    (f"{path}.{name}" if path else f"{name}", f"{name}", below, depth + 1)
                    for name, below in reversed(rows)
                )
            case list():
                items: list[object] = here[:_MOST_LEAVES]  # pyright: ignore[reportUnknownVariableType]
                stack.extend(
                    (f"{path}[{index}]", key, items[index], depth + 1)
                    for index in range(len(items) - 1, -1, -1)
                )
            case str() if here[:1] in ("{", "[") and len(here) > 2:
                for below, name, leaf in loose_leaves(here[:_MOST_LOOSE_CHARS], _MOST_LEAVES):
                    given += 1
                    yield f"{path}.{below}", name or key, leaf, depth + 1
            case _:
                yield path, key, _shown(here), depth


def _shown(leaf: object) -> str:
    """Return a leaf as JSON writes it."""
    if isinstance(leaf, str):
        return leaf
    if leaf is None:
        return "null"
    return str(leaf).lower() if isinstance(leaf, bool) else str(leaf)
