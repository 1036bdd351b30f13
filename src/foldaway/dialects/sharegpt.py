"""ShareGPT: `{"conversations": [{"from", "value"}]}`, calls and results as tags in the text."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foldaway.dialects.dialect import LOOKED_AT, Dialect, merge_fields
from foldaway.dialects.shape import Flaws, not_a_message, quote
from foldaway.dialects.sharegpt_tags import (
    read_call_turn,
    read_results,
    read_speech,
    write_call,
    write_result,
)
from foldaway.errors import CannotEncode
from foldaway.transcript import (
    Flaw,
    Media,
    Message,
    Opaque,
    Part,
    Payload,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

_NAME = "sharegpt"
_ROLES: dict[str, Role] = {
    "system": "system",
    "human": "user",
    "user": "user",
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bard", "bing", "function_call"), "assistant"),
    **dict.fromkeys(("tool", "observation", "function_response", "tool_response"), "tool"),
}
_FROM: dict[Role, str] = {
    "system": "system",
    "developer": "system",
    "user": "human",
    "assistant": "gpt",
    "tool": "tool",
}


def decode(items: Sequence[Any], start: int = 0) -> tuple[Message, ...]:
    """Return the messages of a conversation, one for each turn.

    A result answers the call that it names, otherwise the first one that waits; the pair has the
    id that either of them gives, otherwise a positional one.
    """
    pairs = _Pairs()
    messages: list[Message] = []
    for at, wire in enumerate(items, start):
        messages.append(_message(wire, at, pairs))
    for at in pairs.renamed:
        messages[at - start] = replace(messages[at - start], parts=tuple(pairs.calls[at]))
    return tuple(messages)


def _message(wire: Any, position: int, pairs: _Pairs) -> Message:
    if type(wire) is not dict:
        return not_a_message(wire, position)
    name = wire.get("from")
    role = _ROLES.get(name) if type(name) is str else None
    value = wire.get("value")
    parts: list[Part]
    found: tuple[Flaw, ...] = ()
    if role is None or type(value) is not str or not value:
        role, parts, found = _read_odd_turn(wire, role, value)
    elif role == "assistant":
        parts = read_call_turn(value) if name == "function_call" else read_speech(value)
    elif role == "tool":
        parts = read_results(value)
    else:
        parts = [Text(value, "value")]
    if role != "system":
        pairs.take(role, parts, position)
    own_id = wire.get("id")
    return Message(
        role,
        tuple(parts),
        position,
        own_id if type(own_id) is str else "",
        "real",
        wire,
        True,
        found,
    )


def _read_odd_turn(
    wire: Payload, role: Role | None, value: Any
) -> tuple[Role, list[Part], tuple[Flaw, ...]]:
    """Return role, parts and flaws of a turn with an unknown speaker, or without words."""
    flaws = Flaws(wire)
    if role is None:
        role = _unknown_role(wire, flaws)
    parts: list[Part] = []
    if value is None:
        flaws.empty("value")
    elif type(value) is not str:
        parts = [flaws.text_instead_of(value, "value")]
    elif role == "tool":
        parts = read_results(value)
    elif value:
        parts = [Text(value, "value")]
    else:
        flaws.empty("value")
    return role, parts, flaws.found


def _unknown_role(wire: Payload, flaws: Flaws) -> Role:
    known = ", ".join(_ROLES)
    what = f"from is {quote(wire['from'])}" if "from" in wire else "does not say who speaks"
    flaws.add(
        "role-known", "from", f"{what}; known: {known}", f"use one of {known}", mendable=False
    )
    return "unknown"


class _Pairs:
    """Calls that wait for their results while a conversation is read."""

    __slots__ = ("_answering", "_by_id", "_unnamed", "_waiting", "calls", "renamed")

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque()
        self._unnamed: deque[_Waiting] = deque()
        self._by_id: dict[str, _Waiting] = {}
        self._answering = False
        self.calls: dict[int, list[Part]] = {}
        """By message, the parts whose calls may get their id from a later result."""
        self.renamed: set[int] = set()
        """The messages whose calls did."""

    def take(self, role: Role, parts: list[Part], position: int) -> None:
        """Give the calls and results among the parts of the next message their ids."""
        if self._waiting and (role == "user" or (role == "assistant" and self._answering)):
            self._waiting.clear()
            self._unnamed.clear()
            self._by_id.clear()
        self._answering = role == "tool"
        for ordinal, part in enumerate(parts):
            kind = type(part)
            if kind is ToolCall:
                parts[ordinal] = self._wait(part, position, ordinal)  # pyright: ignore[reportArgumentType]
                self.calls[position] = parts
            elif kind is ToolResult:
                parts[ordinal] = self._answer(part, position, ordinal)  # pyright: ignore[reportArgumentType]

    def _wait(self, call: ToolCall, position: int, ordinal: int) -> ToolCall:
        waiting = _Waiting(position, ordinal)
        self._waiting.append(waiting)
        if call.id:
            self._by_id[call.id] = waiting
            return call
        self._unnamed.append(waiting)
        return _with_id(call, f"~{position}.{ordinal}")

    def _answer(self, result: ToolResult, position: int, ordinal: int) -> ToolResult:
        given = result.call_id
        found = self._by_id.pop(given, None) if given else None
        if found is None or found.answered:
            found = _pop_next(self._unnamed if given else self._waiting)
        if found is None:
            return result if given else _pair_result(result, f"~{position}.{ordinal}")
        found.answered = True
        call = self.calls[found.position][found.ordinal]
        assert isinstance(call, ToolCall)
        if given and call.id != given:
            self.calls[found.position][found.ordinal] = _with_id(call, given)
            self.renamed.add(found.position)
        return result if given else _pair_result(result, call.id)


def _with_id(call: ToolCall, own_id: str) -> ToolCall:
    return ToolCall(
        own_id, call.name, call.arguments, call.kind, call.signature, call.at, call.wire
    )


def _pair_result(result: ToolResult, call_id: str) -> ToolResult:
    return ToolResult(
        call_id, result.parts, result.is_error, result.name, result.kind, result.at, result.wire
    )


class _Waiting(Struct, gc=False):
    """A call without a result so far, by its place."""

    position: int
    ordinal: int
    answered: bool = False


def _pop_next(queue: deque[_Waiting]) -> _Waiting | None:
    while queue:
        found = queue.popleft()
        if not found.answered:
            return found
    return None


def encode(message: Message) -> Any:
    """Return the wire form of one turn from its parts; untouched parts keep their exact text."""
    if message.intact and message.wire is not None:
        return message.wire
    speaker = _FROM.get(message.role)
    if speaker is None:
        if message.intact and message.parts == (Opaque("element"),):
            return None
        raise CannotEncode(_NAME, "a message of unknown role", position=message.position)
    wire: Any = message.wire if isinstance(message.wire, dict) else None
    had = wire.get("from") if wire is not None else None
    calls_only = all(isinstance(part, ToolCall) for part in message.parts)
    if wire is not None and had == "function_call" and calls_only:
        value = _write_call_turn(message.parts, wire.get("value"))
    else:
        value = _join([_piece(part, message) for part in message.parts])
        calls = any(isinstance(part, ToolCall) for part in message.parts)
        had = "gpt" if calls and had == "function_call" else had
    if type(had) is str and _ROLES.get(had) == message.role:
        speaker = had
    return merge_fields(wire, {"from": speaker, "value": value})


def _write_call_turn(parts: Sequence[Part], had: Any) -> str:
    calls = [part for part in parts if isinstance(part, ToolCall)]
    if isinstance(had, str) and all(call.intact for call in calls):
        before = [part for part in read_call_turn(had) if isinstance(part, ToolCall)]
        if [call.wire for call in before] == [call.wire for call in calls]:
            return had
    texts = [_source(call) if call.intact and call.wire else write_call(call) for call in calls]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _piece(part: Part, message: Message) -> tuple[str, bool]:
    """Return the text of a part, and whether it is the exact text that was read."""
    if part.intact and part.wire is not None and "source" in part.wire:
        return _source(part), True
    match part:
        case Text(text=text):
            return text, False
        case Thinking(text=text, signature="", redacted=False):
            tag = part.wire["tag"] if part.wire is not None else "think"
            return f"<{tag}>\n{text}\n</{tag}>", False
        case ToolCall():
            return f"<tool_call>\n{write_call(part)}\n</tool_call>", False
        case ToolResult():
            if part.wire is not None and part.wire.get("untagged"):
                return write_result(part), False
            return f"<tool_response>\n{write_result(part)}\n</tool_response>", False
        case Media() | Opaque() | Thinking():
            kind = part.kind if isinstance(part, (Media, Opaque)) else "signed thinking"
            raise CannotEncode(_NAME, f"a part of kind {kind!r}", position=message.position)


def _source(part: Any) -> str:
    return part.wire["source"]


def _join(pieces: Sequence[tuple[str, bool]]) -> str:
    """Return the pieces on lines of their own; exact ones bring their own line breaks."""
    text = ""
    was_exact = False
    for at, (piece, exact) in enumerate(pieces):
        if at and not (exact and was_exact):
            broken = (was_exact and text.endswith("\n")) or (exact and piece.startswith("\n"))
            text += "" if broken else "\n"
        text += piece
        was_exact = exact
    return text


def arrange(messages: Sequence[Message]) -> list[Message]:
    """Return foreign messages as turns: neighbouring results in one, everything else as it was.

    Calls say their ids only where their results alone would not give them back.
    """
    turns: list[Message] = []
    for message in messages:
        results = tuple(part for part in message.parts if isinstance(part, ToolResult))
        rest = tuple(
            part for part in message.parts if not isinstance(part, (ToolResult, Media, Opaque))
        )
        if results:
            _add_results(results, message, turns)
        if rest:
            role: Role = "system" if message.role == "developer" else message.role
            turns.append(Message(role, rest, message.position, origin=message.origin))
    return turns if _ids_come_back(turns) else [_with_ids(turn) for turn in turns]


def _add_results(results: tuple[ToolResult, ...], message: Message, turns: list[Message]) -> None:
    last = turns[-1] if turns else None
    if last is not None and last.role == "tool" and last.origin == message.origin:
        turns[-1] = replace(last, parts=(*last.parts, *results))
    else:
        turns.append(Message("tool", results, message.position, origin=message.origin))


def _ids_come_back(turns: Sequence[Message]) -> bool:
    known = [turn for turn in turns if turn.role != "unknown"]
    mine, read = _call_ids(known), _call_ids(decode([encode(turn) for turn in known]))
    if len(mine) != len(read):
        return False
    return all(own == back or own.startswith("~") for own, back in zip(mine, read, strict=True))


def _call_ids(turns: Sequence[Message]) -> list[str]:
    return [part.id for turn in turns for part in turn.parts if isinstance(part, ToolCall)]


def _with_ids(turn: Message) -> Message:
    parts = tuple(
        replace(part, wire={"has_id": True})
        if isinstance(part, ToolCall) and not part.id.startswith("~")
        else part
        for part in turn.parts
    )
    return replace(turn, parts=parts)


def likeness(items: Sequence[Any], body: Payload) -> int:
    """Return how much the data looks like ShareGPT turns."""
    del body
    for item in items[:LOOKED_AT]:
        if type(item) is dict and "from" in item and "value" in item:
            return 4
    return 0


DIALECT = Dialect(
    name=_NAME,
    list_key="conversations",
    decode=decode,
    encode=encode,
    arrange=arrange,
    likeness=likeness,
    pairs_by_order=True,
)
