"""Recalled text put into a request, where it leaves the cached prefix as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from holdfast.dialects.load import load
from holdfast.facts.frame import recognise
from holdfast.transcript import is_ask

_TEXT_TYPES = {"openai-responses": "input_text"}
"""How a part of text is called where it is not `text`."""


def injected(messages: Sequence[Any], block: str, *, dialect: str | None = None) -> list[Any]:
    """Return a request's messages with a block at the end of what the user said last.

    Nothing before that message changes, nothing is mutated, and the same block gives the same
    bytes through all calls of a turn, so that the cache holds. Without a block, or where no user
    spoke, the messages are as they were. What is returned is for sending, never for keeping.
    """
    rows = list(messages)
    if not block:
        return rows
    transcript = load(rows, dialect=dialect)
    known = recognise(transcript.messages)  # a summary in the user's name is not the user's
    asks = [message.position for message in known if is_ask(message)]
    if asks:
        rows[asks[-1]] = _with(rows[asks[-1]], block, transcript.dialect)
    return rows


def _with(message: Any, block: str, dialect: str) -> Any:
    """Return a user's message with one more text at its end."""
    found = dict(cast("dict[str, Any]", message))
    if dialect == "gemini":
        found["parts"] = [*found.get("parts", ()), {"text": block}]
    elif dialect == "sharegpt":
        found["value"] = f"{found.get('value', '')}\n\n{block}"
    elif isinstance(found.get("content"), list):
        part = {"type": _TEXT_TYPES.get(dialect, "text"), "text": block}
        found["content"] = [*found["content"], part]
    else:
        found["content"] = f"{found.get('content') or ''}\n\n{block}"
    return found
