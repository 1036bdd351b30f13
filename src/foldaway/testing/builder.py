"""A compact builder: `talk(user("…"), assistant(call("grep", q="x")), result("…"))`.

Ids are made in order and are the same on every run. The wire forms are written here from the
providers' formats and share no code with the dialects, so that a test of a dialect that uses them
tests something.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from foldaway.errors import UnknownName
from foldaway.transcript import (
    Media,
    MediaKind,
    Message,
    Part,
    Payload,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

P = TypeVar("P", bound=Part)
Step: TypeAlias = Message | ToolResult

_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)


class Talk(Struct, frozen=True):
    """A conversation as a log, and as a wire list of any dialect."""

    messages: tuple[Message, ...]

    def wire(self, dialect: str) -> list[Payload]:
        """Return a new wire list in the named dialect; equal on every call."""
        writer = _WRITERS.get(dialect)
        if writer is None:
            raise UnknownName("dialect", dialect, tuple(_WRITERS))
        return writer(self.messages)


def talk(*steps: Step) -> Talk:
    """Return the conversation of `steps`; consecutive results form one message.

    Calls without an id get `call_1`, `call_2`, … in order; a result without one answers the oldest
    call that has no answer yet. Raises `ValueError` if no call is open.
    """
    messages: list[Message] = []
    pending: deque[str] = deque()
    made = 0
    for step in steps:
        if isinstance(step, ToolResult):
            _add_result(messages, _match_result(step, pending))
            continue
        parts: list[Part] = []
        for part in step.parts:
            if isinstance(part, ToolCall):
                made += 1
                part = part if part.id else replace(part, id=f"call_{made}")
                pending.append(part.id)
            parts.append(part)
        messages.append(replace(step, parts=tuple(parts), position=len(messages)))
    return Talk(tuple(messages))


def system(text: str) -> Message:
    """Return a system message."""
    return _message("system", (text,))


def user(*content: str | Media) -> Message:
    """Return a user message of texts and media."""
    return _message("user", content)


def assistant(*content: str | Media | ToolCall | Thinking) -> Message:
    """Return an assistant message of texts, thinking and calls; several calls are parallel."""
    return _message("assistant", content)


def call(name: str, /, *, call_id: str = "", **arguments: Any) -> ToolCall:
    """Return a call of a tool; its id is made by `talk` unless given."""
    return ToolCall(call_id, name, json.dumps(arguments, ensure_ascii=False))


def result(*content: str | Media, of: str = "", is_error: bool = False) -> ToolResult:
    """Return a tool result; it answers the oldest open call unless `of` names one."""
    return ToolResult(of, _parts(content), is_error)


def think(text: str, *, signature: str = "", redacted: bool = False) -> Thinking:
    """Return reasoning, signed where `signature` is given."""
    return Thinking(text, signature, redacted)


def media(
    kind: MediaKind = "image", *, url: str = "", data: str = "", media_type: str = ""
) -> Media:
    """Return a media part; without `url` or `data` it is one inline pixel."""
    if url or data:
        return Media(kind, media_type, data, url)
    return Media(kind, media_type or "image/png", _PIXEL)


def _message(role: Role, content: tuple[str | Part, ...]) -> Message:
    return Message(role, _parts(content))


def _parts(content: tuple[str | Part, ...]) -> tuple[Part, ...]:
    return tuple(Text(part) if isinstance(part, str) else part for part in content)


def _match_result(step: ToolResult, pending: deque[str]) -> ToolResult:
    if step.call_id:
        if step.call_id in pending:
            pending.remove(step.call_id)
        return step
    if not pending:
        raise ValueError("a result, but no call is open; name the call with of=")
    return replace(step, call_id=pending.popleft())


def _add_result(messages: list[Message], found: ToolResult) -> None:
    if messages and messages[-1].role == "tool":
        messages[-1] = replace(messages[-1], parts=(*messages[-1].parts, found))
    else:
        messages.append(Message("tool", (found,), len(messages)))


def _write_chat(messages: Sequence[Message]) -> list[Payload]:
    """Return chat messages; an assistant's thinking is its `reasoning_content`."""
    wire: list[Payload] = []
    for message in messages:
        if message.role == "tool":
            wire.extend(
                {"role": "tool", "tool_call_id": part.call_id, "content": _chat(part.parts) or ""}
                for part in _parts_of(message.parts, ToolResult)
            )
            continue
        made: Payload = {"role": message.role, "content": _chat(message.parts)}
        calls = _parts_of(message.parts, ToolCall)
        if calls:
            made["tool_calls"] = [
                {
                    "id": part.id,
                    "type": "function",
                    "function": {"name": part.name, "arguments": part.arguments},
                }
                for part in calls
            ]
        thoughts = "\n".join(part.text for part in _parts_of(message.parts, Thinking))
        if thoughts:
            made["reasoning_content"] = thoughts
        wire.append(made)
    return wire


def _chat(parts: Sequence[Part]) -> Any:
    blocks: list[Payload] = []
    for part in parts:
        match part:
            case Text():
                blocks.append({"type": "text", "text": part.text})
            case Media(kind="image"):
                blocks.append({"type": "image_url", "image_url": {"url": _url(part)}})
            case Media(kind="audio"):
                audio = {"data": part.data, "format": part.media_type.partition("/")[2] or "wav"}
                blocks.append({"type": "input_audio", "input_audio": audio})
            case Media():
                blocks.append({"type": "file", "file": {"file_data": _url(part)}})
            case _:
                pass
    return _plain(blocks) if blocks else None


def _write_responses(messages: Sequence[Message]) -> list[Payload]:
    """Return input items: one for each call, result, thought and run of words."""
    wire: list[Payload] = []
    for message in messages:
        words = [part for part in message.parts if isinstance(part, (Text, Media))]
        for thought in _parts_of(message.parts, Thinking):
            wire.append(_reasoning(thought, len(wire)))
        if words:
            speaker = "output" if message.role == "assistant" else "input"
            content = [_input_block(part, speaker) for part in words]
            wire.append({"type": "message", "role": message.role, "content": content})
        for part in message.parts:
            if isinstance(part, ToolCall):
                wire.append(
                    {
                        "type": "function_call",
                        "call_id": part.id,
                        "name": part.name,
                        "arguments": part.arguments,
                    }
                )
            elif isinstance(part, ToolResult):
                wire.append(
                    {
                        "type": "function_call_output",
                        "call_id": part.call_id,
                        "output": _output(part),
                    }
                )
    return wire


def _reasoning(thought: Thinking, number: int) -> Payload:
    summary = [{"type": "summary_text", "text": thought.text}] if thought.text else []
    item: Payload = {"type": "reasoning", "id": f"rs_{number}", "summary": summary}
    return {**item, "encrypted_content": thought.signature} if thought.signature else item


def _output(part: ToolResult) -> Any:
    if all(isinstance(inner, Text) for inner in part.parts):
        return "\n".join(inner.text for inner in _parts_of(part.parts, Text))
    return [_input_block(inner, "input") for inner in part.parts]


def _input_block(part: Part, speaker: str) -> Payload:
    match part:
        case Text():
            return {"type": f"{speaker}_text", "text": part.text}
        case Media(kind="image"):
            return {"type": "input_image", "image_url": _url(part)}
        case Media():
            return {"type": "input_file", "filename": "file", "file_data": _url(part)}
        case _:
            raise ValueError(f"no place for a {type(part).__name__} in a Responses message")


def _write_anthropic(messages: Sequence[Message]) -> list[Payload]:
    """Return Anthropic messages; a user message after results joins them."""
    wire: list[Payload] = []
    for message in messages:
        role = "user" if message.role == "tool" else message.role
        blocks = [_anthropic_block(part) for part in message.parts]
        if message.role == "user" and wire and _ends_with_results(wire[-1]):
            wire[-1]["content"].extend(blocks)
        else:
            wire.append({"role": role, "content": blocks if role != "system" else _plain(blocks)})
    return wire


def _ends_with_results(wire: Payload) -> bool:
    return wire["role"] == "user" and wire["content"][-1]["type"] == "tool_result"


def _anthropic_block(part: Part) -> Payload:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking(redacted=True):
            return {"type": "redacted_thinking", "data": part.signature}
        case Thinking():
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case ToolCall():
            return {
                "type": "tool_use",
                "id": part.id,
                "name": part.name,
                "input": json.loads(part.arguments),
            }
        case ToolResult():
            made: Payload = {"type": "tool_result", "tool_use_id": part.call_id}
            made["content"] = _plain([_anthropic_block(inner) for inner in part.parts])
            return {**made, "is_error": True} if part.is_error else made
        case Media():
            source = (
                {"type": "url", "url": part.url}
                if part.url
                else {"type": "base64", "media_type": part.media_type, "data": part.data}
            )
            return {"type": "image" if part.kind == "image" else "document", "source": source}
        case _:
            raise ValueError(f"no place for a {type(part).__name__} in an Anthropic message")


def _write_gemini(messages: Sequence[Message]) -> list[Payload]:
    """Return Gemini contents; a thinking's signature stands on the first call after it."""
    names = {
        part.id: part.name for message in messages for part in _parts_of(message.parts, ToolCall)
    }
    return [
        {
            "role": "model" if message.role == "assistant" else "user",
            "parts": _gemini_parts(message, names),
        }
        for message in messages
    ]


def _gemini_parts(message: Message, names: Mapping[str, str]) -> list[Payload]:
    signature = ""
    made: list[Payload] = []
    for part in message.parts:
        match part:
            case Thinking():
                signature = part.signature
                made.extend([{"text": part.text, "thought": True}] if part.text else [])
            case ToolCall():
                call = {"name": part.name, "args": json.loads(part.arguments)}
                signed = {"thoughtSignature": signature} if signature else {}
                made.append({"functionCall": call, **signed})
                signature = ""
            case ToolResult():
                key = "error" if part.is_error else "output"
                response = {key: "\n".join(inner.text for inner in _parts_of(part.parts, Text))}
                name = names.get(part.call_id, "unknown")
                made.append({"functionResponse": {"name": name, "response": response}})
            case Text():
                made.append({"text": part.text})
            case Media(url=""):
                made.append({"inlineData": {"mimeType": part.media_type, "data": part.data}})
            case Media():
                made.append({"fileData": {"mimeType": part.media_type, "fileUri": part.url}})
            case _:
                raise ValueError(f"no place for a {type(part).__name__} in Gemini contents")
    return made


_SPEAKERS = {"system": "system", "user": "human", "assistant": "gpt", "tool": "tool"}


def _write_sharegpt(messages: Sequence[Message]) -> list[Payload]:
    """Return turns of `from` and `value`; media have no form and raise `ValueError`."""
    return [
        {"from": _SPEAKERS[message.role], "value": "\n".join(map(_tag, message.parts))}
        for message in messages
    ]


def _tag(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case Thinking():
            return f"<think>\n{part.text}\n</think>"
        case ToolCall():
            value = {"name": part.name, "arguments": json.loads(part.arguments)}
            return f"<tool_call>\n{json.dumps(value, ensure_ascii=False)}\n</tool_call>"
        case ToolResult():
            inner = "\n".join(text.text for text in _parts_of(part.parts, Text))
            return f"<tool_response>\n{inner}\n</tool_response>"
        case _:
            raise ValueError(f"no place for a {type(part).__name__} in ShareGPT")


def _parts_of(parts: Sequence[Part], kind: type[P]) -> list[P]:
    return [part for part in parts if isinstance(part, kind)]


def _plain(blocks: list[Payload]) -> Any:
    """Return the text alone if there is nothing else."""
    if not blocks:
        return ""
    only = len(blocks) == 1 and blocks[0].get("type") == "text"
    return blocks[0]["text"] if only else blocks


def _url(part: Media) -> str:
    return part.url or f"data:{part.media_type};base64,{part.data}"


_WRITERS: Mapping[str, Callable[[Sequence[Message]], list[Payload]]] = {
    "openai-chat": _write_chat,
    "openai-responses": _write_responses,
    "anthropic": _write_anthropic,
    "gemini": _write_gemini,
    "sharegpt": _write_sharegpt,
}
