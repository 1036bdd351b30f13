"""What a dialect is: four functions and a few names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from holdfast.transcript import Message, Payload


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
    """The field of a request body that holds the system prompt; "" where it is a message."""
    decode_system: DecodeSystem | None = None
    encode_system: EncodeSystem | None = None
    pairs_by_order: bool = False
    """Whether which call a result answers is told by what stands before it, and not by an id."""


def places(prefix: str, count: int = 256) -> tuple[str, ...]:
    """Return `prefix[0]`, `prefix[1]`, …: made once, so that parts share their path strings."""
    return tuple(f"{prefix}[{index}]" for index in range(count))


class Places:
    """Path strings `prefix[i]`, from a table where `i` is small."""

    __slots__ = ("_prefix", "_table")

    def __init__(self, prefix: str) -> None:
        """Make the table."""
        self._prefix = prefix
        self._table = places(prefix)

    def __getitem__(self, index: int) -> str:
        """Return `prefix[index]`."""
        table = self._table
        return table[index] if index < len(table) else f"{self._prefix}[{index}]"


def merge_fields(wire: Any, owned: frozenset[str], fields: dict[str, Any]) -> dict[str, Any]:
    """Return `fields` in the key order of `wire`, with its keys that are null or nobody's."""
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
