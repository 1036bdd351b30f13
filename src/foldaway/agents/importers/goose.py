"""goose: the sessions of its `sessions.db`, and those that it exports as JSON.

A compaction leaves all rows and adds some for the model alone: the summary, and copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from foldaway.agents.importers import blocks
from foldaway.agents.importers.files import (
    AgentDatabase,
    decode,
    elements,
    fields,
    identifier,
    open_database,
    seconds,
    text,
)
from foldaway.agents.importers.imported import AnswerUsage, ImportedSession, Lineage, SessionDraft
from foldaway.agents.importers.usage import usage_of
from foldaway.dialects import Limits
from foldaway.transcript import Payload

TABLES = {
    "sessions": {"id", "working_dir"},
    "messages": {"id", "session_id", "role", "content_json"},
}
"""The tables and columns that make a database one of goose, of whatever version."""
_SUM = "accumulated_"
"""Before the names of what all requests of a session used."""


def is_export(value: Payload) -> bool:
    """Return whether an object is a session that goose exported."""
    return "working_dir" in value and type(value.get("conversation")) is list


def read_export(session: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield the session of an export."""
    rows = [fields(message) for message in elements(session.get("conversation"))]
    yield from _read(session, rows, path)


def read_stored(path: str, session: str) -> ImportedSession | None:
    """Return one session of a database, None if it is not there."""
    with open_database(Path(path), Limits()) as database:
        return next(read_database(database, path, session), None)


def find_last_compaction(path: str, session: str) -> float:
    """Return when a session of a database was compacted last, 0.0 if never."""
    with open_database(Path(path), Limits()) as database:
        rows = database.rows("messages", where="session_id", value=session, order="id")
        times = [
            seconds(row.get("created_timestamp")) or 0.0
            for row in rows
            if _is_for_model(fields(decode(row.get("metadata_json"))))
        ]
    return max(times, default=0.0)


def read_database(database: AgentDatabase, path: str, only: str = "") -> Iterator[ImportedSession]:
    """Yield the sessions of a database, oldest first, each put together as an export would be."""
    where = "id" if only else ""
    for session in database.rows("sessions", order="rowid", where=where, value=only):
        rows = database.rows("messages", where="session_id", value=session["id"], order="id")
        messages = [
            {
                "id": text(row.get("message_id")) or identifier(row.get("id")),
                "role": row.get("role"),
                "created": row.get("created_timestamp"),
                "content": decode(row.get("content_json")),
                "metadata": decode(row.get("metadata_json")),
            }
            for row in rows
        ]
        model = decode(session.get("model_config_json"))
        yield from _read({**session, "model_config": model}, messages, path)


def _read(session: Payload, messages: list[Payload], path: str) -> Iterator[ImportedSession]:
    draft = SessionDraft(identifier(session.get("id")))
    draft.title = text(session.get("name")) or text(session.get("description"))
    draft.cwd = text(session.get("working_dir"))
    draft.model = text(fields(session.get("model_config")).get("model_name"))
    parent = identifier(session.get("parent_session_id"))
    draft.lineage = Lineage(parent, "subagent") if parent else None
    said: list[Any] = []
    for index, message in enumerate(messages):
        place, content = f"message {index}", message.get("content")
        if not _is_for_model(fields(message.get("metadata"))):
            said.append(content)
        elif content in said:
            draft.note("duplicate", place, "a copy for the model, written by a compaction")
            continue
        _take(draft, message, place)
    draft.total_usage = _rest(session, draft)
    yield from draft.finish("goose", "anthropic", path)


def _rest(session: Payload, draft: SessionDraft) -> AnswerUsage | None:
    """Return what a session used beside the answers that say it: compactions, or all of it."""
    whole = {
        name.removeprefix(_SUM): value for name, value in session.items() if name.startswith(_SUM)
    }
    for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
        known = sum(getattr(one, name) for one in draft.usage.values())
        whole[name] = whole[name] - known if type(whole.get(name)) is int else 0
    paid = sum(one.cost or 0.0 for one in draft.usage.values())
    cost = whole.get("cost")
    cost = cost - paid if type(cost) is float else None
    return usage_of({**whole, "total_tokens": 0, "cost": 0}, model=draft.model, cost=cost)


def _take(draft: SessionDraft, message: Payload, place: str) -> None:
    about = fields(message.get("metadata"))
    content = [made for part in elements(message.get("content")) for made in _block(fields(part))]
    role = "assistant" if message.get("role") == "assistant" else "user"
    when, own = seconds(message.get("created")), text(message.get("id"))
    if content:
        draft.add(blocks.message(role, content), own, when, place, summary=_is_for_model(about))
    else:
        draft.note("left out", place, "a message without words, calls or results")
    model = text(fields(about.get("inference")).get("requestedModel"))
    draft.add_usage(usage_of(about.get("usage"), model=model or draft.model), own)


def _is_for_model(about: Payload) -> bool:
    """Return whether a compaction wrote a message: the user does not see it, but the model does.

    The time and the folder are hidden from the user too, and no compaction wrote them.
    """
    is_hidden = about.get("agentVisible") is True and about.get("userVisible") is False
    return is_hidden and about.get("turnContext") is not True


def _block(part: Payload) -> list[Payload]:
    call_id = text(part.get("id"))
    match part.get("type"):
        case "text":
            return blocks.words(text(part.get("text")))
        case "thinking":
            return blocks.thought(text(part.get("thinking")), text(part.get("signature")))
        case "image":
            return blocks.media(text(part.get("data")), text(part.get("mimeType")))
        case "toolRequest" | "frontendToolRequest":
            call = fields(fields(part.get("toolCall")).get("value"))
            return [blocks.call(call_id, text(call.get("name")), call.get("arguments"))]
        case "toolResponse":
            return [_result(call_id, fields(part.get("toolResult")))]
        case _:
            return []


def _result(call_id: str, found: Payload) -> Payload:
    value: Any = found.get("value")
    parts = elements(value) or elements(fields(value).get("content"))
    content = [made for part in parts for made in _block(fields(part))]
    failed = found.get("status") == "error" or fields(value).get("isError") is True
    content = content or blocks.words(text(found.get("error")))
    return blocks.result(call_id, content, failed=failed)
