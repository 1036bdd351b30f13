"""What a dialect is: four functions and a few names; and what encoders share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from foldaway.transcript import Message, Payload

LOOKED_AT = 64
"""Elements of a list that `likeness` looks at: marks of a dialect come early, lists are long."""
_SHARED_PLACES = 256
"""Paths that are made in advance: hardly a message has more blocks."""


class Decode(Protocol):
    """From wire elements, the first of which stands at `start` in its list, their messages."""

    def __call__(self, items: Sequence[Any], start: int = 0) -> tuple[Message, ...]:
        """Return one message for each element."""
        ...


Encode: TypeAlias = Callable[[Message], Any]
DecodeSystem: TypeAlias = Callable[[Payload], Message | None]
EncodeSystem: TypeAlias = Callable[[Message], Any]
Arrange: TypeAlias = Callable[[Sequence[Message]], list[Message]]
Likeness: TypeAlias = Callable[[Sequence[Any], Payload], int]


class Dialect(Struct, frozen=True):
    """A provider's wire format.

    Laws: `decode` gives one message for each element, in order, and never raises on any JSON
    value: what is off becomes a flaw of its message. `encode(decode(x))` equals `x` also where
    every message is marked as rewritten and had no flaw. Nothing that was given is mutated.
    """

    name: str
    list_key: str
    """The field of a request body that holds the message list."""
    decode: Decode
    encode: Encode
    """The wire form of one message from its parts; fields that are no parts are kept."""
    arrange: Arrange
    """Foreign messages (no payloads) regrouped into the messages that this dialect would hold."""
    likeness: Likeness
    """How much the data looks like this dialect: 0 not at all, 1 as well as any, more for marks
    that only this dialect has. Looks at a bounded number of elements."""
    system_key: str = ""
    """The field of a request body that holds the system prompt; "" if it is a message."""
    decode_system: DecodeSystem | None = None
    encode_system: EncodeSystem | None = None
    pairs_by_order: bool = False
    """Whether which call a result answers is decided by what stands before it, and not by an id."""


class Places:
    """Path strings `prefix[i]`, made once for small `i`, so that parts share them."""

    __slots__ = ("_prefix", "_table")

    def __init__(self, prefix: str) -> None:
        """Make the table."""
        self._prefix = prefix
        self._table = tuple(f"{prefix}[{index}]" for index in range(_SHARED_PLACES))

    def __getitem__(self, index: int) -> str:
        """Return `prefix[index]`."""
        table = self._table
        return table[index] if index < len(table) else f"{self._prefix}[{index}]"


def merge_fields(
    wire: Any, fields: dict[str, Any], owned: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return `fields` in the key order of `wire`, with its keys that are null or nobody's.

    A key in `owned` that has a value goes, unless `fields` has it too.
    """
    if not isinstance(wire, dict):
        return fields
    left = dict(fields)
    merged: dict[str, Any] = {}
    for key, value in wire.items():  # pyright: ignore[reportUnknownVariableType]
        if key in left:
            merged[key] = left.pop(key)  # pyright: ignore[reportUnknownArgumentType]
        elif key not in owned or value is None:
            merged[key] = value
    merged.update(left)
    return merged


class FreshIds:
    """Makes ids that are not taken, each only once; linear however many are asked for."""

    __slots__ = ("_last", "_taken")

    def __init__(self, taken: Iterable[str]) -> None:
        """Start with the ids that are taken."""
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def make(self, wanted: str) -> str:
        """Return `wanted`, numbered from 2 if it is taken already."""
        if wanted not in self._taken:
            self._taken.add(wanted)
            return wanted
        return self.number(wanted, 2)

    def number(self, stem: str, first: int = 1) -> str:
        """Return `stem` with the next number that is free, counted from `first`."""
        count = self._last.get(stem, first - 1) + 1
        while f"{stem}_{count}" in self._taken:
            count += 1
        self._last[stem] = count
        made = f"{stem}_{count}"
        self._taken.add(made)
        return made
