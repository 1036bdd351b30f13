"""OpenAI Responses: `{"instructions", "input": [items]}`; every item is one message."""

# Wire values are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from foldaway.dialects.dialect import LOOKED_AT, Dialect, Places, merge_fields
from foldaway.dialects.responses_hosted import (
    HOSTED_CALLS,
    HOSTED_RESULTS,
    decode_hosted_call,
    decode_hosted_result,
    encode_hosted_call,
    encode_hosted_result,
)
from foldaway.dialects.shape import (
    Flaws,
    call_id,
    call_name,
    data_url,
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
    Payload,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

_NAME = "openai-responses"
_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
}
_CONTENT = Places("content")
_OUTPUT = Places("output")
_TEXTS = frozenset({"input_text", "output_text", "text"})
_Found: TypeAlias = tuple[Role, Part]


def decode(items: Sequence[Any], start: int = 0) -> tuple[Message, ...]:
    """Return the messages of an input list, one for each item."""
    return tuple([_item(wire, at) for at, wire in enumerate(items, start)])


def _item(wire: Any, position: int) -> Message:
    if type(wire) is not dict:
        return not_a_message(wire, position)
    flaws = Flaws(wire)
    kind = wire.get("type")
    own_id = wire.get("id")
    if kind == "message" or kind is None or type(kind) is not str:
        role, parts = _message(wire, kind, flaws)
    else:
        read = _READERS.get(kind)
        if read is None:
            role, parts = "assistant", (Opaque(kind, "", wire),)
        else:
            role, part = read(wire, flaws, position)
            parts = (replace(part, intact=False) if flaws.found else part,)
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


def _message(wire: Payload, kind: Any, flaws: Flaws) -> tuple[Role, tuple[Part, ...]]:
    if kind is None and "role" not in wire and type(wire.get("id")) is str:
        return "assistant", (Opaque("item_reference", "", wire),)
    if kind is not None and kind != "message":
        flaws.wrong_type("type", kind, "a string", mendable="role" in wire)
    name = wire.get("role")
    role = _ROLES.get(name) if type(name) is str else None
    if role is None:
        role = flaws.role(wire, _ROLES)
    content = wire.get("content")
    if type(content) is str:
        if content:
            return role, (Text(content, "content"),)
        parts = ()
    else:
        parts = _content(content, "content", flaws)
    if not parts:
        flaws.empty("content")
    return role, parts


def _function_call(wire: Payload, flaws: Flaws, position: int) -> _Found:
    arguments = wire.get("arguments")
    if type(arguments) is not str:
        arguments = flaws.arguments(arguments, "arguments")
    call = ToolCall(
        call_id(wire, "call_id", "", flaws, position),
        call_name(wire, "", flaws),
        arguments,
        "function",
        "",
        "",
        wire,
    )
    return "assistant", call


def _custom_call(wire: Payload, flaws: Flaws, position: int) -> _Found:
    given = text_of(wire, "input", "", flaws) if "input" in wire else ""
    call = ToolCall(
        call_id(wire, "call_id", "", flaws, position),
        call_name(wire, "", flaws),
        given,
        "custom",
        "",
        "",
        wire,
    )
    return "assistant", call


def _function_result(wire: Payload, flaws: Flaws, position: int) -> _Found:
    del position
    return "tool", _result(wire, flaws, "function")


def _custom_result(wire: Payload, flaws: Flaws, position: int) -> _Found:
    del position
    return "tool", _result(wire, flaws, "custom")


def _result(wire: Payload, flaws: Flaws, kind: Any) -> ToolResult:
    call = read_call_id(wire, "call_id", "", flaws)
    output = wire.get("output")
    if type(output) is str:
        parts = (Text(output, "output"),) if output else ()
    else:
        parts = _content(output, "output", flaws)
    return ToolResult(call, parts, False, "", kind, "", wire)


def _content(content: Any, at: str, flaws: Flaws) -> tuple[Part, ...]:
    """Return the parts of content that is not a string; `at` is `content` or `output`."""
    if content is None:
        return ()
    if type(content) is not list:
        return (flaws.text_instead_of(content, at),)
    place = _CONTENT if at == "content" else _OUTPUT
    blocks: list[Any] = content
    return tuple([_block(block, place[index], flaws) for index, block in enumerate(blocks)])


def _block(block: Any, at: str, flaws: Flaws) -> Part:
    if type(block) is not dict:
        return flaws.text_instead_of(block, at)
    wire: Payload = block
    kind = wire.get("type")
    if type(kind) is not str:
        return Opaque("block", at, wire)
    if kind in _TEXTS:
        text = wire.get("text")
        if is_chat := kind == "text":
            flaws.block_type(kind, at, "input_text or output_text")
        words = text if type(text) is str else text_of(wire, "text", at, flaws)
        return Text(words, at, wire, not is_chat)
    if kind == "input_image":
        return read_media("image", wire.get("image_url"), at, wire, wire.get("file_data"))
    if kind == "input_file":
        data = wire.get("file_data")
        return read_media("document", data or wire.get("file_url"), at, wire, data)
    return Opaque(kind, at, wire)


def _reasoning(wire: Payload, flaws: Flaws, position: int) -> _Found:
    del flaws, position
    text = _join_texts(wire.get("summary")) or _join_texts(wire.get("content"))
    sealed = wire.get("encrypted_content")
    sealed = sealed if type(sealed) is str else ""
    return "assistant", Thinking(text, sealed, bool(sealed) and not text, "", wire)


def _join_texts(pieces: Any) -> str:
    if type(pieces) is not list:
        return ""
    found = [
        piece["text"] for piece in pieces if type(piece) is dict and type(piece.get("text")) is str
    ]
    return "\n\n".join(found)


_READERS: dict[str, Callable[[Payload, Flaws, int], _Found]] = {
    "function_call": _function_call,
    "function_call_output": _function_result,
    "custom_tool_call": _custom_call,
    "custom_tool_call_output": _custom_result,
    "reasoning": _reasoning,
    **dict.fromkeys(HOSTED_CALLS, decode_hosted_call),
    **dict.fromkeys(HOSTED_RESULTS, decode_hosted_result),
}


def encode(message: Message) -> Any:
    """Return the wire form of one item from its parts."""
    if message.intact and message.wire is not None:
        return message.wire
    if message.role == "unknown":
        if message.intact and message.parts == (Opaque("element"),):
            return None
        raise CannotEncode(_NAME, "an item of unknown role", position=message.position)
    if len(message.parts) == 1:
        item = _encode_item(message.parts[0])
        if item is not None:
            return item
    for part in message.parts:
        if not isinstance(part, (Text, Media, Opaque)):
            raise CannotEncode(
                _NAME,
                f"a {type(part).__name__} beside other parts in one item",
                position=message.position,
            )
    if message.role == "tool":
        raise CannotEncode(_NAME, "a tool message without a result", position=message.position)
    return _encode_message(message)


def _encode_item(part: Part) -> Any:
    """Return the item that a part is by itself; None for parts of a message item."""
    match part:
        case Text() | Media():
            return None
        case Opaque():
            is_item = part.at == "" and isinstance(part.wire, dict)
            return part.wire if is_item else None
        case _ if part.wire is not None and part.intact:
            return part.wire
        case ToolCall(kind="function"):
            fields = {
                "type": "function_call",
                "call_id": part.id,
                "name": part.name,
                "arguments": part.arguments,
            }
            return merge_fields(part.wire, fields)
        case ToolCall(kind="custom"):
            fields = {
                "type": "custom_tool_call",
                "call_id": part.id,
                "name": part.name,
                "input": part.arguments,
            }
            return merge_fields(part.wire, fields)
        case ToolCall():
            return encode_hosted_call(part)
        case ToolResult(kind="function" | "custom"):
            return _encode_result(part)
        case ToolResult():
            return encode_hosted_result(part)
        case Thinking():
            return _encode_reasoning(part)


def _encode_result(part: ToolResult) -> Any:
    kind = "custom_tool_call_output" if part.kind == "custom" else "function_call_output"
    had = part.wire.get("output") if part.wire is not None else ""
    output = _encode_content(part.parts, "user", had)
    fields = {"type": kind, "call_id": part.call_id, "output": "" if output is None else output}
    return merge_fields(part.wire, fields)


def _encode_reasoning(part: Thinking) -> Any:
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    fields: dict[str, Any] = {"type": "reasoning", "summary": summary}
    if part.signature:
        fields["encrypted_content"] = part.signature
    return merge_fields(part.wire, fields, frozenset({"content", "encrypted_content"}))


def _encode_message(message: Message) -> Any:
    wire: Any = message.wire if isinstance(message.wire, dict) else None
    fields: dict[str, Any] = {"type": "message", "role": message.role}
    if wire is not None and wire.get("type") is None:
        if "type" in wire:
            fields["type"] = None
        else:
            del fields["type"]
    had = None if wire is None else wire.get("content")
    content = _encode_content(message.parts, message.role, had)
    fields["content"] = "" if content is None else content
    return merge_fields(wire, fields)


def _encode_content(parts: Sequence[Part], role: Role, had: Any) -> Any:
    """Return parts as content: a string if one text came as one, otherwise blocks.

    If there are none it is what it `had`, if that was empty, and None otherwise.
    """
    if not parts:
        return had if had in ("", []) else None
    if len(parts) == 1 and isinstance(parts[0], Text) and parts[0].wire is None:
        return parts[0].text
    kind = "output_text" if role == "assistant" else "input_text"
    return [_encode_block(part, kind) for part in parts]


def _encode_block(part: Part, text_kind: str) -> Any:
    if part.wire is not None and part.intact:
        return part.wire
    match part:
        case Text(text=text):
            given = text_kind if part.wire is None else part.wire.get("type", text_kind)
            kind = text_kind if given == "text" else given
            return merge_fields(part.wire, {"type": kind, "text": text})
        case Media(kind="image"):
            fields = {"type": "input_image", "image_url": data_url(part)}
            return merge_fields(part.wire, fields, frozenset({"file_id"}))
        case Media(kind="document"):
            key = "file_url" if part.url else "file_data"
            fields = {"type": "input_file", key: data_url(part)}
            return merge_fields(part.wire, fields, frozenset({"file_id", "file_url", "file_data"}))
        case _:
            raise CannotEncode("openai-responses", f"a {_describe(part)} in content")


def _describe(part: Part) -> str:
    return f"{part.kind} part" if isinstance(part, (Media, Opaque)) else type(part).__name__


def decode_system(body: Payload) -> Message | None:
    """Return the instructions of a request as a system message; None if there are none."""
    given = body.get("instructions")
    if given is None:
        return None
    flaws = Flaws()
    part = Text(given, "") if type(given) is str else flaws.text_instead_of(given, "")
    parts = (part,) if part.text else ()
    return Message("system", parts, -1, "", "real", given, True, flaws.found)


def encode_system(message: Message) -> Any:
    """Return the instructions of a request, one text."""
    if message.intact and message.wire is not None:
        return message.wire
    return "\n\n".join(part.text for part in message.parts if isinstance(part, Text))


def arrange(messages: Sequence[Message]) -> list[Message]:
    """Return foreign messages as items: neighbouring words and media in one, the rest alone.

    The order of parts is kept. Thinking and opaque parts of others have no form here.
    """
    out: list[Message] = []
    for message in messages:
        speaks: Role = "user" if message.role in ("tool", "unknown") else message.role
        words: list[Part] = []
        for part in message.parts:
            if isinstance(part, (Text, Media)):
                words.append(part)
            elif isinstance(part, (ToolCall, ToolResult)):
                _flush(words, speaks, message, out)
                role: Role = "assistant" if isinstance(part, ToolCall) else "tool"
                out.append(Message(role, (part,), message.position, origin=message.origin))
        _flush(words, speaks, message, out)
    return out


def _flush(words: list[Part], role: Role, message: Message, out: list[Message]) -> None:
    if words:
        out.append(Message(role, tuple(words), message.position, origin=message.origin))
        words.clear()


_MARKS = frozenset(_READERS) | {
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "compaction",
    "compaction_summary",
    "item_reference",
}
_BLOCK_MARKS = frozenset({"input_text", "output_text", "input_image", "input_file"})


def likeness(items: Sequence[Any], body: Payload) -> int:
    """Return how much the data looks like a list of input items."""
    given = body.get("input")
    score = 2 if given is items or (type(given) is str and "messages" not in body) else 0
    for item in items[:LOOKED_AT]:
        if type(item) is not dict:
            continue
        kind = item.get("type")
        if type(kind) is str and kind in _MARKS:
            return 4
        if "role" not in item:
            continue
        if kind == "message" or _has_marked_block(item.get("content")):
            score = 3 if "messages" not in body or "model" not in body else score
    return score


def _has_marked_block(content: Any) -> bool:
    if type(content) is not list or not content:
        return False
    first: Any = content[0]
    kind = first.get("type") if type(first) is dict else None
    return type(kind) is str and kind in _BLOCK_MARKS


DIALECT = Dialect(
    name=_NAME,
    list_key="input",
    decode=decode,
    encode=encode,
    arrange=arrange,
    likeness=likeness,
    system_key="instructions",
    decode_system=decode_system,
    encode_system=encode_system,
)
