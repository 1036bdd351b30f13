"""Plain transcripts: message lists, request bodies, and a message a line, in any dialect.

Also records whose messages hold `[{"type", "value"}]`, as LLaMA-Factory writes its tool dialogues:
text, reasoning and calls by position. Calls have no ids; a tool turn answers the calls before it,
several of them with a JSON list.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from foldaway.agents.importers.blocks import chat_call
from foldaway.agents.importers.files import (
    FileEntry,
    decode,
    elements,
    fields,
    identifier,
    seconds,
    text,
)
from foldaway.agents.importers.imported import (
    ImportedSession,
    SessionDraft,
    file_stem,
    pairing_notes,
    refuse_too_many,
)
from foldaway.agents.known import known_agents
from foldaway.dialects import dump_text, load_parsed
from foldaway.errors import NotReadable
from foldaway.transcript import Payload

_IDS = ("id", "conversation_id", "session_id", "instance_id")
_TIMES = ("timestamp", "created_at", "created")
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
    """Yield the transcript in a JSON value; raises `NotReadable` if it has none."""
    body = fields(value)
    refuse_too_many(max(len(elements(held)) for held in (value, *body.values())))
    transcript = load_parsed(value)
    messages = transcript.messages
    wires = [fields(message.wire) for message in messages]
    if not any(is_message(wire) for wire in wires[:_LOOKED_AT]):
        raise NotReadable(
            "holds no messages that are known",
            where=transcript.frame.path,
            remedy="expected the messages of OpenAI, Anthropic or Gemini, or ShareGPT turns",
        )
    when = next((found for key in _TIMES if (found := seconds(body.get(key)))), None)
    times = tuple(seconds(wire.get("timestamp")) or when for wire in wires)
    known = [time for time in times if time is not None]
    yield ImportedSession(
        source_id=record_id(body) or source_id or file_stem(path),
        agent=_agent(wires) or transcript.dialect,
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
        agent = _agent([fields(item) for item in items]) or dialect
        yield from draft.finish(agent, dialect, path)


def record_id(body: Payload) -> str:
    """Return the id that a record gives itself."""
    return next((found for key in _IDS if (found := identifier(body.get(key)))), "")


def _agent(items: Sequence[Payload]) -> str | None:
    for item in items[:_PROMPTS]:
        content = text(item.get("content"))
        for agent in known_agents().values():
            if agent.files.prompt and agent.files.prompt in content:
                return agent.name
    return None


def is_valued(value: Payload) -> bool:
    """Return whether the messages of a record hold typed values."""
    first = next(iter(elements(value.get("messages"))), None)
    blocks = elements(fields(first).get("content"))
    return bool(blocks) and "value" in fields(blocks[0]) and "type" in fields(blocks[0])


def read_valued(record: Payload, path: str, source_id: str) -> Iterator[ImportedSession]:
    """Yield the dialogue of a record as chat messages; its calls are numbered."""
    draft, waiting = SessionDraft(source_id), deque[str]()
    made = 0
    for index, message in enumerate(map(fields, elements(record.get("messages")))):
        place = f"message {index}"
        blocks = [fields(block) for block in elements(message.get("content"))]
        role = text(message.get("role"))
        if role == "tool":
            for item in _results(_join(blocks, "text"), waiting):
                draft.add(item, "", None, place)
            continue
        item: Payload = {"role": role, "content": _join(blocks, "text")}
        calls: list[Payload] = []
        for block in blocks:
            if block.get("type") == "tool_call":
                made += 1
                call = fields(decode(text(block.get("value"))))
                calls.append(
                    chat_call(f"call_{made}", text(call.get("name")), call.get("arguments"))
                )
        if calls:
            item["tool_calls"] = calls
            waiting = deque(call["id"] for call in calls)
        reasoning = _join(blocks, "reasoning")
        if reasoning:
            item["reasoning_content"] = reasoning
        draft.add(item, "", None, place)
    yield from draft.finish("sharegpt", "openai-chat", path)


def _join(blocks: list[Payload], kind: str) -> str:
    return "\n\n".join(text(block.get("value")) for block in blocks if block.get("type") == kind)


def _results(said: str, waiting: deque[str]) -> Iterator[Payload]:
    """Yield a result for each waiting call if there are as many, otherwise one for the first."""
    answers = elements(decode(said)) if len(waiting) > 1 else []
    pieces = [dump_text(answer) for answer in answers] if len(answers) == len(waiting) else [said]
    for piece in pieces:
        call_id = waiting.popleft() if waiting else ""
        yield {"role": "tool", "tool_call_id": call_id, "content": piece}
