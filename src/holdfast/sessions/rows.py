"""Messages as a store keeps them, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from holdfast.dialects.jsontext import dump, parse
from holdfast.dialects.registry import dialect_named
from holdfast.search.text import searchable
from holdfast.stores.values import NewMessage, StoredMessage
from holdfast.transcript import Message


def new_message(
    message: Message,
    tokens: int,
    *,
    time: float | None = None,
    key: str = "",
    generated: bool = False,
) -> NewMessage:
    """Return a message as it is appended: its payload, what it is found by, its tokens."""
    found = searchable(message)
    return NewMessage(
        body=dump(message.wire), role=message.role, text=found.text, tools=found.tools,
        time=time, key=key, tokens=tokens, generated=generated,
    )  # fmt: skip


def payloads(rows: Iterable[StoredMessage]) -> list[Any]:
    """Return the wire messages of stored ones."""
    return [parse(row.body) for row in rows]


def decoded(rows: Sequence[StoredMessage], dialect: str) -> Sequence[Message]:
    """Return stored messages in the one model, at their positions."""
    return dialect_named(dialect).decode(payloads(rows), rows[0].position if rows else 0)
