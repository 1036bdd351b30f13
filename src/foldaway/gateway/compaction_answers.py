"""How the gateway answers a client that compacts by itself: from what it knows, at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from foldaway.agents.known import CompactionSign
from foldaway.dialects import dialect_named, parse, split_list, split_object
from foldaway.gateway.answer_forms import Manner, OwnAnswer, answer_with, compact_answer
from foldaway.gateway.client_compactions import (
    is_sealed,
    opened,
    sealed,
    without_question,
    words_of,
)
from foldaway.gateway.conversations import Conversations
from foldaway.gateway.requests import Passing, Turn, unpack_body
from foldaway.gateway.wires import CHAT, GEMINI, RESPONSES, Route

_MOST_SEARCHED = 16
"""Conversations that a text is compared with, the newest first; a client compacts the one that it
works on, and few clients use one gateway at once."""


async def build_own_answer(
    conversations: Conversations, route: Route, asked: Turn | Passing
) -> OwnAnswer | None:
    """Return the record of a conversation in the form that its client wants; None if the
    conversation is not known, or there is nothing to tell.
    """
    turn = asked if isinstance(asked, Turn) else asked.turn
    sign = asked.sign
    if sign is None or turn is None:
        return None
    record = await _record(conversations, route, turn, sign, is_list=turn is asked)
    if not record.strip():
        return None
    if sign.operation == "compact":
        return compact_answer(sealed(record), _list_user_messages(turn.body))
    said = sealed(record) if sign.gives == "sealed" else sign.gives.replace("{}", record)
    manner = _manner(route, split_object(turn.body))
    return answer_with(route.wire.name, turn.model, said, manner)


async def _record(
    conversations: Conversations, route: Route, turn: Turn, sign: CompactionSign, *, is_list: bool
) -> str:
    """Return what is known of the conversation that a request holds, as a list or as a text."""
    if is_list:
        key = dialect_named(route.wire.dialect).list_key
        alone = without_question(turn.body, sign, key)
        if found := await conversations.of(turn).record(turn, request=alone):
            return found
    text = await asyncio.to_thread(words_of, turn.body)
    if not is_list and turn.key:
        return await conversations.of(turn).record(turn, text=text, is_named=True)
    for one in conversations.list_recent(route.wire.name, turn.owner)[:_MOST_SEARCHED]:
        if found := await one.record(turn, text=text):
            return found
    return ""


def _list_user_messages(body: bytes) -> list[Any]:
    """Return the messages of the user, which stay beside a compaction item."""
    items: list[Any] = [parse(raw) for raw in split_list(split_object(body)["input"])]
    return [{"type": "message", **one} for one in items if one.get("role") == "user"]


def _manner(route: Route, fields: Mapping[str, Any]) -> Manner:
    if route.wire is GEMINI:
        return Manner(streams=bool(route.streams), is_array=route.streams == "list")
    options: Any = parse(fields["stream_options"]) if "stream_options" in fields else None
    with_usage = route.wire is not CHAT or (bool(options) and options.get("include_usage") is True)
    streams = "stream" in fields and parse(fields["stream"]) is True
    return Manner(streams=streams, with_usage=with_usage)


def with_records_opened(
    route: Route, headers: Mapping[str, str], body: bytes, most_bytes: int
) -> tuple[Mapping[str, str], bytes]:
    """Return a request with messages in the place of items that only we can read, and its headers;
    the very same if there are none. The provider would refuse such an item.
    """
    if route.wire is not RESPONSES:
        return headers, body
    plain = unpack_body(body, headers.get("content-encoding", ""), most_bytes)
    if plain is None or not is_sealed(plain):
        return headers, body
    kept = {name: value for name, value in headers.items() if name != "content-encoding"}
    return kept, opened(plain, "input")
