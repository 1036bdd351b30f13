"""Foreign messages as alternating turns: results in user messages, an assistant turn in one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from foldaway.dialects.dialect import FreshIds
from foldaway.dialects.jsontext import dump_text, is_object_text
from foldaway.transcript import Message, Origin, Part, Role, Thinking, ToolCall, ToolResult, bare

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
