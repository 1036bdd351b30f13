"""What a dialect is: four functions and a few names; what encoders share; messages as turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway.dialects.jsontext import dump_text, is_object_text
from foldaway.transcript import (
    Message,
    Origin,
    Part,
    Payload,
    Role,
    Thinking,
    ToolCall,
    ToolResult,
    bare,
)

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


_SIDES: dict[Role, Role] = {"tool": "user", "developer": "system"}


def turns(messages: Sequence[Message], *, keep_thoughts: bool, mint_ids: bool) -> list[Message]:
    """Return foreign messages regrouped into turns, for dialects with results in user messages.

    Neighbours on one side become one message: results before all else on the user's side, thoughts
    before all else on the assistant's. Words of different origin are never merged. Signed and
    redacted thinking means nothing elsewhere and is dropped; unsigned stays with `keep_thoughts`.
    Custom and hosted calls become function calls, free text under `input`. A result gets the name
    of its call. With `mint_ids` positional ids become real ones, the same for call and result.
    """
    links = _Links(messages, mint_ids)
    found: list[_Turn] = []
    for message in messages:
        turn = _Turn(message)
        for part in message.parts:
            turn.add(links.linked(part), keep_thoughts)
        if turn.is_empty and message.parts:
            continue
        if found and found[-1].takes(turn):
            found[-1].absorb(turn)
        else:
            found.append(turn)
    return [turn.message() for turn in found]


class _Turn:
    """One message in the making; `first` goes before `rest`."""

    __slots__ = ("_first", "_origin", "_position", "_rest", "_role")

    def __init__(self, message: Message) -> None:
        self._role: Role = _SIDES.get(message.role, message.role)
        self._position = message.position
        self._origin: Origin = message.origin
        self._first: list[Part] = []
        self._rest: list[Part] = []

    @property
    def is_empty(self) -> bool:
        return not self._first and not self._rest

    def add(self, part: Part, keep_thoughts: bool) -> None:
        if isinstance(part, Thinking):
            if keep_thoughts and not part.signature and not part.redacted:
                self._first.append(part)
        elif isinstance(part, ToolResult) and self._role == "user":
            self._first.append(part)
        else:
            self._rest.append(part)

    def takes(self, other: _Turn) -> bool:
        """Whether `other` belongs into this turn."""
        if self._role != other._role or self._role not in ("user", "assistant"):
            return False
        if self._role == "assistant" or self._origin == other._origin:
            return True
        return not self._rest and not other._rest

    def absorb(self, other: _Turn) -> None:
        self._first += other._first
        self._rest += other._rest
        if self._origin != other._origin:
            self._origin = "real"

    def message(self) -> Message:
        return Message(self._role, (*self._first, *self._rest), self._position, origin=self._origin)


class _Links:
    """Keeps calls and results together while their ids, names and kinds change."""

    __slots__ = ("_fresh", "_mint", "_waiting")

    def __init__(self, messages: Sequence[Message], mint: bool) -> None:
        self._mint = mint
        self._waiting: dict[str, list[ToolCall]] = {}
        self._fresh = FreshIds(
            part.id for message in messages for part in message.parts if isinstance(part, ToolCall)
        )

    def linked(self, part: Part) -> Part:
        """Return the part as this side of its pair looks in the new dialect."""
        part = bare(part)
        if isinstance(part, ToolCall):
            call = replace(_as_function(part), id=self._own_id(part.id), signature="")
            self._waiting.setdefault(part.id, []).append(call)
            return call
        return self._result(part) if isinstance(part, ToolResult) else part

    def _result(self, part: ToolResult) -> ToolResult:
        kind = part.kind if part.kind == "server" else "function"
        waiting = self._waiting.get(part.call_id)
        if not waiting:
            return replace(part, call_id=self._own_id(part.call_id), kind=kind)
        call = waiting.pop()
        return replace(part, call_id=call.id, name=part.name or call.name, kind=kind)

    def _own_id(self, given: str) -> str:
        if not self._mint or not given.startswith("~"):
            return given
        return self._fresh.number("call")


def _as_function(call: ToolCall) -> ToolCall:
    if call.kind in ("function", "server"):
        return call
    if call.kind == "hosted" and is_object_text(call.arguments):
        return replace(call, kind="function")
    return replace(call, kind="function", arguments=dump_text({"input": call.arguments}))
