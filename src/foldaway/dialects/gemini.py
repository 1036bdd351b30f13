"""Gemini contents: `{"systemInstruction", "contents": [{"role", "parts": [...]}]}`.

Keys are read in camel case and in snake case; what is written again keeps the case that it had.
"""

# Wire values are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.dialects.dialect import LOOKED_AT, Dialect, Places, merge_fields, turns
from foldaway.dialects.gemini_response import (
    decode_data,
    decode_response,
    encode_data,
    encode_response,
)
from foldaway.dialects.shape import (
    Flaws,
    arguments_text,
    arguments_value,
    call_name,
    not_a_message,
    quote,
    text_of,
)
from foldaway.errors import CannotEncode
from foldaway.transcript import (
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

_ROLES: dict[Any, Role] = {None: "user", "user": "user", "model": "assistant", "function": "user"}
_WIRE_ROLES: dict[Role, str] = {"user": "user", "tool": "user", "assistant": "model"}
_NEAR_ROLES = {
    "assistant": "model",
    "ai": "model",
    "bot": "model",
    "gpt": "model",
    "human": "user",
    "tool": "user",
}
_CAMEL = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
    "tool_call": "toolCall",
    "tool_response": "toolResponse",
    "thought_signature": "thoughtSignature",
    "video_metadata": "videoMetadata",
    "media_resolution": "mediaResolution",
    "part_metadata": "partMetadata",
}
_BESIDE = frozenset(
    {"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"}
)
_DATA = frozenset({"text", *_CAMEL, *_CAMEL.values()})
_SETTINGS = frozenset(
    {
        "systemInstruction",
        "system_instruction",
        "generationConfig",
        "generation_config",
        "safetySettings",
        "toolConfig",
        "cachedContent",
    }
)
_PART = Places("parts")
_SYSTEM_KEYS = ("systemInstruction", "system_instruction")


def decode(items: Sequence[Any], start: int = 0) -> tuple[Message, ...]:
    """Return the messages of a Gemini list, one for each element.

    A call without an id gets a positional one, `~{message}.{part}`, and so does its response.
    """
    waiting = _Waiting()
    return tuple([_message(wire, at, waiting) for at, wire in enumerate(items, start)])


def _message(wire: Any, position: int, waiting: _Waiting) -> Message:
    if type(wire) is not dict:
        return not_a_message(wire, position)
    flaws = Flaws(wire)
    name = wire.get("role")
    role = _ROLES.get(name) if type(name) is str or name is None else None
    if role is None:
        role = _guess_role(name, flaws)
    waiting.enter(role)
    parts = _parts(wire.get("parts"), _PART, "parts", flaws, (position, waiting))
    return Message(role, parts, position, "", "real", wire, True, flaws.found)


def _guess_role(name: Any, flaws: Flaws) -> Role:
    near = _NEAR_ROLES.get(name) if type(name) is str else None
    flaws.add(
        "role-known",
        "role",
        f"role is {quote(name)}; known: user, model",
        f"use {near!r}" if near else "use user or model",
        mendable=near is not None,
    )
    return _ROLES[near] if near else "system" if name == "system" else "unknown"


def _parts(
    given: Any, places: Places, at: str, flaws: Flaws, place: tuple[int, _Waiting]
) -> tuple[Part, ...]:
    parts: list[Part] = []
    if type(given) is list:
        for index, wire in enumerate(given):
            if type(wire) is dict:
                text = wire.get("text")
                if type(text) is str and "thought" not in wire:
                    parts.append(Text(text, places[index], wire))
                    continue
            part = _part(wire, places[index], flaws, index, place)
            if part is not None:
                parts.append(part)
    elif given is not None:
        parts.append(flaws.text_instead_of(given, at))
    if not parts:
        flaws.empty(at)
    return tuple(parts)


def _part(wire: Any, at: str, flaws: Flaws, index: int, place: tuple[int, _Waiting]) -> Part | None:
    if type(wire) is not dict:
        return flaws.text_instead_of(wire, at)
    key = _data_key(wire)
    match _CAMEL.get(key, key):
        case "functionCall":
            return _call(wire, key, f"{at}.{key}", flaws, (at, f"~{place[0]}.{index}", place[1]))
        case "functionResponse":
            return _result(wire, key, flaws, (at, f"~{place[0]}.{index}", place[1]))
        case "text":
            return _words(wire, at, flaws)
        case "inlineData" | "fileData":
            return decode_data(wire, key, at, flaws)
        case "" if wire.get("thought") is True:
            return Thinking("", _signature(wire, at, flaws), False, at, wire)
        case "" if not any(value is not None for value in wire.values()):
            flaws.add(
                "content-present", at, "is a part without content", "remove it, or give it content"
            )
            return None
        case kind:
            return Opaque(kind or "part", at, wire)


def _data_key(wire: Payload) -> str:
    """Return the key that says what a part holds, "" if none does."""
    found = ""
    for key, value in wire.items():
        if value is None or _CAMEL.get(key, key) in _BESIDE:
            continue
        if key in _DATA:
            return key
        found = found or key
    return found


def _words(wire: Payload, at: str, flaws: Flaws) -> Part:
    before = flaws.found
    text = text_of(wire, "text", at, flaws)
    if wire.get("thought") is True:
        signature = _signature(wire, at, flaws)
        return Thinking(text, signature, False, at, wire, flaws.found is before)
    return Text(text, at, wire, flaws.found is before)


def _call(
    wire: Payload, key: str, inner: str, flaws: Flaws, place: tuple[str, str, _Waiting]
) -> ToolCall:
    at, positional, waiting = place
    before = flaws.found
    call = wire[key]
    if type(call) is not dict:
        flaws.wrong_type(inner, call, "an object with a name", mendable=False)
        call = {}
    own_id = call.get("id")
    if type(own_id) is not str or not own_id:
        if own_id is not None and own_id != "":
            flaws.missing_id(own_id, f"{inner}.id")
        own_id = positional
    name = call_name(call, inner, flaws)
    args = call.get("args")
    text = "{}" if args is None else arguments_text(args, f"{inner}.args", flaws)
    waiting.call(own_id, name)
    signature = _signature(wire, at, flaws)
    return ToolCall(own_id, name, text, "function", signature, at, wire, flaws.found is before)


def _result(wire: Payload, key: str, flaws: Flaws, place: tuple[str, str, _Waiting]) -> ToolResult:
    at, positional, waiting = place
    before = flaws.found
    inner = f"{at}.{key}"
    answer = wire[key]
    if type(answer) is not dict:
        flaws.wrong_type(inner, answer, "an object with a name", mendable=False)
        answer = {}
    given = answer.get("id")
    if given is not None and type(given) is not str:
        flaws.missing_id(given, f"{inner}.id")
    name = answer.get("name")
    call, called = waiting.answer(given, name, positional)
    if type(name) is not str or not name:
        call_name(answer, inner, flaws)
        name = called
    parts, failed = decode_response(answer, inner, flaws)
    return ToolResult(call, parts, failed, name, "function", at, wire, flaws.found is before)


def _signature(wire: Payload, at: str, flaws: Flaws) -> str:
    key = _find_spelling(wire, "thoughtSignature", "thought_signature")
    found = wire.get(key)
    if type(found) is str:
        return found
    if found is not None:
        flaws.wrong_type(f"{at}.{key}", found, "a string", mendable=False)
    return ""


def _find_spelling(wire: Payload | None, camel: str, snake: str) -> str:
    """Return the spelling of a key that `wire` has; camel case if it has neither."""
    return snake if wire is not None and snake in wire and camel not in wire else camel


def encode(message: Message) -> Any:
    """Return the wire form of one message from its parts; positional ids are not written."""
    if message.intact and message.wire is not None:
        return message.wire
    role = _WIRE_ROLES.get(message.role)
    if role is None:
        raise CannotEncode(
            "gemini", f"a {message.role} message among the contents", position=message.position
        )
    wire: Any = message.wire if isinstance(message.wire, dict) else None
    fields: dict[str, Any] = {"role": role}
    if wire is not None and role == "user" and wire.get("role") in (None, "function"):
        del fields["role"]
    fields["parts"] = [_encode_part(part, message.position) for part in message.parts]
    return merge_fields(wire, fields)


def _encode_part(part: Part, position: int) -> Any:
    if part.wire is not None and part.intact:
        return part.wire
    match part:
        case Text(text=text):
            return merge_fields(part.wire, {"text": text})
        case Media():
            return encode_data(part, position)
        case ToolCall():
            return _encode_call(part, position)
        case ToolResult():
            return _encode_result(part, position)
        case Thinking():
            return _encode_thought(part, position)
        case Opaque(wire=dict()):
            return part.wire
        case Opaque(kind=kind):
            raise CannotEncode("gemini", f"a part of kind {kind!r}", position=position)


def _encode_call(part: ToolCall, position: int) -> Any:
    if part.kind != "function":
        raise CannotEncode("gemini", f"a call of kind {part.kind!r}", position=position)
    wire = part.wire
    key = _find_spelling(wire, "functionCall", "function_call")
    old = wire.get(key) if wire is not None else None
    old = old if isinstance(old, dict) else {}
    fields: dict[str, Any] = {} if part.id.startswith("~") else {"id": part.id}
    fields["name"] = part.name
    if part.arguments != "{}" or not old or old.get("args") is not None:
        fields["args"] = arguments_value(part.arguments, old.get("args"))
    call = merge_fields(old, fields, _list_dropped_keys(old, "args"))
    return _sign(wire, part.signature, {key: call})


def _encode_result(part: ToolResult, position: int) -> Any:
    if part.kind != "function":
        raise CannotEncode("gemini", f"a result of kind {part.kind!r}", position=position)
    wire = part.wire
    key = _find_spelling(wire, "functionResponse", "function_response")
    old = wire.get(key) if wire is not None else None
    old = old if isinstance(old, dict) else {}
    fields: dict[str, Any] = {}
    if not part.call_id.startswith("~") and (not old or old.get("id")):
        fields["id"] = part.call_id
    fields["name"] = part.name or "unknown_tool"
    fields |= encode_response(part, old, position)
    return merge_fields(wire, {key: merge_fields(old, fields, _list_dropped_keys(old, "parts"))})


def _list_dropped_keys(old: Payload, key: str) -> frozenset[str]:
    """Return the keys that go unless they are written: not null ones, an id only if unusable."""
    usable = old.get("id") is None or type(old["id"]) is str
    keys = (key,) if usable else (key, "id")
    return frozenset(own for own in keys if old.get(own) is not None)


def _encode_thought(part: Thinking, position: int) -> Any:
    if part.redacted:
        raise CannotEncode("gemini", "redacted thinking", position=position)
    had_none = part.wire is not None and "text" not in part.wire and not part.text
    fields: dict[str, Any] = {} if had_none else {"text": part.text}
    return _sign(part.wire, part.signature, {**fields, "thought": True})


def _sign(wire: Payload | None, signature: str, fields: dict[str, Any]) -> Any:
    key = _find_spelling(wire, "thoughtSignature", "thought_signature")
    if signature or (wire is not None and wire.get(key) == ""):
        fields[key] = signature
    owned = frozenset({key} if wire is not None and type(wire.get(key)) is str else ())
    return merge_fields(wire, fields, owned)


def decode_system(body: Payload) -> Message | None:
    """Return the system prompt of a request body, None if it has none."""
    key = _find_spelling(body, *_SYSTEM_KEYS)
    wire = body.get(key)
    if wire is None:
        return None
    flaws = Flaws()
    place = f"{key}.parts"
    if type(wire) is dict:
        parts = _parts(wire.get("parts"), Places(place), place, flaws, (-1, _Waiting()))
    else:
        flaws.wrong_type(key, wire, "an object with parts")
        parts = (Text(wire, key),) if type(wire) is str and wire else ()
    return Message("system", parts, wire=wire, flaws=flaws.found)


def encode_system(message: Message) -> Any:
    """Return the `systemInstruction` of a request body."""
    if message.intact and message.wire is not None:
        return message.wire
    parts = [_encode_part(part, message.position) for part in message.parts]
    return merge_fields(message.wire, {"parts": parts})


def arrange(messages: Sequence[Message]) -> list[Message]:
    """Return foreign messages as Gemini turns.

    Calls stand in one model turn and their responses, by name, in the user turn after it. Thoughts
    stay if nothing signed them. System messages stay in the list; contents have no form for
    them.
    """
    return turns(messages, keep_thoughts=True, mint_ids=False)


def likeness(items: Sequence[Any], body: Any) -> int:
    """Return how much the data looks like Gemini contents."""
    if not _SETTINGS.isdisjoint(body):
        return 4
    model = body.get("model")
    named = type(model) is str and model.lower().removeprefix("models/").startswith("gemini")
    score = 2 if named and body.get("contents") is items else 0
    for item in items[:LOOKED_AT]:
        if type(item) is not dict or "content" in item:
            continue
        parts = item.get("parts")
        if type(parts) is list and (item.get("role") == "model" or any(map(_is_own, parts[:8]))):
            return 3
    return score


def _is_own(part: Any) -> bool:
    return type(part) is dict and "type" not in part and not _DATA.isdisjoint(part)


class _Waiting:
    """The calls of the latest model turn that have no response yet, in order."""

    __slots__ = ("_after_user", "_calls")

    def __init__(self) -> None:
        """Start with none."""
        self._calls: dict[str, str] = {}
        self._after_user = False

    def enter(self, role: Role) -> None:
        """Begin a message; the first of a new model turn ends the wait of the turn before."""
        if role != "assistant":
            self._after_user = True
        elif self._after_user:
            self._after_user = False
            self._calls = {}

    def call(self, own_id: str, name: str) -> None:
        """Note a call."""
        self._calls[own_id] = name

    def answer(self, given: Any, name: Any, fallback: str) -> tuple[str, str]:
        """Return the id and the name of the call that a response answers.

        By the id that is `given`; otherwise the first waiting call of that name (of any name where
        the response has none), only among calls without an id where the response has one. Where
        no call waits, the id that is given, or `fallback`.
        """
        has_id = type(given) is str and given != ""
        if has_id and given in self._calls:
            return given, self._calls.pop(given)
        named = type(name) is str and name != ""
        for own_id, called in self._calls.items():
            if (not named or called == name) and (not has_id or own_id.startswith("~")):
                del self._calls[own_id]
                return own_id, called
        return (given if has_id else fallback), "unknown_tool"


DIALECT = Dialect(
    name="gemini",
    list_key="contents",
    decode=decode,
    encode=encode,
    arrange=arrange,
    likeness=likeness,
    system_key="systemInstruction",
    decode_system=decode_system,
    encode_system=encode_system,
    pairs_by_order=True,
)
