"""Anthropic messages: `{"system", "messages": [{"role", "content": text | blocks}]}`."""

# Wire values are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

from foldaway.dialects.dialect import LOOKED_AT, Dialect, Places, merge_fields, turns
from foldaway.dialects.shape import (
    Flaws,
    arguments_text,
    arguments_value,
    call_id,
    call_name,
    not_a_message,
    read_call_id,
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

_ROLES: dict[Any, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_WIRE_ROLES: dict[Role, str] = {
    "user": "user",
    "tool": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
_SERVER_RESULT = "_tool_result"
_OWN_BLOCKS = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "compaction",
        "container_upload",
        "search_result",
        *_SERVER_CALLS,
    }
)
_BLOCK = Places("content")
_SYSTEM_BLOCK = Places("system")
_MODEL = re.compile(r"claude|(?:[a-z]+\.)?anthropic\.")


def decode(items: Sequence[Any], start: int = 0) -> tuple[Message, ...]:
    """Return the messages of an Anthropic list, one for each element."""
    return tuple([_message(wire, at) for at, wire in enumerate(items, start)])


def _message(wire: Any, position: int) -> Message:
    if type(wire) is not dict:
        return not_a_message(wire, position)
    flaws = Flaws(wire)
    name = wire.get("role")
    role = _ROLES.get(name) if type(name) is str else None
    if role is None:
        role = flaws.role(wire, _ROLES)
    content = wire.get("content")
    if type(content) is str and content and not content.isspace():
        parts: tuple[Part, ...] = (Text(content, "content"),)
    else:
        parts = _content(content, _BLOCK, "content", flaws, position)
    own_id = wire.get("id")
    return Message(
        role,
        parts,
        position,
        own_id if type(own_id) is str else "",
        "real",
        wire,
        True,
        flaws.found,
    )


def _content(
    content: Any, places: Places, at: str, flaws: Flaws, position: int
) -> tuple[Part, ...]:
    """Return the parts of a content; a text without words is noted and is no part."""
    parts: list[Part] = []
    if type(content) is list:
        for index, block in enumerate(content):
            place = places[index]
            part = _block(block, place, flaws, f"{position}_{index}")
            if type(part) is not Text or (part.text and not part.text.isspace()):
                parts.append(part)
            else:
                flaws.add(
                    "content-present",
                    f"{place}.text",
                    "is a text without words",
                    "remove the block, or give it text",
                )
    elif content is not None and (type(content) is not str or content.strip()):
        parts.append(
            Text(content, at) if type(content) is str else flaws.text_instead_of(content, at)
        )
    if not parts:
        flaws.empty(at)
    return tuple(parts)


def _block(block: Any, at: str, flaws: Flaws, fallback: str) -> Part:
    if type(block) is not dict:
        return flaws.text_instead_of(block, at)
    kind = block.get("type")
    before = flaws.found
    if kind == "tool_use":
        return _call(block, at, flaws, fallback, "function")
    if kind == "tool_result":
        return _result(block, at, flaws)
    if kind == "thinking":
        text = text_of(block, "thinking", at, flaws)
        signature = _signature(block, at, flaws)
        return Thinking(text, signature, False, at, block, flaws.found is before)
    if kind == "redacted_thinking":
        data = text_of(block, "data", at, flaws)
        return Thinking("", data, True, at, block, flaws.found is before)
    if kind in _SERVER_CALLS:
        return _call(block, at, flaws, fallback, "server")
    if type(kind) is str and kind.endswith(_SERVER_RESULT):
        return _server_result(block, at, flaws)
    return _plain_block(block, at, flaws)


def _plain_block(block: Any, at: str, flaws: Flaws) -> Part:
    """Return a block that may also stand inside a result."""
    if type(block) is not dict:
        return flaws.text_instead_of(block, at)
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        if type(text) is str:
            return Text(text, at, block)
        return Text(text_of(block, "text", at, flaws), at, block, False)
    if kind == "image" or kind == "document":
        return _decode_media(kind, block, at, flaws)
    return Opaque(kind if type(kind) is str else "block", at, block)


def _call(block: Any, at: str, flaws: Flaws, fallback: str, kind: Any) -> ToolCall:
    before = flaws.found
    return ToolCall(
        call_id(block, "id", at, flaws, fallback),
        call_name(block, at, flaws),
        arguments_text(block.get("input"), f"{at}.input", flaws),
        kind,
        "",
        at,
        block,
        flaws.found is before,
    )


def _result(block: Any, at: str, flaws: Flaws) -> ToolResult:
    before = flaws.found
    call = read_call_id(block, "tool_use_id", at, flaws)
    failed = block.get("is_error", False)
    if type(failed) is not bool:
        flaws.wrong_type(f"{at}.is_error", failed, "true or false")
        failed = False
    parts = _result_content(block["content"], at, flaws) if "content" in block else ()
    return ToolResult(call, parts, failed, "", "function", at, block, flaws.found is before)


def _result_content(content: Any, at: str, flaws: Flaws) -> tuple[Part, ...]:
    place = f"{at}.content"
    if type(content) is str:
        return (Text(content, place),) if content else ()
    if type(content) is list:
        return tuple(
            [_plain_block(block, f"{place}[{index}]", flaws) for index, block in enumerate(content)]
        )
    if content is None:
        flaws.wrong_type(place, content, "a string or a list of blocks")
        return ()
    return (flaws.text_instead_of(content, place),)


def _server_result(block: Any, at: str, flaws: Flaws) -> ToolResult:
    """Return the result of a server tool; what is not text inside stays as it came."""
    before = flaws.found
    call = read_call_id(block, "tool_use_id", at, flaws)
    content = block.get("content")
    failed = block.get("is_error") is True
    parts: tuple[Part, ...] = ()
    if type(content) is dict:
        kind = content.get("type")
        failed = failed or (type(kind) is str and kind.endswith("_error"))
        parts = (Opaque(kind if type(kind) is str else "block", f"{at}.content", content),)
    elif content is not None:
        parts = _result_content(content, at, flaws)
    return ToolResult(call, parts, failed, "", "server", at, block, flaws.found is before)


def _signature(block: Any, at: str, flaws: Flaws) -> str:
    found = block.get("signature")
    if type(found) is str:
        return found
    if found is not None:
        flaws.wrong_type(f"{at}.signature", found, "a string", mendable=False)
    return ""


def encode(message: Message) -> Any:
    """Return the wire form of one message from its parts."""
    if message.intact and message.wire is not None:
        return message.wire
    role = _WIRE_ROLES.get(message.role)
    if role is None:
        raise CannotEncode("anthropic", "a message of unknown role", position=message.position)
    wire: Any = message.wire if isinstance(message.wire, dict) else {}
    fields = {"role": role, "content": _encode_content(message, wire.get("content"))}
    return merge_fields(wire, fields)


def _encode_content(message: Message, had: Any) -> Any:
    parts = message.parts
    if not parts:
        return [] if isinstance(had, list) else ""
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].wire is None:
        return parts[0].text
    return [_encode_part(part, message.position) for part in parts]


def _encode_part(part: Part, position: int) -> Any:
    if part.wire is not None and part.intact:
        return part.wire
    match part:
        case Text(text=text):
            return merge_fields(part.wire, {"type": "text", "text": text})
        case Media():
            return _encode_media(part, position)
        case ToolCall():
            return _encode_call(part, position)
        case ToolResult():
            return _encode_result(part, position)
        case Thinking():
            return _encode_thinking(part, position)
        case Opaque(wire=dict()):
            return part.wire
        case Opaque(kind=kind):
            raise CannotEncode("anthropic", f"a block of kind {kind!r}", position=position)


def _encode_call(part: ToolCall, position: int) -> Any:
    wire = part.wire
    if wire is None and (part.kind != "function" or part.id.startswith("~")):
        what = "without an id" if part.kind == "function" else f"of kind {part.kind!r}"
        raise CannotEncode("anthropic", f"a call {what}", position=position)
    fields: dict[str, Any] = {
        "type": "tool_use" if wire is None else wire["type"],
        "id": part.id,
        "name": part.name,
        "input": arguments_value(part.arguments, None if wire is None else wire.get("input")),
    }
    return merge_fields(wire, fields)


def _encode_result(part: ToolResult, position: int) -> Any:
    wire = part.wire
    if wire is None and (part.kind != "function" or part.call_id.startswith("~")):
        what = "without an id" if part.kind == "function" else f"of kind {part.kind!r}"
        raise CannotEncode("anthropic", f"a result {what}", position=position)
    old = wire or {}
    fields: dict[str, Any] = {"type": old.get("type", "tool_result"), "tool_use_id": part.call_id}
    content = _encode_result_content(part, old, position)
    if content is not None:
        fields["content"] = content
    if part.kind == "function" and (part.is_error or old.get("is_error") is False):
        fields["is_error"] = part.is_error
    owned = frozenset({"content", "is_error"} if part.kind == "function" else {"content"})
    return merge_fields(wire, fields, owned)


def _encode_result_content(part: ToolResult, old: Payload, position: int) -> Any:
    had = old.get("content")
    if not part.parts:
        return had if had == "" or had == [] else None
    first = part.parts[0]
    if len(part.parts) == 1 and isinstance(first, Text) and first.wire is None:
        return first.text
    if len(part.parts) == 1 and isinstance(first, Opaque) and first.wire is had:
        return had
    return [_encode_part(inner, position) for inner in part.parts]


def _encode_thinking(part: Thinking, position: int) -> Any:
    if part.redacted:
        return merge_fields(part.wire, {"type": "redacted_thinking", "data": part.signature})
    if part.wire is None and not part.signature:
        raise CannotEncode("anthropic", "thinking without a signature", position=position)
    fields: dict[str, Any] = {"type": "thinking", "thinking": part.text}
    if part.signature:
        fields["signature"] = part.signature
    return merge_fields(part.wire, fields)


def decode_system(body: Payload) -> Message | None:
    """Return the system prompt of a request body, None if it has none."""
    wire = body.get("system")
    if wire is None:
        return None
    flaws = Flaws()
    parts = _content(wire, _SYSTEM_BLOCK, "system", flaws, -1)
    return Message("system", parts, wire=wire, flaws=flaws.found)


def encode_system(message: Message) -> Any:
    """Return the `system` field of a request body: text, or blocks if there are more."""
    if message.intact and message.wire is not None:
        return message.wire
    return _encode_content(message, message.wire)


def arrange(messages: Sequence[Message]) -> list[Message]:
    """Return foreign messages as Anthropic turns.

    The results for one assistant message stand in one user message, before the words of a user
    message that follows; thinking is dropped, as no other provider's signature is worth anything
    here; system and developer messages stay in the list, as system messages.
    """
    return turns(messages, keep_thoughts=False, mint_ids=True)


def likeness(items: Sequence[Any], body: Any) -> int:
    """Return how much the data looks like Anthropic messages."""
    score = 4 if _is_request(body) else 2 if _is_probably_own(items, body) else 0
    for item in items[:LOOKED_AT]:
        if type(item) is not dict or "parts" in item:
            continue
        content = item.get("content")
        if type(content) is list and any(_is_own(block) for block in content[:LOOKED_AT]):
            return max(score, 3)
        if "role" in item and "type" not in item:
            score = max(score, 1)
    return score


def _is_probably_own(items: Sequence[Any], body: Any) -> bool:
    """Return whether a body has its system prompt outside, or asks for a model of Anthropic.

    A list that begins with a system message is for a gateway that speaks chat.
    """
    if "messages" not in body:
        return False
    model = body.get("model")
    first = items[0] if items else None
    leads = type(first) is dict and first.get("role") in ("system", "developer")
    return "system" in body or (
        type(model) is str and not leads and _MODEL.match(model.lower()) is not None
    )


def _is_request(body: Any) -> bool:
    if "anthropic_version" in body or ("system" in body and "max_tokens" in body):
        return True
    tools = body.get("tools")
    return type(tools) is list and any(
        type(tool) is dict and "input_schema" in tool for tool in tools[:LOOKED_AT]
    )


def _is_own(block: Any) -> bool:
    if type(block) is not dict:
        return False
    kind = block.get("type")
    if type(kind) is not str:
        return False
    if kind == "image" or kind == "document":
        return type(block.get("source")) is dict
    return kind in _OWN_BLOCKS or kind.endswith(_SERVER_RESULT)


_DATA_KEYS = frozenset({"url", "data", "media_type"})


def _decode_media(kind: Any, block: Any, at: str, flaws: Flaws) -> Media:
    """Return an image or document; one by file id or made of blocks has its wire alone."""
    source = block.get("source")
    if type(source) is not dict:
        flaws.wrong_type(f"{at}.source", source, "an object", mendable=False)
        return Media(kind, at=at, wire=block)
    media_type = source.get("media_type")
    media_type = media_type if type(media_type) is str else ""
    match source:
        case {"type": "base64", "data": str(data)}:
            return Media(kind, media_type, data, "", at, block)
        case {"type": "text", "data": str(text)}:
            data = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
            return Media(kind, media_type or "text/plain", data, "", at, block)
        case {"type": "url", "url": str(url)}:
            return Media(kind, media_type, "", url, at, block)
        case {"type": "base64" | "text" | "url"}:
            flaws.wrong_type(f"{at}.source", source, "a source with its data", mendable=False)
            return Media(kind, media_type, at=at, wire=block)
        case _:
            return Media(kind, media_type, at=at, wire=block)


def _encode_media(part: Media, position: int) -> Any:
    """Return the block of an image or document, or raise `CannotEncode`."""
    if part.wire is None and part.kind not in ("image", "document"):
        raise CannotEncode("anthropic", f"{part.kind} content", position=position)
    had = part.wire.get("source") if part.wire is not None else None
    source = _source(part, position)
    if source is None and had is None:
        raise CannotEncode("anthropic", "media without data or address", position=position)
    if source is None:
        source = had
    elif isinstance(had, dict) and had.get("type") == source["type"]:
        source = merge_fields(had, source, _DATA_KEYS)
    return merge_fields(part.wire, {"type": part.kind, "source": source})


def _source(part: Media, position: int) -> dict[str, Any] | None:
    if part.url:
        return {"type": "url", "url": part.url}
    if part.data and part.kind == "document" and part.media_type.startswith("text/"):
        text = _plain_text(part.data, position)
        return {"type": "text", "media_type": "text/plain", "data": text}
    if part.data:
        usual = "image/png" if part.kind == "image" else "application/pdf"
        return {"type": "base64", "media_type": part.media_type or usual, "data": part.data}
    return None


def _plain_text(data: str, position: int) -> str:
    try:
        return base64.b64decode(data, validate=True).decode("utf-8", "surrogatepass")
    except ValueError:
        raise CannotEncode(
            "anthropic", "a text document that is not UTF-8", position=position
        ) from None


DIALECT = Dialect(
    name="anthropic",
    list_key="messages",
    decode=decode,
    encode=encode,
    arrange=arrange,
    likeness=likeness,
    system_key="system",
    decode_system=decode_system,
    encode_system=encode_system,
)
