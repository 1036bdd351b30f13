"""Messages of Pi, and of OpenClaw, which is built on it."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.agents.importers import block_of, elements, fields, message_of, text, usage_of
from foldaway.transcript import Payload

_NOT_SENT = frozenset({"error", "aborted"})
"""How answers end that Pi does not send again."""


class PiForm:
    """A role and content; a result is a message of its own."""

    def messages_of(self, own: Payload) -> list[Payload]:
        """Return a message in Anthropic's form; none if Pi does not send it."""
        if own.get("role") == "assistant" and text(own.get("stopReason")) in _NOT_SENT:
            return []
        found = message_of(own)
        return [found] if found["content"] else []

    def built(
        self, messages: Sequence[Payload], own: Payload | None, listed: Sequence[Payload]
    ) -> list[Payload]:
        """Return messages as Pi writes them."""
        return [made for one in messages for made in _build(one, own or {}, listed)]

    def usage_of(self, own: Payload) -> Payload | None:
        """Return what the provider counted for an answer."""
        return usage_figures(own.get("usage")) if own.get("role") == "assistant" else None


def _build(message: Payload, own: Payload, listed: Sequence[Payload]) -> list[Payload]:
    blocks = blocks_in(message)
    time = own.get("timestamp", 0)
    if message.get("role") == "assistant":
        like = own if own.get("role") == "assistant" else _last_answer(listed)
        return [{**like, "role": "assistant", "content": _content(blocks, own)}]
    found = [_result(block, own, listed) for block in blocks if block.get("type") == "tool_result"]
    rest = [block for block in blocks if block.get("type") != "tool_result"]
    if rest:
        found.append({"role": "user", "content": _content(rest, own), "timestamp": time})
    return found


def blocks_in(message: Payload) -> list[Payload]:
    """Return the blocks of a message of Anthropic's form."""
    content = message.get("content")
    if type(content) is str:
        return [{"type": "text", "text": content}]
    return [fields(block) for block in elements(content)]


def _last_answer(listed: Sequence[Payload]) -> Payload:
    return next((one for one in reversed(listed) if one.get("role") == "assistant"), {})


def _result(block: Payload, own: Payload, listed: Sequence[Payload]) -> Payload:
    call_id, content = text(block.get("tool_use_id")), _content(blocks_in(block), own)
    if text(own.get("toolCallId")) == call_id:
        return {**own, "content": content}
    return {
        "role": "toolResult", "toolCallId": call_id, "toolName": _name_of(call_id, listed),
        "content": content, "isError": block.get("is_error") is True,
        "timestamp": own.get("timestamp", 0),
    }  # fmt: skip


def _name_of(call_id: str, listed: Sequence[Payload]) -> str:
    for message in reversed(listed):
        if text(message.get("toolCallId")) == call_id:
            return text(message.get("toolName"))
    return ""


def _content(blocks: Sequence[Payload], own: Payload) -> list[Any]:
    """Return blocks as Pi writes them; those that its own message has are its own."""
    held = [fields(block) for block in elements(own.get("content"))]
    return [made for block in blocks for made in _block(block, held)]


def _block(block: Payload, held: Sequence[Payload]) -> list[Payload]:
    for one in held:
        if block_of(one) == [block]:
            return [one]
    match block.get("type"):
        case "text":
            return [{"type": "text", "text": block.get("text")}]
        case "thinking":
            return [{"type": "thinking", "thinking": block.get("thinking"),
                     "thinkingSignature": block.get("signature")}]  # fmt: skip
        case "image":
            source = fields(block.get("source"))
            return [{"type": "image", "data": source.get("data"),
                     "mimeType": source.get("media_type")}]  # fmt: skip
        case "tool_use":
            own = next((one for one in held if one.get("id") == block.get("id")), {})
            return [{**own, "type": "toolCall", "id": block.get("id"), "name": block.get("name"),
                     "arguments": block.get("input")}]  # fmt: skip
        case _:
            return []


def usage_figures(report: Any) -> Payload | None:
    """Return a report of Pi or OpenCode under Anthropic's names, None if it has no figures."""
    found = usage_of(report, cached_apart=True)
    if found is None:
        return None
    cached = found.cache_read_tokens + found.cache_write_tokens
    return {
        "input_tokens": found.input_tokens - cached, "output_tokens": found.output_tokens,
        "cache_read_input_tokens": found.cache_read_tokens,
        "cache_creation_input_tokens": found.cache_write_tokens,
    }  # fmt: skip
