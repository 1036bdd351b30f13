"""Messages without the payloads that they came from, to be written in another dialect."""

from __future__ import annotations

from holdfast.transcript.message import (
    Media,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)


def bare_message(message: Message) -> Message:
    """Return the message with bare parts and no payload; role, position, id and origin stay."""
    parts = tuple(bare(part) for part in message.parts)
    return Message(message.role, parts, message.position, message.id, message.origin)


def bare(part: Part) -> Part:
    """Return the part without payload and place: what any dialect can read of it.

    An `Opaque` is its payload; it keeps nothing but its kind.
    """
    match part:
        case Text(text=text):
            return Text(text)
        case Media(kind=kind, media_type=media_type, data=data, url=url):
            return Media(kind, media_type, data, url)
        case ToolCall():
            return ToolCall(part.id, part.name, part.arguments, part.kind, part.signature)
        case ToolResult():
            inner = tuple(bare(piece) for piece in part.parts)
            return ToolResult(part.call_id, inner, part.is_error, part.name, part.kind)
        case Thinking(text=text, signature=signature, redacted=redacted):
            return Thinking(text, signature, redacted)
        case Opaque(kind=kind):
            return Opaque(kind)
