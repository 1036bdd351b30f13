"""Whose conversation a request belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from itertools import chain
from typing import Any, cast

from msgspec import Raw

from foldaway.agents.known import known_agents
from foldaway.dialects import dialect_named, dump_text, parse
from foldaway.errors import NotReadable
from foldaway.sessions import digest

OWN_HEADER = "x-foldaway-session"

_HEADERS = ("x-session-id", "x-session-affinity", "agent-session-id")
"""Headers of any client that name a conversation. A cache key is shared by conversations, and a
request id is new each time."""

_BOUND = re.compile(r"@[0-9a-f]{16}$")
"""The end of a key that has an owner."""
_MOST_CHARS = 200
"""Limit of an id: a store keeps no longer ones, so a longer text is not an id."""


def read_client_name(headers: Mapping[str, str], frame: Mapping[str, Any]) -> str:
    """Return the name that a client gives its conversation, "" if it gives none."""
    for header in _session_headers():
        if 0 < len(name := headers.get(header, "")) <= _MOST_CHARS:
            return name
    return read_user_id(frame)[1]


@cache
def _session_headers() -> tuple[str, ...]:
    """Return the headers that name a conversation, the most telling first."""
    own = (agent.identity.headers for agent in known_agents().values())
    return (OWN_HEADER, *chain.from_iterable(own), *_HEADERS)


def read_user_id(frame: Mapping[str, Any]) -> tuple[str, str]:
    """Return the account and the session in the user id of Claude Code, "" for what it has not: it
    is JSON, or words joined by underscores.
    """
    metadata = frame.get("metadata")
    held = cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}
    text = str(held.get("user_id", ""))
    if text.startswith("{"):
        try:
            found: dict[str, Any] = parse(text.encode())
        except NotReadable:
            return "", ""
        name = str(found.pop("session_id", ""))
        account = dump_text(dict(sorted(found.items())))
    else:
        account, mark, name = text.rpartition("_session_")
        name = name if mark else ""
    return account, name if len(name) <= _MOST_CHARS else ""


def make_start_name(raws: Sequence[Raw], dialect: str) -> str:
    """Return a name made of how a conversation began, up to the first answer of the model.

    "" as long as the model has not answered: two conversations may begin with the same words.
    """
    decode = dialect_named(dialect).decode
    said: list[bytes] = []
    for at, raw in enumerate(raws):
        (message,) = decode([parse(raw)], at)
        said.append(digest(message))
        if message.role == "assistant":
            return f"start-{blake2b(b''.join(said), digest_size=16).hexdigest()}"
    return ""


def bind_key(name: str, owner: str) -> str:
    """Return the key of an owner's conversation; no other name can be made to look like it."""
    return f"{name}@{owner}" if owner or _BOUND.search(name) else name


def find_owner(key: str) -> str:
    """Return the owner that a key names, "" if it names none."""
    found = _BOUND.search(key)
    return found[0][1:] if found else ""


def agent_of(headers: Mapping[str, str]) -> str:
    """Return the agent that sends a request, by what it calls itself; "gateway" if unknown."""
    called = f"{headers.get('user-agent', '')} {headers.get('x-app', '')}".lower()
    return next((name for word, name in _names_by_word() if word in called), "gateway")


@cache
def _names_by_word() -> tuple[tuple[str, str], ...]:
    """Return for each word in what agents call themselves the name of its agent."""
    found = known_agents().values()
    return tuple(
        (word, one.identity.name or one.name) for one in found for word in one.identity.words
    )
