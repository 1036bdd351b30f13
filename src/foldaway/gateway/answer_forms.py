"""Answers that the gateway gives itself, as the provider of a wire would: whole, or as a stream.

No model was asked, so the usage that they report is 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from itertools import count
from typing import Any, TypeAlias

from msgspec import Struct

from foldaway.dialects import dump_bytes

Item: TypeAlias = dict[str, Any]
_NAME_BYTES = 12
"""Of the ids in an answer: as long as those of the providers, in hexadecimal digits."""


class OwnAnswer(Struct, frozen=True):
    """What a client gets instead of an answer of its provider."""

    body: bytes
    content_type: str = "application/json"


class Manner(Struct, frozen=True):
    """How a client wants its answer."""

    streams: bool = False
    is_array: bool = False
    """Whether the stream is one JSON list, as Gemini writes it if nobody asks for events."""
    with_usage: bool = True
    """Whether a stream of chat ends with its usage."""


def answer_with(wire: str, model: str, said: str | Item, manner: Manner) -> OwnAnswer:
    """Return a text, or an item of Responses, in the form of a wire."""
    whole, events = _FORMS[wire](model, said)
    if not manner.streams:
        return OwnAnswer(dump_bytes(whole))
    shown = [(name, data) for name, data in events if manner.with_usage or data.get("choices")]
    if manner.is_array:
        return OwnAnswer(dump_bytes([data for _, data in shown]))
    frames = [_frame(name, data) for name, data in shown]
    end = [b"data: [DONE]\n\n"] if wire == "chat" else []
    return OwnAnswer(b"".join([*frames, *end]), "text/event-stream")


def compact_answer(item: Item, kept: list[Any]) -> OwnAnswer:
    """Return the answer to `POST /responses/compact`: what the user said, then one item."""
    head = {"id": _name("resp_", item), "object": "response.compaction", "created_at": _now()}
    return OwnAnswer(dump_bytes({**head, "output": [*kept, item], "usage": _RESPONSES_USAGE}))


def _frame(name: str, data: Item) -> bytes:
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + dump_bytes(data) + b"\n\n"


def _name(prefix: str, said: object) -> str:
    return prefix + blake2b(repr(said).encode(), digest_size=_NAME_BYTES).hexdigest()


def _now() -> int:
    return int(time.time())


Form: TypeAlias = tuple[Item, Iterator[tuple[str, Item]]]
"""An answer as a whole, and as the events of a stream, each with its name."""


def _messages(model: str, said: Any) -> Form:
    usage = {
        "input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 0,
    }
    head: Item = {
        "id": _name("msg_", said),
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_sequence": None,
        "usage": usage,
    }
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    begun: Item = {**head, "content": [], "stop_reason": None}

    def events() -> Iterator[tuple[str, Item]]:
        for kind, more in (
            ("message_start", {"message": begun}),
            ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
            ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": said}}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": end, "usage": usage}),
            ("message_stop", {}),
        ):
            yield kind, {"type": kind, **more}

    return {**head, **end, "content": [{"type": "text", "text": said}]}, events()


def _chat(model: str, said: Any) -> Form:
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    head: Item = {"id": _name("chatcmpl-", said), "created": _now(), "model": model}
    message = {"role": "assistant", "content": said, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}

    def events() -> Iterator[tuple[str, Item]]:
        chunk = {**head, "object": "chat.completion.chunk"}
        for delta, reason in (
            ({"role": "assistant", "content": ""}, None),
            ({"content": said}, None),
            ({}, "stop"),
        ):
            choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
            yield "", {**chunk, "choices": choices}
        yield "", {**chunk, "choices": [], "usage": usage}

    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}, events()


_RESPONSES_USAGE: Mapping[str, Any] = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


def _responses(model: str, said: str | Item) -> Form:
    item = _message_item(said) if isinstance(said, str) else said
    head: Item = {
        "id": _name("resp_", said),
        "object": "response",
        "created_at": _now(),
        "model": model,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
    }
    begun: Item = {**head, "status": "in_progress", "output": [], "usage": None}
    whole: Item = {**head, "status": "completed", "output": [item], "usage": _RESPONSES_USAGE}

    def events() -> Iterator[tuple[str, Item]]:
        numbers = count()
        for kind, more in (
            ("response.created", {"response": begun}),
            ("response.in_progress", {"response": begun}),
            *_item_events(item),
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": whole}),
        ):
            yield kind, {"type": kind, "sequence_number": next(numbers), **more}

    return whole, events()


def _message_item(text: str) -> Item:
    part: Item = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": _name("msg_", text),
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _item_events(item: Item) -> Iterator[tuple[str, Item]]:
    """Yield how an item begins, and its text."""
    if item["type"] != "message":
        yield "response.output_item.added", {"output_index": 0, "item": item}
        return
    at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    (part,) = item["content"]
    begun: Item = {**item, "status": "in_progress", "content": []}
    text: Item = {"text": part["text"], "logprobs": []}
    yield "response.output_item.added", {"output_index": 0, "item": begun}
    yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
    yield "response.output_text.delta", {**at, "delta": part["text"], "logprobs": []}
    yield "response.output_text.done", {**at, **text}
    yield "response.content_part.done", {**at, "part": part}


def _gemini(model: str, said: Any) -> Form:
    usage = {"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0}
    content = {"role": "model", "parts": [{"text": said}]}
    whole = {
        "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "usageMetadata": usage,
        "modelVersion": model,
        "responseId": _name("", said),
    }
    return whole, iter([("", whole)])


_FORMS: Mapping[str, Callable[[str, Any], Form]] = {
    "messages": _messages,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
}
