"""Plain transcripts: message lists, request bodies, and a message a line, in any dialect."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from holdfast.dialects.load import load_parsed
from holdfast.errors import NotReadable
from holdfast.importers.draft import SessionDraft, file_stem, pairing_notes, refuse_too_many
from holdfast.importers.imported import Agent, ImportedSession
from holdfast.importers.lines import FileEntry
from holdfast.importers.loose import fields, identifier, seconds, text
from holdfast.transcript import Payload

_IDS = ("id", "conversation_id", "session_id", "instance_id")
_TIMES = ("timestamp", "created_at", "created")
_WORDS: dict[str, Agent] = {
    "mswea_bash_command": "mini-swe-agent",
    "You are OpenHands agent": "openhands",
}
"""What the prompts of agents say that save nothing but their messages."""
_LOOKED_AT = 64
_PROMPTS = 4


def is_message(value: Payload) -> bool:
    """Return whether an object is one message of some dialect."""
    if type(value.get("parts")) is list:
        return True
    if type(value.get("role")) is str:
        return "content" in value or "tool_calls" in value or "function_call" in value
    if type(value.get("from")) is str:
        return "value" in value
    return type(value.get("type")) is str and ("call_id" in value or "summary" in value)


def read(value: Any, path: str, source_id: str = "") -> Iterator[ImportedSession]:
    """Yield the transcript in a JSON value; raises `NotReadable` where it holds none."""
    body = fields(value)
    refuse_too_many(
        max((len(held) for held in (value, *body.values()) if type(held) is list), default=0)
    )
    transcript = load_parsed(value)
    messages = transcript.messages
    wires = [fields(message.wire) for message in messages]
    if not any(is_message(wire) for wire in wires[:_LOOKED_AT]):
        raise NotReadable(
            "holds no messages that are known", where=transcript.frame.path,
            remedy="expected the messages of OpenAI, Anthropic or Gemini, or ShareGPT turns",
        )  # fmt: skip
    when = next((found for key in _TIMES if (found := seconds(body.get(key)))), None)
    times = tuple(seconds(wire.get("timestamp")) or when for wire in wires)
    known = [time for time in times if time is not None]
    yield ImportedSession(
        source_id=record_id(body) or source_id or file_stem(path),
        agent=_agent(wires, body) or cast("Agent", transcript.dialect),
        path=path,
        transcript=transcript,
        entry_ids=tuple(message.id for message in messages),
        times=times,
        title=text(body.get("title")),
        started=known[0] if known else None,
        ended=known[-1] if known else None,
        model=text(body.get("model")),
        notes=tuple(pairing_notes(transcript)),
    )


def read_lines(lines: Iterable[FileEntry], path: str) -> Iterator[ImportedSession]:
    """Yield the one transcript of a file with a message a line; other lines are left out."""
    draft = SessionDraft()
    for entry in lines:
        value = entry.value
        if is_message(value):
            when = seconds(value.get("timestamp"))
            draft.add(value, text(value.get("id")), when, entry.place)
        else:
            draft.note("left out", entry.place, "an object that is no message")
    if draft.rows:
        items = [row.item for row in draft.rows]
        dialect = load_parsed(items).dialect
        agent = _agent([fields(item) for item in items], {}) or cast("Agent", dialect)
        yield draft.finish(agent, dialect, path)


def record_id(body: Payload) -> str:
    """Return the id that a record gives itself."""
    return next((found for key in _IDS if (found := identifier(body.get(key)))), "")


def _agent(items: Sequence[Payload], body: Payload) -> Agent | None:
    if text(body.get("trajectory_format")).startswith("mini-swe-agent"):
        return "mini-swe-agent"
    for item in items[:_PROMPTS]:
        content = text(item.get("content"))
        for words, agent in _WORDS.items():
            if words in content:
                return agent
    return None
