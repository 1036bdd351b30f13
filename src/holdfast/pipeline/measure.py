"""The tokens of messages and tool definitions, by one counter, each message once."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.ports import TokenCounter
from holdfast.tokens.estimate import (
    IMAGE_TOKENS,
    MESSAGE_OVERHEAD_TOKENS,
    TOOL_CALL_OVERHEAD_TOKENS,
    estimate_text,
)
from holdfast.transcript import (
    Media,
    Message,
    Opaque,
    Part,
    Payload,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

_SEALED_CHARS_PER_TOKEN = 5.4
"""Base64 of encrypted reasoning: 4 characters hold 3 bytes, and a token is about 4 bytes."""


class Estimator:
    """The default counter: our own estimate, no vocabulary needed."""

    name = "estimate"
    is_estimate = True

    def count(self, text: str) -> int:
        """Return the estimated tokens of `text`."""
        return estimate_text(text)


def message_tokens(message: Message, counter: TokenCounter) -> int:
    """Return the tokens of one message with its envelope. Media count flat, never by their data."""
    total = MESSAGE_OVERHEAD_TOKENS
    count = counter.count
    for part in message.parts:
        total += count(part.text) if isinstance(part, Text) else _part_tokens(part, counter)
    return total


def _part_tokens(part: Part, counter: TokenCounter) -> int:
    match part:
        case Text(text=text):
            return counter.count(text)
        case ToolCall(name=name, arguments=arguments):
            return TOOL_CALL_OVERHEAD_TOKENS + counter.count(name) + counter.count(arguments)
        case ToolResult(parts=parts):
            return sum(_part_tokens(inner, counter) for inner in parts)
        case Thinking(text=text, signature=signature, redacted=redacted):
            sealed = len(signature) if redacted or not text else 0
            return counter.count(text) + int(sealed / _SEALED_CHARS_PER_TOKEN)
        case Media():
            return IMAGE_TOKENS
        case Opaque(wire=wire):
            return counter.count(_as_text(wire))


def messages_tokens(messages: Sequence[Message], counter: TokenCounter) -> list[int]:
    """Return the tokens of each message."""
    return [message_tokens(message, counter) for message in messages]


def tools_tokens(tools: Sequence[Payload], counter: TokenCounter) -> int:
    """Return the tokens of the tool definitions."""
    return counter.count(_as_text(list(tools))) if tools else 0


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return repr(value)
