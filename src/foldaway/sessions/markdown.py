"""A conversation as Markdown, for people: who said what, with what came of every call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from foldaway.facts import read_arguments
from foldaway.reduction import fenced, render_result
from foldaway.stores import SessionInfo
from foldaway.transcript import (
    Media,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
)

_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Codes that move a cursor, set a title or a link, or turn the direction of writing, with which a
page could show another text than it has. Line ends and tabs are not among them."""
_SPEAKER = {"assistant": "Agent", "user": "User", "tool": "Tool"}


def as_markdown(info: SessionInfo, transcript: Transcript) -> str:
    """Return a conversation as one page. Words are whole; results are bounded, which is said."""
    calls: dict[str, ToolCall] = {}
    pieces = [f"# {_line(info.title or info.first_ask or info.id)}", _facts(info)]
    for place, message in enumerate(transcript.messages):
        is_result = {type(part) for part in message.parts} == {ToolResult}
        role = "tool" if is_result else message.role
        speaker = _SPEAKER.get(role, role.capitalize())
        mark = f", {message.origin} of a compaction" if message.is_generated else ""
        pieces.append(f"## {speaker} · m{place}{mark}")
        pieces.extend(_parts(message.parts, calls))
    return show_controls("\n\n".join(piece for piece in pieces if piece) + "\n")


def show_controls(text: str) -> str:
    """Return a text without raw control codes: each is the mark for an unknown character, as on
    the terminal; whatever ends a line is a line feed.
    """
    return _CONTROL.sub("\ufffd", _LINE_END.sub("\n", text))


def _line(text: str) -> str:
    """Return a name on one line, so that it cannot begin a heading or a list of its own."""
    return " ".join(text.split())


def _facts(info: SessionInfo) -> str:
    rows = {
        "session": info.id, "from": f"{info.source} {info.source_id}".strip(),
        "model": info.model, "folder": info.cwd, "goal": info.goal,
    }  # fmt: skip
    return "\n".join(f"- {name}: {_line(value)}" for name, value in rows.items() if value)


def _parts(parts: Sequence[Part], calls: dict[str, ToolCall]) -> Iterator[str]:
    for part in parts:
        match part:
            case Text(text=text):
                yield text
            case Thinking(text=text):
                yield "\n".join(f"> {line}" for line in text.splitlines())
            case Media(kind=kind, media_type=media_type):
                yield f"*[{_line(f'{kind} {media_type}')}]*"
            case ToolCall(id=call_id, name=name, arguments=arguments):
                calls[call_id] = part
                yield f"**{_line(name)}**\n\n{fenced(arguments, 'json')}"
            case ToolResult(call_id=call_id, parts=inner):
                yield _result(calls.get(call_id), part)
                yield from _parts([one for one in inner if isinstance(one, Media)], calls)
            case Opaque(kind=kind):
                yield f"*[{_line(kind)}]*"


def _result(call: ToolCall | None, result: ToolResult) -> str:
    text = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    name = call.name if call is not None else result.name
    return render_result(name, {} if call is None else read_arguments(call.arguments), text)
