"""A compact builder: `talk(user("…"), assistant(call("grep", q="x")), result("…"))`.

Ids are made in order and are the same on every run. The wire forms are written here from the
providers' formats and share no code with the dialects, so that a test of a dialect that uses them
tests something.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import UnknownName
from holdfast.testing.formats.builder_wire import WRITERS
from holdfast.transcript import (
    Media,
    MediaKind,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

Step: TypeAlias = Message | ToolResult

_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)


class Talk(Struct, frozen=True):
    """A conversation as a log, and as a wire list of any dialect."""

    messages: tuple[Message, ...]

    def wire(self, dialect: str) -> list[Any]:
        """Return a new wire list in the named dialect; equal on every call."""
        writer = WRITERS.get(dialect)
        if writer is None:
            raise UnknownName("dialect", dialect, tuple(WRITERS))
        return writer(self.messages)

    def as_openai_chat(self) -> list[Any]:
        """Return the messages of a chat completion; results are `tool` messages."""
        return self.wire("openai-chat")

    def as_openai_responses(self) -> list[Any]:
        """Return Responses input items; thinking becomes `reasoning` items."""
        return self.wire("openai-responses")

    def as_anthropic(self) -> list[Any]:
        """Return Anthropic messages; a run of results is one user message."""
        return self.wire("anthropic")

    def as_gemini(self) -> list[Any]:
        """Return Gemini contents; call ids are left out, as the API itself leaves them out."""
        return self.wire("gemini")

    def as_sharegpt(self) -> list[Any]:
        """Return ShareGPT turns; calls and results are tagged text."""
        return self.wire("sharegpt")


def talk(*steps: Step) -> Talk:
    """Return the conversation of `steps`; consecutive results form one message.

    Calls without an id get `call_1`, `call_2`, … in order; a result without one answers the oldest
    call that has no answer yet. Raises `ValueError` where no call is open.
    """
    messages: list[Message] = []
    pending: deque[str] = deque()
    made = 0
    for step in steps:
        if isinstance(step, ToolResult):
            _add_result(messages, _matched(step, pending))
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


def _matched(step: ToolResult, pending: deque[str]) -> ToolResult:
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
