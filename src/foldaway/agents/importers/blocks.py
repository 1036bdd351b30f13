"""Messages as Anthropic writes them: the form for agents whose own has the same parts.

Text, thinking with its signature, media also in results, calls and results with their error flag:
no other dialect has all of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldaway.agents.importers.files import elements, fields
from foldaway.dialects import dump_text
from foldaway.transcript import Payload

_DOCUMENT = "application/pdf"


def message(role: str, blocks: Sequence[Payload]) -> Payload:
    """Return a message of a user or an assistant."""
    return {"role": role, "content": list(blocks)}


def words(text: str) -> list[Payload]:
    """Return the text as a block; an empty list if it has no words."""
    return [{"type": "text", "text": text}] if text.strip() else []


def thought(text: str, signature: str = "") -> list[Payload]:
    """Return a thinking block; an empty list if it has no text and no signature."""
    if not text.strip() and not signature:
        return []
    return [{"type": "thinking", "thinking": text, "signature": signature}]


def call(call_id: str, name: str, arguments: Any) -> Payload:
    """Return a call; arguments that are not an object become its `input`."""
    if not isinstance(arguments, dict):
        arguments = {"input": arguments} if arguments else {}
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, blocks: Sequence[Payload], *, failed: bool = False) -> Payload:
    """Return what a tool answered."""
    found: Payload = {"type": "tool_result", "tool_use_id": call_id, "content": list(blocks)}
    return {**found, "is_error": True} if failed else found


def media(data: str, media_type: str) -> list[Payload]:
    """Return an inline image or PDF as base64; an empty list if it is something else."""
    kind = "image" if media_type.startswith("image/") else "document"
    if not data or (kind == "document" and media_type != _DOCUMENT):
        return []
    source = {"type": "base64", "media_type": media_type, "data": data}
    return [{"type": kind, "source": source}]


def media_at(url: str, media_type: str = "image/") -> list[Payload]:
    """Return media by their URL, `data:` URLs inline; an empty list if not an image or a PDF."""
    if url.startswith("data:"):
        head, _, data = url[5:].partition(";base64,")
        return media(data, head)
    kind = "image" if media_type.startswith("image/") else "document"
    if not url.startswith(("http://", "https://")):
        return []
    return [{"type": kind, "source": {"type": "url", "url": url}}]


def chat_call(call_id: str, name: str, arguments: Any) -> Payload:
    """Return a call as OpenAI's chat messages have it; arguments become a JSON text."""
    written = arguments if type(arguments) is str else dump_text(arguments or {})
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": written}}


def content_of(message: Payload) -> list[Payload]:
    """Return the blocks of a message of Anthropic's form."""
    content = message.get("content")
    if type(content) is str:
        return [{"type": "text", "text": content}]
    return [fields(block) for block in elements(content)]
