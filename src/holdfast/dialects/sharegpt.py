"""ShareGPT: `{"conversations": [{"from", "value"}]}`, calls and results as tags in the text."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.dialects.dialect import Dialect, merge_fields
from holdfast.dialects.shape import Flaws, shown
from holdfast.dialects.sharegpt_tags import (
    read_call_turn,
    read_results,
    read_speech,
    write_call,
    write_result,
)
from holdfast.errors import CannotEncode
from holdfast.transcript import (
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
_NONE: frozenset[str] = frozenset()
_LOOKED_AT = 64


def decode(items: Sequence[Any], start: int = 0) -> tuple[Message, ...]:
    """Return the messages of a conversation, one for each turn.

    A result answers the call that it names, otherwise the first one that waits; the pair has the
    id that either of them gives, otherwise a positional one.
    """
    pairs = _Pairs()
    messages: list[Message] = []
    for at, wire in enumerate(items, start):
        messages.append(_message(wire, at, pairs))
    for at, parts in pairs.renamed.items():
        messages[at - start] = replace(messages[at - start], parts=tuple(parts))
    return tuple(messages)


def _message(wire: Any, position: int, pairs: _Pairs) -> Message:
    flaws = Flaws()
    if type(wire) is not dict:
        flaws.not_an_object(wire)
        return Message("unknown", (Opaque("element", "", wire),), position, "", "real", wire, True,
                       flaws.found)  # fmt: skip
    name = wire.get("from")
    role = _ROLES.get(name) if type(name) is str else None
    if role is None:
        role = _unknown_role(wire, flaws)
    value = wire.get("value")
    if type(value) is not str:
        parts: list[Part] = []
        if value is None:
            flaws.empty("value")
        else:
            parts = [flaws.text_instead_of(value, "value")]
    elif role == "assistant":
        parts = read_call_turn(value) if name == "function_call" else read_speech(value)
    elif role == "tool":
        parts = read_results(value)
    else:
        parts = [Text(value, "value")] if value else []
    if value == "" and not parts:
        flaws.empty("value")
    parts = pairs.take(role, parts, position)
    own_id = wire.get("id")
    return Message(
        role, tuple(parts), position, own_id if type(own_id) is str else "", "real", wire, True,
        flaws.found,
    )  # fmt: skip


def _unknown_role(wire: Payload, flaws: Flaws) -> Role:
    known = ", ".join(_ROLES)
    what = f"from is {shown(wire['from'])}" if "from" in wire else "does not say who speaks"
    flaws.add(
        "role-known", "from", f"{what}; known: {known}", f"use one of {known}", mendable=False
    )
    return "unknown"


class _Pairs:
    """Calls that wait for their results while a conversation is read."""

    __slots__ = ("_answering", "_by_id", "_unnamed", "_waiting", "renamed")

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque()
        self._unnamed: deque[_Waiting] = deque()
        self._by_id: dict[str, _Waiting] = {}
        self._answering = False
        self.renamed: dict[int, list[Part]] = {}
        """By message, the parts whose calls may get their id from a later result."""

    def take(self, role: Role, parts: list[Part], position: int) -> list[Part]:
        """Return the parts of the next message with their ids."""
        if role == "user" or (role == "assistant" and self._answering):
            self._waiting.clear()
            self._unnamed.clear()
            self._by_id.clear()
        self._answering = role == "tool"
        for ordinal, part in enumerate(parts):
            if isinstance(part, ToolCall):
                parts[ordinal] = self._wait(part, position, ordinal)
                self.renamed[position] = parts
            elif isinstance(part, ToolResult):
                parts[ordinal] = self._answer(part, f"~{position}.{ordinal}")
        return parts

    def _wait(self, call: ToolCall, position: int, ordinal: int) -> ToolCall:
        waiting = _Waiting(position, ordinal)
        self._waiting.append(waiting)
        if call.id:
            self._by_id[call.id] = waiting
            return call
        self._unnamed.append(waiting)
        return replace(call, id=f"~{position}.{ordinal}")

    def _answer(self, result: ToolResult, own_id: str) -> ToolResult:
        given = result.call_id
        found = self._by_id.pop(given, None) if given else None
        if found is None or found.answered:
            found = _next(self._unnamed if given else self._waiting)
        if found is None:
            return result if given else replace(result, call_id=own_id)
        found.answered = True
        call = self.renamed[found.position][found.ordinal]
        assert isinstance(call, ToolCall)
        if given and call.id != given:
            self.renamed[found.position][found.ordinal] = replace(call, id=given)
        return result if given else replace(result, call_id=call.id)


class _Waiting:
    """A call without a result so far, by its place."""

    __slots__ = ("answered", "ordinal", "position")

    def __init__(self, position: int, ordinal: int) -> None:
        self.position = position
        self.ordinal = ordinal
        self.answered = False


def _next(queue: deque[_Waiting]) -> _Waiting | None:
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
    return merge_fields(wire, _NONE, {"from": speaker, "value": value})


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


def _add_results(
    results: tuple[ToolResult, ...], message: Message, turns: list[Message]
) -> None:
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
    for item in items[:_LOOKED_AT]:
        if type(item) is dict and "from" in item and "value" in item:
            return 4
    return 0


DIALECT = Dialect(
    name=_NAME, list_key="conversations", decode=decode, encode=encode, arrange=arrange,
    likeness=likeness,
)  # fmt: skip
