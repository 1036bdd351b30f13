"""Which fields of a payload the model reads; whatever else stands there has no equal elsewhere."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from holdfast.transcript import Media, Message, Part, Text, ToolCall, ToolResult

Shape: TypeAlias = Mapping[str, "Shape | None"]
"""Field names; under each the shape of the object there, None for anything."""


def unread_of_message(message: Message, dialect: str) -> Iterator[str]:
    """Yield the paths of the fields of a message that the model does not read."""
    wire = message.wire
    if type(wire) is not dict or any(part.wire is wire for part in message.parts):
        return
    shape = _MESSAGES[dialect]
    if dialect == "openai-chat" and message.role == "tool":
        shape = {**shape, "name": None}
    yield from _unread(wire, shape, "")


def unread_of_part(part: Part, dialect: str) -> Iterator[str]:
    """Yield the paths, inside its message, of the fields of a part that the model does not read.

    Of a part that is carried over only in part or not at all nothing is listed here.
    """
    shape = _PARTS[dialect].get(type(part))
    if shape is not None and type(part.wire) is dict:
        yield from _unread(part.wire, shape, part.at)


def _unread(wire: Mapping[str, Any], shape: Shape, at: str) -> Iterator[str]:
    for key, value in wire.items():
        place = f"{at}.{key}" if at else key
        if key not in shape:
            if not _says_nothing(key, value):
                yield place
            continue
        inner = shape[key]
        if inner is not None and type(value) is dict:
            yield from _unread(value, inner, place)


def _says_nothing(key: str, value: Any) -> bool:
    if value is None or value is False or value in ("", [], {}):
        return True
    return (key, value) in (("status", "completed"), ("detail", "auto"))


def _shape(*names: str, **nested: Shape) -> Shape:
    return {**dict.fromkeys(names), **nested}


_CHAT_FUNCTION = _shape("name", "arguments")
_GEMINI_BLOB = _shape("mimeType", "data", "mime_type", "fileUri", "file_uri")
_GEMINI_CALL = _shape("name", "args", "id")
_GEMINI_RESPONSE = _shape("name", "response", "id", "parts")
_RESPONSES_ITEM = _shape("type", "call_id")

_MESSAGES: Mapping[str, Shape] = {
    "openai-chat": _shape(
        "role", "content", "tool_calls", "tool_call_id", "reasoning_content", "refusal",
        "function_call",
    ),
    "openai-responses": _shape("type", "role", "content"),
    "anthropic": _shape("role", "content"),
    "gemini": _shape("role", "parts"),
    "sharegpt": _shape("from", "value"),
}  # fmt: skip

_PARTS: Mapping[str, Mapping[type, Shape]] = {
    "openai-chat": {
        Text: _shape("type", "text"),
        Media: _shape(
            "type", image_url=_shape("url"), input_audio=_shape("data", "format"),
            file=_shape("file_data"),
        ),
        ToolCall: _shape(
            "id", "type", "name", "arguments", function=_CHAT_FUNCTION,
            custom=_shape("name", "input"),
        ),
    },
    "openai-responses": {
        Text: _shape("type", "text", "stdout", "stderr"),
        Media: _shape("type", "image_url", "file_data", "file_url"),
        ToolCall: {**_RESPONSES_ITEM, **_shape("name", "arguments", "input")},
        ToolResult: {
            **_RESPONSES_ITEM, **_shape("output", "approval_request_id", "approve", "reason"),
        },
    },
    "anthropic": {
        Text: _shape("type", "text"),
        Media: _shape("type", source=_shape("type", "media_type", "data", "url")),
        ToolCall: _shape("type", "id", "name", "input"),
        ToolResult: _shape("type", "tool_use_id", "content", "is_error"),
    },
    "gemini": {
        Text: _shape("text"),
        Media: _shape(
            inlineData=_GEMINI_BLOB, inline_data=_GEMINI_BLOB, fileData=_GEMINI_BLOB,
            file_data=_GEMINI_BLOB,
        ),
        ToolCall: _shape(
            "thoughtSignature", "thought_signature", functionCall=_GEMINI_CALL,
            function_call=_GEMINI_CALL,
        ),
        ToolResult: _shape(
            functionResponse=_GEMINI_RESPONSE, function_response=_GEMINI_RESPONSE
        ),
    },
    "sharegpt": {},
}  # fmt: skip
