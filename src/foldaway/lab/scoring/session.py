"""A session as the lab reads it, its messages as text, and a view of it that is judged."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

Message = dict[str, Any]
"""A message of OpenAI chat, as parsed from JSON."""
_TOOLS = tomllib.loads(Path(__file__).with_name("tools.toml").read_text(encoding="utf-8"))
TOOL_WORDS = {key: tuple(text.replace("\n", " ").split(", ")) for key, text in _TOOLS.items()}
"""Lists of names (`tools.toml`)."""
_SHORT_CHARS = 200
"""A longer argument of a call is rendered on lines of its own."""


class OwnSummary(Struct, frozen=True):
    """A compaction that the agent of the session made itself: before which message, and its text.

    The text is empty where the agent's file does not hold it.
    """

    at: int
    text: str


class LabSession(Struct, frozen=True):
    """One real session; `messages` is an OpenAI chat list.

    `family` says whose sessions are averaged together, `project` in which sessions a fact is no
    news.
    """

    id: str
    family: str
    project: str
    messages: list[Message]
    tokens: int = 0
    """As counted by anyone who made the set; 0 if nobody did."""
    own: tuple[OwnSummary, ...] = ()
    tools: list[Any] = []


def is_system(message: Message) -> bool:
    """Return whether a message is outside the budget."""
    return message["role"] in ("system", "developer")


def without_system(messages: Iterable[Message]) -> list[Message]:
    """Return the messages without system prompts."""
    return [message for message in messages if not is_system(message)]


def render_all(messages: Iterable[Message]) -> str:
    """Return messages as one text."""
    return "\n".join(map(render, messages))


def render(message: Message) -> str:
    """Return a message as text: arguments decoded, so that their line breaks are line breaks."""
    parts = [f"[{message['role']}]"]
    if message["role"] == "tool":
        parts = [f"[result {message.get('name') or ''}]"]
    if message.get("reasoning_content"):
        parts.append(str(message["reasoning_content"]))
    if text := content_text(message):
        parts.append(text)
    for name, arguments in calls_of(message):
        parts.append(_call(name, arguments))
    return "\n".join(parts)


def content_text(message: Message) -> str:
    """Return the words of a message, whatever form its content has."""
    return "\n".join(text_parts(message))


def text_parts(message: Message) -> list[str]:
    """Return the texts of a message, each part for itself."""
    content: Any = message.get("content")
    if isinstance(content, str):
        return [content]
    rows = cast("list[Any]", content if isinstance(content, list) else [])
    parts = [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]
    return [str(part.get("text") or "") for part in parts]


def calls_of(message: Message) -> list[tuple[str, str]]:
    """Return the name and the raw arguments of each call of a message."""
    return [
        (str(call["function"].get("name", "")), str(call["function"].get("arguments") or ""))
        for call in message.get("tool_calls") or ()
    ]


def decode_arguments(arguments: str) -> dict[str, Any]:
    """Return the arguments of a call; nothing if they are not a JSON object."""
    try:
        found: Any = json.loads(arguments)
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _call(name: str, arguments: str) -> str:
    """Return a call with its short arguments on the first line and long ones below."""
    found = decode_arguments(arguments)
    if not found:
        return f"[call {name}] {arguments}"
    short: list[str] = []
    below: list[str] = []
    for key, value in found.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        fits = len(text) <= _SHORT_CHARS and "\n" not in text
        (short if fits else below).append(f"{key}: {text}")
    return "\n".join([f"[call {name}] {', '.join(short)}".rstrip(), *below])


def agent_text(message: Message) -> bool:
    """Return whether the agent wrote the message."""
    return message["role"] == "assistant"


def cut_at(messages: Sequence[Message], sizes: Sequence[int], share: float) -> int | None:
    """Return the first agent message that begins at `share` of the text or later."""
    goal, seen = share * sum(sizes), 0
    for index, message in enumerate(messages):
        if seen >= goal and agent_text(message):
            return index
        seen += sizes[index]
    return None


class JudgedView(Struct, frozen=True, kw_only=True):
    """A view. `text` is all of it but the system prompt, rendered; budgets count its `tokens`."""

    text: str
    tokens: int
    messages: tuple[Message, ...] = ()
    """The view as a message list; empty where the strategy gives only text."""
    summaries: tuple[str, ...] = ()
    """Texts that the strategy wrote itself: every fact in them must stand in the source."""
    resolves: Callable[[str], bool] | None = None
    """Whether a reference of the view leads to its originals; None if it has none."""
    positions: int = 0
    """How many messages the labels of the summaries count among; 0: those that were given."""
    archived: bool = False
    """Whether what was left out can still be searched by the agent."""
    cpu_ms: float = 0.0
    note: str = ""
    failed: str = ""
    """Why there is no view; one sentence, in place of figures."""
