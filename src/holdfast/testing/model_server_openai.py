"""What OpenAI sends: chat completions, responses and compactions, whole or as events."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.testing.model_server_replies import Says

PIECE_CHARS = 16
"""How much text an event brings."""

_FINISH = {"end": "stop", "length": "length", "refusal": "content_filter"}


def tokens_of(value: Any) -> int:
    """Return a token for every four characters of the JSON."""
    return len(json.dumps(value)) // 4


def pieces(text: str) -> Iterator[str]:
    """Yield a text in the pieces in which it is streamed."""
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]


def sse(data: Any, event: str = "") -> bytes:
    """Return one event of a stream."""
    name = f"event: {event}\n" if event else ""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{name}data: {text}\n\n".encode()


def chat(body: Mapping[str, Any], says: Says) -> Mapping[str, Any] | list[bytes]:
    """Return a chat completion, or its chunks where the request asks for a stream."""
    shared = {"id": "chatcmpl-1", "created": 1, "model": body.get("model", "model")}
    finish = _FINISH[says.stopped]
    if not body.get("stream"):
        message = {"role": "assistant", "content": says.text, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        usage = _chat_usage(body, says)
        return {**shared, "object": "chat.completion", "choices": [choice], "usage": usage}

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return sse({**shared, "object": "chat.completion.chunk", "choices": [choice]})

    events = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": piece}) for piece in pieces(says.text)]
    events.append(chunk({}, finish))
    if (body.get("stream_options") or {}).get("include_usage"):
        usage = _chat_usage(body, says)
        chunk_of_usage = {**shared, "object": "chat.completion.chunk", "choices": []}
        events.append(sse({**chunk_of_usage, "usage": usage}))
    return [*events, sse("[DONE]")]


def responses(body: Mapping[str, Any], says: Says) -> Mapping[str, Any] | list[bytes]:
    """Return a response, or its events; with a compaction item where the request has one due."""
    whole = _response(body, says)
    if not body.get("stream"):
        return whole
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": begun}),
        ("response.in_progress", {"response": begun}),
    ]
    for index, item in enumerate(whole["output"]):
        events += _item_events(index, item)
    events.append((f"response.{whole['status']}", {"response": whole}))
    return [
        sse({"type": name, "sequence_number": number, **data}, name)
        for number, (name, data) in enumerate(events)
    ]


def compact(body: Mapping[str, Any], says: Says) -> Mapping[str, Any]:
    """Return what `/responses/compact` does: the user messages, then one compaction item."""
    given = body.get("input") or []
    asked: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else given
    users = [
        {"id": f"msg_{at}", "type": "message", "status": "completed", **item}
        for at, item in enumerate(asked)
        if isinstance(item, Mapping) and item.get("role") == "user"
    ]
    return {
        "id": "resp_1",
        "object": "response.compaction",
        "created_at": 1,
        "output": [*users, _compaction_item(says)],
        "usage": _responses_usage(body, says),
    }


def _response(body: Mapping[str, Any], says: Says) -> dict[str, Any]:
    part = {"type": "output_text", "text": says.text, "annotations": [], "logprobs": []}
    if says.stopped == "refusal":
        part = {"type": "refusal", "refusal": says.text}
    message = {
        "id": "msg_out",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    due = _compaction_is_due(body)
    is_short = says.stopped == "length"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "incomplete" if is_short else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if is_short else None,
        "model": body.get("model", "model"),
        "output": [*([_compaction_item(says)] if due else []), message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "usage": _responses_usage(body, says),
    }


def _item_events(index: int, item: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    place = {"output_index": index}
    if item["type"] == "compaction":
        added = ("response.output_item.added", {**place, "item": item})
        return [added, ("response.output_item.done", {**place, "item": item})]
    part = item["content"][0]
    kind = part["type"]
    field = "refusal" if kind == "refusal" else "text"
    at = {**place, "content_index": 0, "item_id": item["id"]}
    empty = {**item, "status": "in_progress", "content": []}
    deltas = [(f"response.{kind}.delta", {**at, "delta": piece}) for piece in pieces(part[field])]
    return [
        ("response.output_item.added", {**place, "item": empty}),
        ("response.content_part.added", {**at, "part": {**part, field: ""}}),
        *deltas,
        (f"response.{kind}.done", {**at, field: part[field]}),
        ("response.content_part.done", {**at, "part": part}),
        ("response.output_item.done", {**place, "item": item}),
    ]


def _compaction_item(says: Says) -> dict[str, Any]:
    hidden = base64.b64encode(says.compaction.encode()).decode()
    return {"id": "cmp_1", "type": "compaction", "encrypted_content": hidden}


def _compaction_is_due(body: Mapping[str, Any]) -> bool:
    thresholds = [
        each.get("compact_threshold") or 0
        for each in body.get("context_management") or []
        if each.get("type") == "compaction"
    ]
    return any(tokens_of(body.get("input")) >= threshold for threshold in thresholds)


def _chat_usage(body: Mapping[str, Any], says: Says) -> dict[str, Any]:
    read, written = _counts(body.get("messages"), says)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": _cache_details(says),
    }


def _responses_usage(body: Mapping[str, Any], says: Says) -> dict[str, Any]:
    read, written = _counts(body.get("input"), says)
    return {
        "input_tokens": read,
        "output_tokens": written,
        "total_tokens": read + written,
        "input_tokens_details": _cache_details(says),
        "output_tokens_details": {"reasoning_tokens": 0},
    }


def _cache_details(says: Says) -> dict[str, int]:
    return {"cached_tokens": says.cache_read_tokens, "cache_write_tokens": says.cache_write_tokens}


def _counts(asked: Any, says: Says) -> tuple[int, int]:
    read = tokens_of(asked) if says.input_tokens is None else says.input_tokens
    return read, len(says.text) // 4 if says.output_tokens is None else says.output_tokens
