"""Whose conversation a request belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, cast

from msgspec import Raw

from foldaway.dialects.jsontext import parse
from foldaway.dialects.registry import dialect_named
from foldaway.errors import NotReadable
from foldaway.gateway.wires import Wire
from foldaway.sessions.matching import digest

OWN_HEADER = "x-foldaway-session"

_HEADERS = (
    OWN_HEADER,
    "x-claude-code-session-id",
    "thread-id",  # Codex: its session-id covers subagents too
    "session-id",
    "session_id",
    "x-session-id",
    "x-session-affinity",
    "agent-session-id",
)
"""Headers that name a conversation, the most telling first. A cache key or a request id does not:
the one is shared by conversations, the other is new each time."""

_AGENTS = (
    ("claude-cli", "claude-code"), ("claude-code", "claude-code"), ("codex", "codex"),
    ("opencode", "opencode"), ("goose", "goose"), ("geminicli", "gemini-cli"),
    ("qwencode", "qwen-code"), ("copilot", "copilot"), ("cline", "cline"), ("hermes", "hermes"),
    ("aider", "aider"),
)  # fmt: skip
_MOST_CHARS = 200
"""Of an id; longer ones are no ids, and a store keeps no longer ones."""


def named_by_client(headers: Mapping[str, str], frame: Mapping[str, Any]) -> str:
    """Return the name that a client gives its conversation, "" if it gives none."""
    for header in _HEADERS:
        if 0 < len(name := headers.get(header, "")) <= _MOST_CHARS:
            return name
    metadata = frame.get("metadata")
    if isinstance(metadata, dict):
        return _in_user_id(str(cast("dict[str, Any]", metadata).get("user_id", "")))
    return ""


def _in_user_id(text: str) -> str:
    """Return the session in the user id of Claude Code: JSON, or words joined by underscores."""
    if text.startswith("{"):
        try:
            found: Any = parse(text.encode())
        except NotReadable:
            return ""
        name = str(cast("dict[str, Any]", found).get("session_id", ""))
    else:
        name = text.rpartition("_session_")[2] if "_session_" in text else ""
    return name if len(name) <= _MOST_CHARS else ""


def named_by_start(raws: Sequence[Raw], wire: Wire) -> str:
    """Return a name made of how a conversation began, up to the first answer of the model.

    "" as long as the model has not answered: two conversations may begin with the same words.
    """
    decode = dialect_named(wire.dialect).decode
    said: list[bytes] = []
    for at, raw in enumerate(raws):
        (message,) = decode([parse(raw)], at)
        said.append(digest(message))
        if message.role == "assistant":
            return f"start-{blake2b(b''.join(said), digest_size=16).hexdigest()}"
    return ""


def agent_of(headers: Mapping[str, str]) -> str:
    """Return the agent that sends a request, by what it calls itself; "gateway" if unknown."""
    called = f"{headers.get('user-agent', '')} {headers.get('x-app', '')}".lower()
    return next((name for word, name in _AGENTS if word in called), "gateway")
