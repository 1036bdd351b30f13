"""What a store keeps of a session, and back: messages, usage, snapshots of the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from foldaway.dialects import dialect_named, dump_bytes, parse
from foldaway.engine import answer_tokens_of, first_int, prompt_tokens_of
from foldaway.search import clean, extract_searchable
from foldaway.stores import NewMessage, SessionInfo, Store, StoredMessage, StoredView, TurnUsage
from foldaway.transcript import Message, ToolCall, ToolResult

_NO_NAMES: Mapping[str, str] = {}
INBOX = "inbox of "
"""Before the key of a conversation, what its inbox is known by: so the key alone finds the
conversation."""


def new_message(
    message: Message,
    tokens: int,
    *,
    body: bytes | Raw | None = None,
    names: Mapping[str, str] = _NO_NAMES,
    time: float | None = None,
    key: str = "",
    generated: bool = False,
) -> NewMessage:
    """Return a message as it is appended: its payload, what it is found by, its tokens.

    `body` is what is kept as its payload, if that is not the message's own.
    `names` are the tools of earlier calls by their ids: most dialects do not name them again in a
    result. A message of results only is a tool's, whatever its role.
    """
    found = extract_searchable(message)
    role, tools = message.role, found.tools
    if results := [part for part in message.parts if isinstance(part, ToolResult)]:
        answered = (names[part.call_id] for part in results if part.call_id in names)
        tools = tuple(dict.fromkeys((*tools, *map(clean, answered))))
        role = "tool" if len(results) == len(message.parts) else role
    return NewMessage(
        body=dump_bytes(message.wire) if body is None else body,
        role=role,
        text=found.text,
        tools=tools,
        time=time,
        key=key,
        tokens=tokens,
        generated=generated,
    )


def tool_names(messages: Iterable[Message]) -> dict[str, str]:
    """Return the tools that were called, by the ids of their calls."""
    return {
        part.id: part.name
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCall)
    }


def frame_of(info: SessionInfo) -> dict[str, Any]:
    """Return what is kept with a session beside its messages."""
    return cast("dict[str, Any]", parse(info.frame)) if info.frame else {}


def payloads(rows: Iterable[StoredMessage]) -> list[Any]:
    """Return the wire messages of stored ones."""
    return [parse(row.body) for row in rows]


def decode_rows(rows: Sequence[StoredMessage], dialect: str) -> Sequence[Message]:
    """Return stored messages in the one model, at their positions."""
    return dialect_named(dialect).decode(payloads(rows), rows[0].position if rows else 0)


def turn_usage(usage: Mapping[str, Any], **facts: Any) -> TurnUsage:
    """Return a usage report with the `facts` that are not in it: position, model, view, …"""
    return TurnUsage(
        input_tokens=prompt_tokens_of(usage),
        output_tokens=answer_tokens_of(usage),
        cache_read_tokens=_count_cached(usage),
        cache_write_tokens=first_int(usage, "cache_creation_input_tokens"),
        cache_hour_tokens=_first_inside(usage, ("cache_creation",), "ephemeral_1h_input_tokens"),
        **facts,
    )


def usage_in(rows: Iterable[StoredMessage]) -> tuple[TurnUsage, ...]:
    """Return what the messages of a log say themselves about their requests.

    Some agents write the provider's report into each answer. An answer that is spread over
    several messages repeats it: it counts once, at its first message, as its last one has it.
    """
    found: dict[str, TurnUsage] = {}
    for row in rows:
        if row.role != "assistant" or b'"usage"' not in row.body:
            continue
        payload: Any = parse(row.body)
        wire = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
        usage = wire.get("usage")
        if isinstance(usage, dict):
            name = str(wire.get("id") or row.position)
            first = found[name].position if name in found else row.position
            found[name] = turn_usage(
                cast("dict[str, Any]", usage),
                position=first,
                time=row.time,
                model=str(wire.get("model") or ""),
            )
    return tuple(found.values())


def _count_cached(usage: Mapping[str, Any]) -> int:
    """Return how many tokens of a prompt the provider had in its cache."""
    found = first_int(
        usage, "cache_read_input_tokens", "cachedContentTokenCount", "cached_content_token_count"
    )
    inside = ("prompt_tokens_details", "input_tokens_details")
    return found or _first_inside(usage, inside, "cached_tokens")


def _first_inside(usage: Mapping[str, Any], objects: Iterable[str], name: str) -> int:
    """Return the first figure under a name in one of the objects of a report."""
    given = (usage.get(one) for one in objects)
    inner = (cast("Mapping[str, Any]", one) for one in given if isinstance(one, Mapping))
    return next((found for one in inner if (found := first_int(one, name))), 0)


class _Between(Struct, frozen=True):
    """A snapshot that was taken between two compactions, and the view that it belongs to."""

    session_id: str
    view: int
    snapshot: Raw


_BETWEEN = msgspec.json.Decoder(_Between)


def snapshot_of(store: Store, info: SessionInfo, view: StoredView | None) -> bytes:
    """Return what an engine goes on from: what was learnt since the view was made, or with it."""
    saved = store.state(info.id)
    if saved:
        between = _BETWEEN.decode(saved)
        if (between.session_id, between.view) == (info.id, info.view):
            return bytes(between.snapshot)
    return b"" if view is None else view.state


def save_snapshot(store: Store, info: SessionInfo, snapshot: bytes) -> None:
    """Keep what was learnt since the last compaction: pauses, calibration. Nothing is kept if
    the session has another view by now: what it tells of may have been erased.
    """
    between = _Between(info.id, info.view, Raw(snapshot))
    store.save_state(info.id, msgspec.json.encode(between), view=info.view)
