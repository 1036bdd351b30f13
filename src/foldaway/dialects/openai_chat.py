"""OpenAI chat completions: `{"messages": [{"role", "content", "tool_calls" …}]}`."""

# Wire values are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from foldaway.dialects.dialect import LOOKED_AT, Dialect, Places, merge_fields
from foldaway.dialects.shape import (
    Flaws,
    call_id,
    call_name,
    not_a_message,
    read_call_id,
    read_media,
    text_of,
)
from foldaway.errors import CannotEncode
from foldaway.transcript import (
    Media,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_OWNED = frozenset(
    {
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "reasoning_content",
        "refusal",
        "function_call",
    }
)
_BLOCK = Places("content")
_CALL = Places("tool_calls")


def decode(items: Sequence[Any], start: int = 0) -> tuple[Message, ...]:
    """Return the messages of a chat list, one for each element."""
    return tuple([_message(wire, at) for at, wire in enumerate(items, start)])


def _message(wire: Any, position: int) -> Message:
    if type(wire) is not dict:
        return not_a_message(wire, position)
    flaws = Flaws(wire)
    name = wire.get("role")
    role = _ROLES.get(name) if type(name) is str else None
    if role is None:
        role = flaws.role(wire, _ROLES)
    parts: list[Part] = []
    reasoning = wire.get("reasoning_content")
    if reasoning and type(reasoning) is str:
        parts.append(Thinking(reasoning, at="reasoning_content"))
    content = wire.get("content")
    if type(content) is str:
        if content:
            parts.append(Text(content, "content"))
    elif content is not None:
        _blocks(content, parts, flaws)
    if role == "tool":
        parts = [_result(wire, parts, flaws)]
    elif "tool_calls" in wire:
        _calls(wire["tool_calls"], parts, flaws, position)
    if wire.get("refusal"):
        parts.append(Opaque("refusal", "refusal", wire["refusal"]))
    if "function_call" in wire and type(wire["function_call"]) is dict:
        parts.append(_legacy_call(wire["function_call"], flaws))
    if not parts:
        flaws.empty("content")
    own_id = wire.get("id")
    return Message(
        role,
        tuple(parts),
        position,
        own_id if type(own_id) is str else "",
        "real",
        wire,
        True,
        flaws.found,
    )


def _blocks(content: Any, parts: list[Part], flaws: Flaws) -> None:
    if type(content) is not list:
        parts.append(flaws.text_instead_of(content, "content"))
        return
    for index, block in enumerate(content):
        parts.append(_block(block, _BLOCK[index], flaws))


def _block(block: Any, at: str, flaws: Flaws) -> Part:
    if type(block) is not dict:
        return flaws.text_instead_of(block, at)
    match block.get("type"):
        case "text":
            return Text(text_of(block, "text", at, flaws), at, block)
        case "input_text" | "output_text" as kind:
            flaws.block_type(kind, at, "text")
            return Text(text_of(block, "text", at, flaws), at, block, False)
        case "image_url":
            target = block.get("image_url")
            url = target.get("url") if isinstance(target, dict) else target
            return read_media("image", url, at, block)
        case "input_audio":
            audio = block.get("input_audio")
            data = audio.get("data") if isinstance(audio, dict) else None
            form = audio.get("format") if isinstance(audio, dict) else None
            kind = f"audio/{form}" if isinstance(form, str) else ""
            return Media("audio", kind, data if isinstance(data, str) else "", at=at, wire=block)
        case "file":
            file = block.get("file")
            data = file.get("file_data") if isinstance(file, dict) else None
            return read_media("document", data, at, block)
        case kind:
            return Opaque(kind if isinstance(kind, str) else "block", at, block)


def _result(wire: Any, parts: list[Part], flaws: Flaws) -> ToolResult:
    name = wire.get("name")
    name = name if type(name) is str else ""
    if wire.get("role") == "function":
        return ToolResult(f"~function:{name}", tuple(parts), name=name)
    call = read_call_id(wire, "tool_call_id", "", flaws)
    return ToolResult(call, tuple(parts), False, name, "function", "tool_call_id")


def _calls(calls: Any, parts: list[Part], flaws: Flaws, position: int) -> None:
    if type(calls) is not list:
        if calls is not None:
            flaws.wrong_type("tool_calls", calls, "a list")
        return
    if not calls:
        flaws.add("content-shape", "tool_calls", "is an empty list", "leave it out")
    for index, call in enumerate(calls):
        at = _CALL[index]
        if type(call) is not dict:
            flaws.wrong_type(at, call, "an object")
            continue
        parts.append(_call(call, at, flaws, f"{position}_{index}"))


def _call(call: Any, at: str, flaws: Flaws, fallback: str) -> ToolCall:
    before = flaws.found
    made = _call_of(call, at, flaws, fallback)
    return made if flaws.found is before else replace(made, intact=False)


def _call_of(call: Any, at: str, flaws: Flaws, fallback: str) -> ToolCall:
    if call.get("type") == "custom" and type(call.get("custom")) is dict:
        custom = call["custom"]
        given = custom.get("input")
        return ToolCall(
            call_id(call, "id", at, flaws, fallback),
            call_name(custom, f"{at}.custom", flaws),
            given if type(given) is str else "",
            "custom",
            "",
            at,
            call,
        )
    function = call.get("function")
    if type(function) is not dict:
        flaws.wrong_type(f"{at}.function", function, "an object with a name", mendable=False)
        function = {}
    arguments = function.get("arguments")
    if type(arguments) is not str:
        arguments = flaws.arguments(arguments, f"{at}.function.arguments")
    return ToolCall(
        call_id(call, "id", at, flaws, fallback),
        call_name(function, f"{at}.function", flaws),
        arguments,
        "function",
        "",
        at,
        call,
    )


def _legacy_call(call: Any, flaws: Flaws) -> ToolCall:
    arguments = call.get("arguments")
    if type(arguments) is not str:
        arguments = flaws.arguments(arguments, "function_call.arguments")
    name = call_name(call, "function_call", flaws)
    intact = type(call.get("arguments")) is str and name == call.get("name")
    return ToolCall(
        f"~function:{name}", name, arguments, "function", "", "function_call", call, intact
    )


def encode(message: Message) -> Any:
    """Return the wire form of one message from its parts."""
    if message.intact and message.wire is not None:
        return message.wire
    if message.role == "unknown":
        raise CannotEncode("openai-chat", "a message of unknown role", position=message.position)
    if message.role == "tool":
        return _encode_result(message)
    fields: dict[str, Any] = {"role": message.role}
    content: list[Part] = []
    calls: list[Any] = []
    for part in message.parts:
        match part:
            case ToolCall(at="function_call"):
                fields["function_call"] = _encode_legacy(part)
            case ToolCall():
                calls.append(_encode_call(part))
            case Thinking(signature="", redacted=False):
                fields["reasoning_content"] = part.text
            case Opaque(kind="refusal", at="refusal"):
                fields["refusal"] = part.wire
            case Text() | Media() | Opaque():
                content.append(part)
            case _:
                raise CannotEncode(
                    "openai-chat",
                    f"a {type(part).__name__} in a {message.role} message",
                    position=message.position,
                )
    old = message.wire if isinstance(message.wire, dict) else {"content": None}
    if content or "content" in old or not calls:
        fields["content"] = _encode_content(content, old.get("content"))
    if calls:
        fields["tool_calls"] = calls
    return merge_fields(message.wire, fields, _OWNED)


def _encode_content(parts: Sequence[Part], had: Any) -> Any:
    if not parts:
        return had if had in ("", None) else None
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].wire is None:
        return parts[0].text
    return [_encode_block(part) for part in parts]


def _encode_block(part: Part) -> Any:
    if part.wire is not None and part.intact:
        return part.wire
    match part:
        case Text(text=text):
            return merge_fields(part.wire, {"type": "text", "text": text})
        case Media(kind="image"):
            return {"type": "image_url", "image_url": {"url": _url(part)}}
        case Media(kind="audio"):
            form = part.media_type.removeprefix("audio/") or "wav"
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": form}}
        case Media(kind="document"):
            return {"type": "file", "file": {"file_data": _url(part)}}
        case _:
            raise CannotEncode("openai-chat", f"a {type(part).__name__} block")


def _url(part: Media) -> str:
    return part.url or f"data:{part.media_type};base64,{part.data}"


def _encode_call(part: ToolCall) -> Any:
    if part.wire is not None and part.intact:
        return part.wire
    old = part.wire or {}
    if part.kind == "custom":
        custom = merge_fields(old.get("custom"), {"name": part.name, "input": part.arguments})
        return merge_fields(old, {"id": part.id, "type": "custom", "custom": custom})
    function = merge_fields(old.get("function"), {"name": part.name, "arguments": part.arguments})
    return merge_fields(old, {"id": part.id, "type": "function", "function": function})


def _encode_legacy(part: ToolCall) -> Any:
    fields = {"name": part.name, "arguments": part.arguments}
    return part.wire if part.intact else merge_fields(part.wire, fields)


def _encode_result(message: Message) -> Any:
    if len(message.parts) != 1 or not isinstance(message.parts[0], ToolResult):
        raise CannotEncode(
            "openai-chat",
            "a tool message that is not exactly one result",
            position=message.position,
        )
    result = message.parts[0]
    had = message.wire.get("content") if isinstance(message.wire, dict) else ""
    content = _encode_content(result.parts, had)
    fields: dict[str, Any] = {"role": "tool", "content": "" if content is None else content}
    if result.call_id.startswith("~function:"):
        fields["role"] = "function"
        if result.name:
            fields["name"] = result.name
        return merge_fields(message.wire, fields)
    fields["tool_call_id"] = result.call_id
    return merge_fields(message.wire, fields, _OWNED)


def arrange(messages: Sequence[Message]) -> list[Message]:
    """Return foreign messages as chat messages: every result a tool message of its own."""
    out: list[Message] = []
    for message in messages:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
        out.extend(
            Message("tool", (result,), message.position, origin=message.origin)
            for result in results
        )
        if rest or not results:
            out.append(Message(message.role, rest, message.position, origin=message.origin))
    return out


def likeness(items: Sequence[Any], body: Any) -> int:
    """Return how much the data looks like a chat list."""
    del body
    score = 0
    for item in items[:LOOKED_AT]:
        if type(item) is not dict:
            continue
        if "tool_calls" in item or "tool_call_id" in item or item.get("role") == "tool":
            return 3
        if "role" in item and "parts" not in item and "type" not in item:
            score = 1
    return score


DIALECT = Dialect(
    name="openai-chat",
    list_key="messages",
    decode=decode,
    encode=encode,
    arrange=arrange,
    likeness=likeness,
)
