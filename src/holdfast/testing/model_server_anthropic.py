"""What Anthropic sends: messages whole or as events, token counts, compaction blocks."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.testing.model_server_openai import pieces, sse, tokens_of
from holdfast.testing.model_server_replies import Says

DEFAULT_TRIGGER_TOKENS = 150_000

_STOP = {"end": "end_turn", "length": "max_tokens", "refusal": "refusal"}


def messages(body: Mapping[str, Any], says: Says) -> Mapping[str, Any] | list[bytes]:
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
    events: list[tuple[str, dict[str, Any]]] = [("message_start", {"message": start})]
    for index, block in enumerate(blocks):
        events += _block_events(index, block)
    ended = {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    events += [("message_delta", ended), ("message_stop", {})]
    return [sse({"type": name, **data}, name) for name, data in events]


def count_tokens(body: Mapping[str, Any], says: Says) -> Mapping[str, Any]:
    """Return the size of a request: a token for every four characters, unless the reply says."""
    counted = _input_tokens(body, says)
    if body.get("context_management"):
        original = {"original_input_tokens": counted}
        return {"input_tokens": counted, "context_management": original}
    return {"input_tokens": counted}


def _content(body: Mapping[str, Any], says: Says) -> tuple[list[dict[str, Any]], str]:
    block = {"type": "compaction", "content": says.compaction, "signature": "signed"}
    text = {"type": "text", "text": says.text, "citations": None}
    if body.get("compaction"):
        return [block], "compaction"
    edit = _due_edit(body, says)
    if edit is None:
        return [text], _STOP[says.stopped]
    if edit.get("pause_after_compaction"):
        return [block], "compaction"
    return [block, text], _STOP[says.stopped]


def _due_edit(body: Mapping[str, Any], says: Says) -> Mapping[str, Any] | None:
    for edit in (body.get("context_management") or {}).get("edits") or []:
        if edit.get("type") == "compact_20260112":
            trigger = (edit.get("trigger") or {}).get("value", DEFAULT_TRIGGER_TOKENS)
            return edit if _input_tokens(body, says) >= trigger else None
    return None


def _block_events(index: int, block: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
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


def _usage(body: Mapping[str, Any], says: Says, *, compacted: bool) -> dict[str, Any]:
    written = len(says.text) // 4 if says.output_tokens is None else says.output_tokens
    usage: dict[str, Any] = {
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
