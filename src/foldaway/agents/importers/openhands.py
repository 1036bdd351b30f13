"""OpenHands: logs of one request, and the events of a conversation in both of its formats.

On disk each event of a conversation is a file of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from foldaway.agents.importers import blocks
from foldaway.agents.importers.files import (
    decode,
    elements,
    fields,
    identifier,
    read_object,
    seconds,
    text,
)
from foldaway.agents.importers.imported import ImportedSession, Note, SessionDraft, with_notes
from foldaway.agents.importers.usage import usage_of
from foldaway.dialects import Limits, dump_text
from foldaway.transcript import Payload

_NO_STEPS = frozenset(
    {"", "null", "recall", "change_agent_state", "agent_state_changed", "condensation_request"}
)
_NUMBER = re.compile(r"(?:event-)?(\d{1,12})(?:-[\w-]*)?\.json")


def is_log(value: Payload) -> bool:
    """Return whether an object is the log of a request: its messages beside the answer."""
    return type(value.get("messages")) is list and type(value.get("response")) is dict


def is_event(value: Payload) -> bool:
    """Return whether an object is an event of a conversation."""
    kind = value.get("kind")
    if type(kind) is str and ("source" in value or "llm_message" in value or "tool_name" in value):
        return kind.endswith(("Event", "Observation", "Condensation"))
    return "source" in value and ("action" in value or "observation" in value)


def read_log(log: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield the conversation of a request and its answer.

    `raw_messages` are those before calls were written as text for a model that knows no tools.
    """
    draft = SessionDraft()
    sent = elements(log.get("raw_messages")) or elements(log.get("messages"))
    response = fields(log.get("response"))
    answers = [fields(choice).get("message") for choice in elements(response.get("choices"))[:1]]
    when = seconds(log.get("timestamp"))
    for index, item in enumerate((*sent, *answers)):
        draft.add(item, "", when, f"message {index}")
    draft.model = text(response.get("model"))
    draft.add_usage(usage_of(response.get("usage"), cost=log.get("cost")))
    tools = log.get("tools")
    yield from draft.finish("openhands", "openai-chat", path, system={"tools": tools or []})


class _Step(Struct, frozen=True):
    """What an event says: a message, or nothing."""

    role: str
    content: Sequence[Payload]
    summary: bool = False


def read_events(
    events: Sequence[Any], path: str, *, source_id: str = "", model: str = ""
) -> Iterator[ImportedSession]:
    """Yield the conversation that the events tell, a message for each that says something."""
    draft, prompt = SessionDraft(source_id), ""
    draft.model = model
    for index, event in enumerate(events):
        event = fields(event)
        place = f"event {identifier(event.get('id')) or index}"
        prompt = prompt or _system(event)
        step = _new_step(event) if "kind" in event else _old_step(event)
        if step is not None and step.content:
            when = seconds(event.get("timestamp"))
            item = blocks.message(step.role, step.content)
            draft.add(item, identifier(event.get("id")), when, place, summary=step.summary)
    system = {"system": prompt} if prompt else None
    yield from draft.finish("openhands", "anthropic", path, system=system)


def _system(event: Payload) -> str:
    if event.get("kind") == "SystemPromptEvent":
        return text(fields(event.get("system_prompt")).get("text"))
    if event.get("action") == "system":
        return text(fields(event.get("args")).get("content"))
    return ""


def _new_step(event: Payload) -> _Step | None:
    call_id = text(event.get("tool_call_id"))
    match event.get("kind"):
        case "MessageEvent":
            said = fields(event.get("llm_message"))
            role = "user" if event.get("source") != "agent" else "assistant"
            return _Step(role, _content(said.get("content")))
        case "ActionEvent":
            thoughts = blocks.thought(text(event.get("reasoning_content")))
            words = _content(event.get("thought"))
            arguments = _arguments(event)
            if arguments is None:
                arguments = fields(event.get("action"))
            call = blocks.call(call_id, text(event.get("tool_name")), arguments)
            return _Step("assistant", [*thoughts, *words, call])
        case "ObservationEvent":
            seen = fields(event.get("observation"))
            answer = _content(seen.get("content") or seen.get("output"))
            failed = seen.get("is_error") is True
            return _Step("user", [blocks.result(call_id, answer or _rest(seen), failed=failed)])
        case "AgentErrorEvent" | "UserRejectObservation":
            said = text(event.get("error")) or text(event.get("rejection_reason"))
            return _Step("user", [blocks.result(call_id, blocks.words(said), failed=True)])
        case "Condensation":
            return _Step("user", blocks.words(text(event.get("summary"))), summary=True)
        case _:
            return None


def _old_step(event: Payload) -> _Step | None:
    args, action = fields(event.get("args")), text(event.get("action"))
    made = fields(event.get("tool_call_metadata"))
    if action == "message":
        role = "assistant" if event.get("source") == "agent" else "user"
        images = [block for url in elements(args.get("image_urls")) for block in _image(url)]
        return _Step(role, [*blocks.words(text(args.get("content"))), *images])
    if action == "condensation":
        return _Step("user", blocks.words(text(args.get("summary"))), summary=True)
    if action and action not in _NO_STEPS | {"system"}:
        call_id = text(made.get("tool_call_id")) or f"event_{identifier(event.get('id'))}"
        given = {key: value for key, value in args.items() if key != "thought"}
        name = text(made.get("function_name")) or action
        call = blocks.call(call_id, name, given)
        return _Step("assistant", [*blocks.words(text(args.get("thought"))), call])
    seen = text(event.get("observation"))
    if action or seen in _NO_STEPS:
        return None
    call_id = text(made.get("tool_call_id")) or f"event_{identifier(event.get('cause'))}"
    answer = blocks.words(text(event.get("content")))
    return _Step("user", [blocks.result(call_id, answer, failed=seen == "error")])


def _arguments(event: Payload) -> Any:
    """Return the arguments as the model wrote them; None where the event does not hold them."""
    call = fields(event.get("tool_call"))
    given = call.get("arguments") or fields(call.get("function")).get("arguments")
    found = decode(given)
    return given if found is None else found


def _content(content: Any) -> list[Payload]:
    if type(content) is str:
        return blocks.words(content)
    found: list[Payload] = []
    for block in map(fields, elements(content)):
        found.extend(blocks.words(text(block.get("text"))))
        for url in elements(block.get("image_urls")):
            found.extend(_image(url))
    return found


def _image(url: Any) -> list[Payload]:
    return blocks.media_at(text(url))


def _rest(seen: Payload) -> list[Payload]:
    """Return an observation of a kind that is not known, as its JSON."""
    left = {key: value for key, value in seen.items() if key != "kind" and value not in (None, [])}
    return blocks.words(dump_text(left)) if left else []


def is_folder(folder: Path) -> bool:
    """Return whether this is the folder of a conversation: one with `events` in it."""
    events = folder / "events"
    try:
        return events.is_dir() and any(_NUMBER.fullmatch(path.name) for path in events.iterdir())
    except OSError:
        return False


def read_folder(
    folder: Path, limits: Limits = Limits(), *, follow_links: bool = False
) -> Iterator[ImportedSession]:
    """Yield the conversation whose events are in the folder, in the order of their numbers."""
    notes: list[Note] = []
    root = "" if follow_links else os.path.realpath(folder)
    numbered: list[tuple[int, Path]] = []
    for path in (folder / "events").iterdir():
        found = _NUMBER.fullmatch(path.name)
        if found is not None:
            numbered.append((int(found.group(1)), path))
    events = [read_object(path, root, limits, notes) for _, path in sorted(numbered)]
    state = read_object(folder / "base_state.json", root, limits, notes)
    model = text(fields(fields(state.get("agent")).get("llm")).get("model"))
    read = read_events(events, str(folder), source_id=folder.name, model=model)
    yield from with_notes(read, notes)
