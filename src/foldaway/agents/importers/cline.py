"""Cline: the messages of a task, one document each, as Anthropic writes them.

Until version 3 of its CLI, and in editors, a task is a folder with `api_conversation_history.json`;
from then on a session is `ID.messages.json` beside `ID.json`, which has its facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from foldaway.agents.importers import blocks
from foldaway.agents.importers.files import (
    decode,
    elements,
    fields,
    identifier,
    read_beside,
    seconds,
    text,
)
from foldaway.agents.importers.imported import ImportedSession, SessionDraft, file_stem
from foldaway.agents.importers.usage import usage_of
from foldaway.dialects import dump_text
from foldaway.transcript import Payload

_HISTORY = "api_conversation_history"
_FOLDER = re.compile(r"# Current Working Directory \((.{1,500}?)\)")
_TASK = re.compile(r"<task>\s*(.*?)\s*</task>", re.DOTALL)
_SUMMARY = re.compile(r"\[summarize_task\] Result:")
_RESULT = re.compile(r"\[(\w+)[^\n]*?\] Result:\n?")
_COUNT_APART = frozenset({"anthropic", "bedrock", "vertex", "claude-code"})
"""Providers of whose prompts Cline counts what was cached apart."""


def is_message(value: Payload) -> bool:
    """Return whether an object is a message of a task."""
    return (
        value.get("role") in ("user", "assistant")
        and type(value.get("content")) is list
        and type(value.get("ts")) is int
    )


def is_session(value: Payload) -> bool:
    """Return whether an object is a session of Cline 3."""
    return "sessionId" in value and "origin" in value and type(value.get("messages")) is list


def read_session(value: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield the session of a document, with the facts that are in the file beside it."""
    draft = SessionDraft(text(value.get("sessionId")))
    beside = Path(path).with_name(f"{draft.source_id}.json")
    is_name = Path(draft.source_id).name == draft.source_id
    about = fields(decode(read_beside(beside))) if is_name else {}
    draft.cwd, draft.model = text(about.get("cwd")), text(about.get("model"))
    draft.title = text(fields(about.get("metadata")).get("title"))
    _take(draft, elements(value.get("messages")))
    prompt = text(value.get("system_prompt"))
    system = {"system": prompt} if prompt else None
    yield from draft.finish("cline", "anthropic", path, system=system)


def read_task(messages: Sequence[Any], path: str) -> Iterator[ImportedSession]:
    """Yield the session of a task; its id is the name of its folder."""
    stem = file_stem(path)
    draft = SessionDraft(Path(path).parent.name if stem == _HISTORY else stem)
    first = " ".join(
        text(fields(block).get("text"))
        for message in messages[:1]
        for block in elements(fields(message).get("content"))
    )
    task, folder = _TASK.search(first), _FOLDER.search(first)
    draft.title = task[1].split("\n", 1)[0] if task else ""
    draft.cwd = folder[1] if folder else ""
    _take(draft, messages)
    yield from draft.finish("cline", "anthropic", path)


def _take(draft: SessionDraft, messages: Sequence[Any]) -> None:
    waiting: list[Payload] = []
    for index, message in enumerate(map(fields, messages)):
        role, given = text(message.get("role")), elements(message.get("content"))
        if type(message.get("content")) is str:
            given = blocks.words(message["content"])
        content = [made for block in given for made in _blocks(fields(block), waiting)]
        if role == "assistant":
            waiting = [block for block in content if block.get("type") == "tool_use"]
        else:
            waiting = []
        place, when = f"message {index}", seconds(message.get("ts"))
        if content:
            own = text(message.get("id")) or identifier(message.get("ts"))
            is_summary = any(_SUMMARY.match(text(fields(block).get("text"))) for block in given)
            draft.add(blocks.message(role, content), own, when, place, summary=is_summary)
        else:
            draft.note("left out", place, "a message without words, calls or results")
        _add_usage(draft, message)


def _add_usage(draft: SessionDraft, message: Payload) -> None:
    about, metrics = fields(message.get("modelInfo")), fields(message.get("metrics"))
    draft.model = text(about.get("modelId")) or text(about.get("id")) or draft.model
    apart = text(about.get("providerId")) in _COUNT_APART
    data = fields(metrics.get("tokens")) or metrics
    draft.add_usage(usage_of(data, model=draft.model, cost=metrics.get("cost"), cached_apart=apart))


def _blocks(block: Payload, waiting: list[Payload]) -> list[Payload]:
    """Return a block without Cline's own fields.

    With some models the result of a call is text under a heading that names the tool.
    """
    match block.get("type"):
        case "text":
            said = text(block.get("text"))
            return _answer(said, waiting) or blocks.words(said)
        case "tool_use":
            name = text(block.get("name"))
            return [blocks.call(text(block.get("id")), name, block.get("input"))]
        case "tool_result":
            answered = text(block.get("tool_use_id"))
            waiting[:] = [call for call in waiting if call["id"] != answered]
            failed = block.get("is_error") is True
            return [blocks.result(answered, _content(block.get("content")), failed=failed)]
        case "thinking":
            said = text(block.get("thinking"))
            return blocks.thought(said, text(block.get("signature")))
        case "image" | "document" | "redacted_thinking":
            return [block]
        case _:
            return []


def _answer(said: str, waiting: list[Payload]) -> list[Payload]:
    heading = _RESULT.match(said)
    if heading is None:
        return []
    for at, call in enumerate(waiting):
        if call["name"] == heading[1]:
            del waiting[at]
            return [blocks.result(call["id"], blocks.words(said[heading.end() :]))]
    return []


def _content(content: Any) -> list[Payload]:
    """Return what a tool answered; Cline 3 has an object for each command or file."""
    if type(content) is str:
        return blocks.words(content)
    found: list[Payload] = []
    for part in map(fields, elements(content)):
        if part.get("type") in ("text", "image"):
            found.append(part)
        elif part:
            found += blocks.words(text(part.get("result")) or dump_text(part))
    return found
