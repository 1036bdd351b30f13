"""What a model server is asked, what it can be told to do, and the JSON that OpenAI and Anthropic
would send for it, whole or as events.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from math import sqrt
from threading import Event
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from foldaway.transcript import Payload

Api: TypeAlias = Literal["chat", "responses", "compact", "embeddings", "messages", "count_tokens"]


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One request as it came."""

    api: Api
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    raw: bytes = b""
    """The body as it came."""
    left: Event = field(default_factory=Event)
    """Set when the client went away before its answer was complete."""


class Says(Struct, frozen=True):
    """The model says something; streamed where the request asks for that."""

    text: str
    stopped: Literal["end", "length", "refusal"] = "end"
    input_tokens: int | None = None
    """Where None, a token for every four characters of the request."""
    output_tokens: int | None = None
    """Where None, a token for every four characters of the text."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    compaction: str = "What was said so far."
    """The summary in a compaction block, where the request asks for one."""


class Sends(Struct, frozen=True, kw_only=True):
    """An HTTP answer as it is: an object as JSON, a text as HTML unless the headers say more."""

    status: int = 200
    body: Mapping[str, object] | str | bytes = ""
    headers: Mapping[str, str] = {}


class Cuts(Struct, frozen=True):
    """An answer of which only the first bytes come; then the connection is closed."""

    reply: Says | Sends
    after: int = 0


class Trickles(Struct, frozen=True):
    """An answer that comes a byte at a time."""

    reply: Says | Sends
    seconds: float = 0.05
    """Between two bytes."""


class Drops(Struct, frozen=True):
    """The connection goes away before the headers of an answer."""

    reset: bool = True
    """Whether by a reset; otherwise it is closed in order."""


class Waits(Struct, frozen=True):
    """Nothing comes until `until` is set, or the client has left, or the server is closed."""

    until: Event
    then: Says | Sends | Cuts | Trickles | Drops = Says("")


Reply: TypeAlias = Says | Sends | Cuts | Trickles | Drops | Waits
Script: TypeAlias = str | Reply | Callable[[ModelRequest], "str | Reply"]
"""What to reply: always the same, or by the request."""


def openai_error(
    status: int,
    code: str = "",
    message: str = "an error",
    *,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Sends:
    """Return an error as OpenAI sends it."""
    error = {"message": message, "type": code or "invalid_request_error"}
    body = {"error": {**error, "param": param, "code": code or None}}
    return Sends(status=status, body=body, headers=headers or {})


def anthropic_error(
    status: int, kind: str, message: str = "an error", *, headers: Mapping[str, str] | None = None
) -> Sends:
    """Return an error as Anthropic sends it."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return Sends(status=status, body=body, headers=headers or {})


def in_turn(*replies: str | Reply) -> Callable[[ModelRequest], str | Reply]:
    """Return a script that gives each reply once; one request too many is an `AssertionError`."""
    left = iter(replies)

    def script(request: ModelRequest) -> str | Reply:
        found = next(left, None)
        if found is None:
            raise AssertionError(f"the script is over: one more request to {request.path}")
        return found

    return script


PIECE_CHARS = 16
"""How much text an event brings."""

_FINISH = {"end": "stop", "length": "length", "refusal": "content_filter"}


def tokens_of(value: object) -> int:
    """Return a token for every four characters of the JSON."""
    return len(json.dumps(value)) // 4


def pieces(text: str) -> Iterator[str]:
    """Yield a text in the pieces in which it is streamed."""
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]


def sse(data: object, event: str = "") -> bytes:
    """Return one event of a stream."""
    name = f"event: {event}\n" if event else ""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{name}data: {text}\n\n".encode()


def chat(body: Mapping[str, Any], says: Says) -> Mapping[str, object] | list[bytes]:
    """Return a chat completion, or its chunks where the request asks for a stream."""
    shared = {"id": "chatcmpl-1", "created": 1, "model": body.get("model", "model")}
    finish = _FINISH[says.stopped]
    if not body.get("stream"):
        message = {"role": "assistant", "content": says.text, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        usage = _chat_usage(body, says)
        return {**shared, "object": "chat.completion", "choices": [choice], "usage": usage}

    def chunk(delta: Mapping[str, object], reason: str | None = None) -> bytes:
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


def responses(body: Mapping[str, Any], says: Says) -> Mapping[str, object] | list[bytes]:
    """Return a response, or its events; with a compaction item where the request has one due."""
    whole = _response(body, says)
    if not body.get("stream"):
        return whole
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[tuple[str, Payload]] = [
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


def compact(body: Mapping[str, Any], says: Says) -> Mapping[str, object]:
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


def _response(body: Mapping[str, Any], says: Says) -> Payload:
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


def _item_events(index: int, item: Mapping[str, Any]) -> list[tuple[str, Payload]]:
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


def _compaction_item(says: Says) -> Payload:
    hidden = base64.b64encode(says.compaction.encode()).decode()
    return {"id": "cmp_1", "type": "compaction", "encrypted_content": hidden}


def _compaction_is_due(body: Mapping[str, Any]) -> bool:
    thresholds = [
        each.get("compact_threshold") or 0
        for each in body.get("context_management") or []
        if each.get("type") == "compaction"
    ]
    return any(tokens_of(body.get("input")) >= threshold for threshold in thresholds)


def _chat_usage(body: Mapping[str, Any], says: Says) -> Payload:
    read, written = _counts(body.get("messages"), says)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": _cache_details(says),
    }


def _responses_usage(body: Mapping[str, Any], says: Says) -> Payload:
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


def _counts(asked: object, says: Says) -> tuple[int, int]:
    read = tokens_of(asked) if says.input_tokens is None else says.input_tokens
    return read, len(says.text) // 4 if says.output_tokens is None else says.output_tokens


DEFAULT_TRIGGER_TOKENS = 150_000

_STOP = {"end": "end_turn", "length": "max_tokens", "refusal": "refusal"}


def messages(body: Mapping[str, Any], says: Says) -> Mapping[str, object] | list[bytes]:
    """Return a message, or its events; with a compaction block where the request has one due."""
    blocks, stop = _content(body, says)
    usage = _usage(body, says, compacted=blocks[0]["type"] == "compaction")
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "model"),
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    if body.get("context_management"):
        whole["context_management"] = {"applied_edits": []}
    if not body.get("stream"):
        return whole
    begun = {**usage, "output_tokens": 0}
    start = {**whole, "content": [], "stop_reason": None, "usage": begun}
    events: list[tuple[str, Payload]] = [("message_start", {"message": start})]
    for index, block in enumerate(blocks):
        events += _block_events(index, block)
    ended = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    events += [("message_delta", ended), ("message_stop", {})]
    return [sse({"type": name, **data}, name) for name, data in events]


def count_tokens(body: Mapping[str, Any], says: Says) -> Mapping[str, object]:
    """Return the size of a request: a token for every four characters, unless the reply says."""
    counted = _input_tokens(body, says)
    if body.get("context_management"):
        original = {"original_input_tokens": counted}
        return {"input_tokens": counted, "context_management": original}
    return {"input_tokens": counted}


def _content(body: Mapping[str, Any], says: Says) -> tuple[list[Payload], str]:
    block = {"type": "compaction", "content": says.compaction, "signature": "signed"}
    text = {"type": "text", "text": says.text, "citations": None}
    if body.get("compaction"):
        return [block], "compaction"
    edit = _choose_edit(body, says)
    if edit is None:
        return [text], _STOP[says.stopped]
    if edit.get("pause_after_compaction"):
        return [block], "compaction"
    return [block, text], _STOP[says.stopped]


def _choose_edit(body: Mapping[str, Any], says: Says) -> Mapping[str, object] | None:
    for edit in (body.get("context_management") or {}).get("edits") or []:
        if edit.get("type") == "compact_20260112":
            trigger = (edit.get("trigger") or {}).get("value", DEFAULT_TRIGGER_TOKENS)
            return edit if _input_tokens(body, says) >= trigger else None
    return None


def _block_events(index: int, block: Mapping[str, Any]) -> list[tuple[str, Payload]]:
    at = {"index": index}
    if block["type"] == "compaction":
        delta = {"type": "compaction_delta", "content": block["content"]}
        begun = {**block, "content": None}
        deltas = [("content_block_delta", {**at, "delta": delta})]
    else:
        begun = {**block, "text": ""}
        deltas = [
            ("content_block_delta", {**at, "delta": {"type": "text_delta", "text": piece}})
            for piece in pieces(block["text"])
        ]
    start = ("content_block_start", {**at, "content_block": begun})
    return [start, *deltas, ("content_block_stop", at)]


def _usage(body: Mapping[str, Any], says: Says, *, compacted: bool) -> Payload:
    written = len(says.text) // 4 if says.output_tokens is None else says.output_tokens
    usage: Payload = {
        "input_tokens": _input_tokens(body, says),
        "output_tokens": written,
        "cache_read_input_tokens": says.cache_read_tokens,
        "cache_creation_input_tokens": says.cache_write_tokens,
    }
    if compacted:
        usage["iterations"] = [{"type": "compaction", **usage}, {"type": "message", **usage}]
    return usage


def _input_tokens(body: Mapping[str, Any], says: Says) -> int:
    if says.input_tokens is not None:
        return says.input_tokens
    return sum(tokens_of(body.get(field)) for field in ("system", "tools", "messages"))


DIMENSIONS = 256
"""Where the request names none."""


def embeddings(body: Mapping[str, Any], says: Says) -> Mapping[str, object]:
    """Return a vector for each text of the request; what the script says is not used."""
    del says
    given: Any = body.get("input") or []
    texts: list[Any] = [given] if isinstance(given, str) else list(given)
    dimensions = int(body.get("dimensions") or DIMENSIONS)
    data = [
        {"object": "embedding", "index": at, "embedding": vector_of(str(text), dimensions)}
        for at, text in enumerate(texts)
    ]
    used = tokens_of(texts)
    usage = {"prompt_tokens": used, "total_tokens": used}
    return {"object": "list", "model": body.get("model", "model"), "data": data, "usage": usage}


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Return a vector of length 1 that counts words, each at a place by its hash."""
    counts = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or [""]:
        data = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
        counts[int.from_bytes(data) % dimensions] += 1.0
    length = sqrt(sum(count * count for count in counts))
    return [count / length for count in counts]
