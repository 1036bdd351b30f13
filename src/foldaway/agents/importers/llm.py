"""llm: the conversations of its `logs.db`, of both forms that it has had.

Until version 0.35 a prompt and its response were one row; then messages became a tree in which
each has the hash of the one before it. The older rows stay in their table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from foldaway.agents.importers.blocks import chat_call
from foldaway.agents.importers.files import AgentDatabase, decode, fields, identifier, seconds, text
from foldaway.agents.importers.imported import AnswerUsage, ImportedSession, Lineage, SessionDraft
from foldaway.agents.importers.usage import usage_of
from foldaway.transcript import Payload

_THREADS = {
    "threads": {"id", "tip_message_hash"},
    "turns": {"id", "thread_id", "tip_message_hash"},
    "messages": {"hash", "parent_hash", "role"},
    "parts": {"message_hash", "position", "type"},
}
TABLES = {"responses": {"id", "model", "prompt", "response", "conversation_id"}}
"""The table and columns that make a database one of llm, of whatever version."""


def read_database(database: AgentDatabase, path: str) -> Iterator[ImportedSession]:
    """Yield the conversations of a database, oldest first."""
    if database.has({"conversations": {"id", "name"}}):
        for found in database.rows("conversations", order="rowid"):
            yield from _conversation(database, found, path)
    if database.has(_THREADS):
        for found in database.rows("threads", order="rowid"):
            yield from _thread(database, found, path)


def _begin(found: Payload) -> SessionDraft:
    draft = SessionDraft(identifier(found.get("id")))
    draft.title, draft.model = text(found.get("name")), text(found.get("model"))
    parent = identifier(found.get("forked_from"))
    draft.lineage = Lineage(parent, "branch") if parent else None
    return draft


def _thread(database: AgentDatabase, found: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield a conversation: from its last message back to its first."""
    draft = _begin(found)
    own = found.get("id")
    turns = {
        text(turn.get("tip_message_hash")): turn
        for turn in database.rows("turns", where="thread_id", value=own, order="id")
    }
    for message in reversed(list(_chain(database, text(found.get("tip_message_hash"))))):
        name = text(message.get("hash"))
        parts = list(database.rows("parts", where="message_hash", value=name, order="position"))
        turn = turns.get(name, {})
        draft.model = text(turn.get("resolved_model")) or text(turn.get("model")) or draft.model
        when = seconds(turn.get("datetime_utc"))
        for at, item in enumerate(_items(text(message.get("role")), parts)):
            draft.add(item, f"{name}/{at}" if at else name, when, f"message {name}")
        draft.add_usage(_read_usage(turn, draft.model), name)
    yield from draft.finish("llm", "openai-chat", path)


def _chain(database: AgentDatabase, tip: str) -> Iterator[Payload]:
    """Yield the messages from the last one to the first, each once if they form a circle."""
    seen: set[str] = set()
    while tip and tip not in seen:
        seen.add(tip)
        tip, found = "", database.rows("messages", where="hash", value=tip, order="rowid")
        for row in found:
            yield row
            tip = text(row.get("parent_hash"))


def _items(role: str, parts: list[Payload]) -> Iterator[Payload]:
    """Yield a message as chat messages: one for each result, otherwise one."""
    words: list[str] = []
    thoughts: list[str] = []
    calls: list[Payload] = []
    for part in parts:
        told = fields(decode(part.get("payload")))
        match part.get("type"):
            case "text":
                words.append(text(part.get("text")))
            case "reasoning":
                thoughts.append(text(part.get("text")))
            case "tool_call":
                calls.append(
                    chat_call(
                        text(told.get("tool_call_id")),
                        text(told.get("name")),
                        told.get("arguments"),
                    )
                )
            case "tool_result":
                yield _result(told)
            case _:
                continue
    if words or thoughts or calls:
        yield _message(role, "".join(words), "".join(thoughts), calls)


def _conversation(database: AgentDatabase, found: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield a conversation of the older form."""
    draft = _begin(found)
    own = found.get("id")
    for row in database.rows("responses", where="conversation_id", value=own, order="id"):
        name, when = identifier(row.get("id")), seconds(row.get("datetime_utc"))
        draft.model = text(row.get("resolved_model")) or text(row.get("model")) or draft.model
        system, prompt = text(row.get("system")), text(row.get("prompt"))
        if system and not draft.rows:
            draft.add({"role": "system", "content": system}, f"{name}/system", when, name)
        for result in _of(database, "tool_results", name):
            answer = f"{name}/{identifier(result.get('id'))}"
            draft.add(_result(result), answer, when, name)
        if prompt:
            draft.add({"role": "user", "content": prompt}, f"{name}/prompt", when, name)
        calls = [
            chat_call(
                text(call.get("tool_call_id")), text(call.get("name")), text(call.get("arguments"))
            )
            for call in _of(database, "tool_calls", name)
        ]
        said, thought = text(row.get("response")), text(row.get("reasoning"))
        if said or thought or calls:
            draft.add(_message("assistant", said, thought, calls), name, when, name)
        draft.add_usage(_read_usage(row, draft.model), name)
    yield from draft.finish("llm", "openai-chat", path)


def _of(database: AgentDatabase, table: str, response: str) -> Iterator[Payload]:
    """Yield the rows of a table that belong to a response; older databases lack the table."""
    if database.has({table: {"response_id", "tool_call_id"}}):
        yield from database.rows(table, where="response_id", value=response, order="id")


def _message(role: str, said: str, thought: str, calls: list[Payload]) -> Payload:
    item: Payload = {"role": role, "content": said}
    if thought:
        item["reasoning_content"] = thought
    return {**item, "tool_calls": calls} if calls else item


def _result(told: Payload) -> Payload:
    output: Any = told.get("output")
    called = text(told.get("tool_call_id"))
    return {"role": "tool", "tool_call_id": called, "content": text(output)}


def _read_usage(row: Payload, model: str) -> AnswerUsage | None:
    details = fields(decode(row.get("token_details")))
    return usage_of({**details, **row}, model=model)
