"""The dialects by name, and which one a piece of data is written in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from foldaway.dialects import anthropic, gemini, openai_chat, openai_responses, sharegpt
from foldaway.dialects.dialect import Dialect
from foldaway.errors import UnknownName
from foldaway.transcript import Payload

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        openai_chat.DIALECT,
        openai_responses.DIALECT,
        anthropic.DIALECT,
        gemini.DIALECT,
        sharegpt.DIALECT,
    )
}

LIST_KEYS = tuple(dict.fromkeys(dialect.list_key for dialect in DIALECTS.values()))
"""The fields under which a message list may stand, in the order in which they are looked for."""


def dialect_named(name: str) -> Dialect:
    """Return a dialect by its name, or raise `UnknownName`."""
    found = DIALECTS.get(name) if isinstance(cast("object", name), str) else None
    if found is None:
        raise UnknownName("dialect", name, tuple(DIALECTS))
    return found


def detect(items: Sequence[Any], body: Payload | None = None) -> Dialect:
    """Return the dialect that the data looks most like; plain role-and-content lists are chat."""
    return max(DIALECTS.values(), key=lambda dialect: dialect.likeness(items, body or {}))
