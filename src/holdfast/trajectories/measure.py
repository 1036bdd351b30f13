"""What the turns of a record cost as training text."""

from __future__ import annotations

from typing import Any

from holdfast.compaction.measure import message_tokens, text_length, tools_tokens
from holdfast.dialects.jsontext import dump_text
from holdfast.ports import TokenCounter
from holdfast.tokens import MESSAGE_OVERHEAD_TOKENS
from holdfast.transcript import Message, Text, ToolResult, Transcript

SHAREGPT = "sharegpt"


def turn_tokens(message: Message, dialect: str, counter: TokenCounter) -> int:
    """Return the tokens of one turn with its envelope.

    A ShareGPT turn costs what its text costs, tags and all: that is what is trained on.
    """
    value = _value(message, dialect)
    if value is not None:
        return MESSAGE_OVERHEAD_TOKENS + counter.count(value)
    return message_tokens(message, counter)


def turn_chars(message: Message, dialect: str) -> int:
    """Return the characters of one turn: what is known of its size without counting."""
    value = _value(message, dialect)
    return text_length(message) if value is None else len(value)


def turn_text(message: Message, dialect: str) -> str | None:
    """Return the text whose tokens, with the envelope, are those of the turn; None where there is
    no single one.
    """
    value = _value(message, dialect)
    if value is not None:
        return value
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is ToolResult:
        parts = parts[0].parts
    return parts[0].text if len(parts) == 1 and type(parts[0]) is Text else None


def _value(message: Message, dialect: str) -> str | None:
    """Return the text of a ShareGPT turn as it was given."""
    if dialect != SHAREGPT or not message.intact or not _is_object(message.wire):
        return None
    value = message.wire.get("value")
    return value if isinstance(value, str) else None


def outside_tokens(transcript: Transcript, counter: TokenCounter) -> int:
    """Return the tokens of the system prompt and tools that stand beside the turns."""
    if transcript.dialect == SHAREGPT:
        body = transcript.frame.body or {}
        return sum(_field_tokens(body.get(name), counter) for name in ("system", "tools"))
    system = message_tokens(transcript.system, counter) if transcript.system else 0
    return system + tools_tokens(transcript.tools, counter)


def _field_tokens(value: Any, counter: TokenCounter) -> int:
    if not value:
        return 0
    return counter.count(value if isinstance(value, str) else dump_text(value))


def _is_object(wire: Any) -> bool:
    return isinstance(wire, dict)
