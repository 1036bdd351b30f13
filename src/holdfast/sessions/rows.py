"""Messages as a store keeps them, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holdfast.dialects.jsontext import dump, parse
from holdfast.dialects.registry import dialect_named
from holdfast.search.text import clean, searchable
from holdfast.stores.values import NewMessage, StoredMessage
from holdfast.transcript import Message, ToolCall, ToolResult

_NO_NAMES: Mapping[str, str] = {}


def new_message(
    message: Message,
    tokens: int,
    *,
    body: bytes | None = None,
    names: Mapping[str, str] = _NO_NAMES,
    time: float | None = None,
    key: str = "",
    generated: bool = False,
) -> NewMessage:
    """Return a message as it is appended: its payload, what it is found by, its tokens.

    `body` is what is kept as its payload, if that is not the message's own.
    `names` are the tools of earlier calls by their ids: most dialects do not name them again in a
    result. A message of results only is a tool's, whoever hands it over.
    """
    found = searchable(message)
    role, tools = message.role, found.tools
    if results := [part for part in message.parts if isinstance(part, ToolResult)]:
        answered = (names[part.call_id] for part in results if part.call_id in names)
        tools = tuple(dict.fromkeys((*tools, *map(clean, answered))))
        role = "tool" if len(results) == len(message.parts) else role
    return NewMessage(
        body=dump(message.wire) if body is None else body, role=role, text=found.text, tools=tools,
        time=time, key=key, tokens=tokens, generated=generated,
    )  # fmt: skip


def tool_names(messages: Iterable[Message]) -> dict[str, str]:
    """Return the tools that were called, by the ids of their calls."""
    return {
        part.id: part.name
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCall)
    }


def payloads(rows: Iterable[StoredMessage]) -> list[Any]:
    """Return the wire messages of stored ones."""
    return [parse(row.body) for row in rows]


def decoded(rows: Sequence[StoredMessage], dialect: str) -> Sequence[Message]:
    """Return stored messages in the one model, at their positions."""
    return dialect_named(dialect).decode(payloads(rows), rows[0].position if rows else 0)
