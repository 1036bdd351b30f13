"""Anthropic's own compaction on demand: a signed block, through the anthropic SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from holdfast.errors import FailureKind, SummarizerFailed
from holdfast.ports import NativeAnswer, NativeRequest
from holdfast.writing.models.anthropic import anthropic_client
from holdfast.writing.models.asking import demand
from holdfast.writing.models.draft import mapping, number, objects, string
from holdfast.writing.models.keys import ANTHROPIC, access_to
from holdfast.writing.models.native_openai import NativeAsked, json_of

BETA = "compact-2026-09-04"
"""Goes with the request, and with every later one that carries the block."""

NO_BLOCK: Mapping[str, tuple[FailureKind, str]] = {
    "max_tokens": ("empty answer", "cut off at its cap"),
    "model_context_window_exceeded": ("too long", "no room for the summary"),
    "tool_use": ("bad answer", "a call in place of a summary"),
    "refusal": ("empty answer", "the model declined"),
}
"""Why an answer holds no block, by its `stop_reason`; the status is 200 then too."""


def anthropic_native(
    model: str, *, url: str = "", api_key: str = "", key_variable: str = ""
) -> NativeAsked:
    """Return Anthropic's compaction with one of its models.

    Raises `MissingExtra` where the SDK is not installed.
    """
    demand("anthropic", "a compaction by Anthropic")
    access = access_to(ANTHROPIC, url, api_key, key_variable)
    name = f"anthropic:{model}"

    async def ask(request: NativeRequest, seconds: float) -> NativeAnswer:
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": request.max_tokens,
            "messages": list(request.messages),
            "compaction": {"type": "summarize"},
            "betas": [BETA],
        }
        if request.system is not None:
            body["system"] = request.system
        if request.tools:
            body["tools"] = list(request.tools)
        async with (
            await anthropic_client(name, access, seconds) as client,
            client.beta.messages.with_streaming_response.create(**body) as response,
        ):
            return read_block(await json_of(response, name), name)

    return NativeAsked(name, "anthropic", ask, key=access.remedy)


def read_block(body: Mapping[str, Any], name: str) -> NativeAnswer:
    """Return the block in an assistant message of its own, which is how it is sent back."""
    content = body.get("content")
    if not isinstance(content, list):
        raise SummarizerFailed("broken answer", name, "no list of blocks")
    stopped = string(body.get("stop_reason"))
    if stopped != "compaction" or not any(_is_summary(block) for block in objects(content)):
        kind, said = NO_BLOCK.get(stopped, ("empty answer", "no compaction block"))
        raise SummarizerFailed(kind, name, said)
    return NativeAnswer(
        items=({"role": "assistant", "content": cast("list[Any]", content)},),
        model=string(body.get("model")),
        note=f"every request that carries the compaction block needs the beta header {BETA}",
        **_usage(mapping(body.get("usage"))),
    )


def _is_summary(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "compaction" and bool(string(block.get("content")))


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return the figures of the compaction: its own are in `iterations`, those above are zero."""
    passes = [one for one in objects(usage.get("iterations")) if one.get("type") == "compaction"]
    total = {"input_tokens": 0, "output_tokens": 0, "cache_read_tokens": 0, "cache_write_tokens": 0}
    for one in passes or [usage]:
        read = number(one.get("cache_read_input_tokens"))
        written = number(one.get("cache_creation_input_tokens"))
        total["input_tokens"] += number(one.get("input_tokens")) + read + written
        total["output_tokens"] += number(one.get("output_tokens"))
        total["cache_read_tokens"] += read
        total["cache_write_tokens"] += written
    return total
