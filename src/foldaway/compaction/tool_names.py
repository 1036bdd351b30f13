"""Names of tools that hold a secret, and that a repair would make unrecognisable."""

from __future__ import annotations

import re

from msgspec.structs import replace

from foldaway._core import Redact
from foldaway.transcript import Message, ToolCall, ToolResult, Transcript


def with_safe_names(transcript: Transcript, hide: Redact) -> Transcript:
    """Return the transcript without the secrets in names that no provider takes.

    A model may call a tool by an invalid name (`export TOKEN=…`). A repair puts `_` in place of
    the signs that give such a secret away, so it has to be hidden before. Names that providers
    take stay; a transcript without others comes back as the same object.
    """
    names = {
        part.name
        for message in transcript.messages
        for part in message.parts
        if type(part) is ToolCall
    }
    illegal = [name for name in names if _LEGAL.fullmatch(name) is None]
    hidden = {name: safe for name in illegal if (safe := hide(name)) != name}
    if not hidden:
        return transcript
    return replace(
        transcript, messages=tuple(_renamed(message, hidden) for message in transcript.messages)
    )


def _renamed(message: Message, names: dict[str, str]) -> Message:
    parts = tuple(
        replace(part, name=names[part.name], intact=False)
        if isinstance(part, ToolCall | ToolResult) and part.name in names
        else part
        for part in message.parts
    )
    return message if parts == message.parts else replace(message, parts=parts, intact=False)


_LEGAL = re.compile(r"[A-Za-z0-9_-]*")
