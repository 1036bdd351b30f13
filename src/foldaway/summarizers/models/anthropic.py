"""Messages through the anthropic SDK: texts, and Anthropic's own compaction on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from foldaway._core import NativeAnswer, NativeRequest, SummaryRequest
from foldaway.errors import FailureKind, SummarizerFailed
from foldaway.summarizers.models.keys import ANTHROPIC
from foldaway.summarizers.models.sdk import CompactionApi, SummaryApi, sdk_compactor
from foldaway.summarizers.models.wire import (
    AnswerBuilder,
    Stopped,
    appended_message,
    choice_in,
    is_strict,
    mapping,
    number,
    objects,
    prefix_in,
    schema_in,
    string,
)

BETA = "compact-2026-09-04"
"""Goes with a request to compact, and with every later one that carries the block."""
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "output_config": ("output_config", "output_format", "json_schema", "structured output")
}
_STOPS: Mapping[str, Stopped] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_NO_BLOCK: Mapping[str, tuple[FailureKind, str]] = {
    "max_tokens": ("empty answer", "cut off at its cap"),
    "model_context_window_exceeded": ("too long", "no room for the summary"),
    "tool_use": ("bad answer", "a call in place of a summary"),
    "refusal": ("empty answer", "the model declined"),
}
"""Why an answer holds no block, by its `stop_reason`; the status is 200 then too."""


def messages_body(request: SummaryRequest, model: str, without: frozenset[str]) -> dict[str, Any]:
    """Return the body of the request, without the options that the model does not take."""
    body: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "stream": True}
    prefix, schema = prefix_in(request, "anthropic", "anthropic"), schema_in(request)
    if prefix is None:
        body["system"] = request.instructions
        body["messages"] = [{"role": "user", "content": request.prompt}]
    else:
        # another tool_choice or thinking than the main request's would cost the cached messages
        body["messages"] = [*prefix.messages, appended_message(request)]
        if prefix.system is not None:
            body["system"] = prefix.system
        if prefix.tools:
            body["tools"] = list(prefix.tools)
            if (choice := choice_in(prefix)) is not None:
                body["tool_choice"] = choice
        if prefix.thinking is not None:
            body["thinking"] = prefix.thinking
            body["max_tokens"] += number(mapping(prefix.thinking).get("budget_tokens"))
    if schema is not None and is_strict(schema) and "output_config" not in without:
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body


def take_event(answer: AnswerBuilder, event: Mapping[str, Any]) -> None:
    """Add one event of a stream."""
    match event.get("type"):
        case "message_start":
            message = mapping(event.get("message"))
            answer.model = string(message.get("model"))
            answer.usage = _usage(mapping(message.get("usage")))
        case "content_block_delta":
            answer.say(string(mapping(event.get("delta")).get("text")))
        case "message_delta":
            # it repeats only some of the figures
            found = _usage(mapping(event.get("usage")))
            answer.usage = {name: n or answer.usage.get(name, 0) for name, n in found.items()}
            reason = string(mapping(event.get("delta")).get("stop_reason"))
            answer.stopped = _STOPS.get(reason, "other") if reason else answer.stopped
        case _:
            pass


def take_message(answer: AnswerBuilder, body: Mapping[str, Any]) -> None:
    """Add a whole answer."""
    answer.model = string(body.get("model"))
    answer.usage = _usage(mapping(body.get("usage")))
    for block in objects(body.get("content")):
        if block.get("type") == "text":
            answer.say(string(block.get("text")))
    reason = string(body.get("stop_reason"))
    answer.stopped = _STOPS.get(reason, "other") if reason else None


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return the figures; Anthropic counts what went through the cache apart from the input, here
    it is a part of it.
    """
    read = number(usage.get("cache_read_input_tokens"))
    written = number(usage.get("cache_creation_input_tokens"))
    return {
        "input_tokens": number(usage.get("input_tokens")) + read + written,
        "output_tokens": number(usage.get("output_tokens")),
        "cache_read_tokens": read,
        "cache_write_tokens": written,
    }


MESSAGES = SummaryApi(
    kind="anthropic",
    vendor=ANTHROPIC,
    resource=lambda client: client.messages,
    body=messages_body,
    event=take_event,
    whole=take_message,
    options=_OPTIONS,
)


# Anthropic's own compaction: a signed block


def _compaction_body(request: NativeRequest, model: str) -> dict[str, Any]:
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
    return body


def _read_block(body: Mapping[str, Any], name: str) -> NativeAnswer:
    """Return the block in an assistant message of its own, which is how it is sent back."""
    content = body.get("content")
    if not isinstance(content, list):
        raise SummarizerFailed("broken answer", name, "no list of blocks")
    stopped = string(body.get("stop_reason"))
    if stopped != "compaction" or not any(_is_summary(block) for block in objects(content)):
        kind, said = _NO_BLOCK.get(stopped, ("empty answer", "no compaction block"))
        raise SummarizerFailed(kind, name, said)
    return NativeAnswer(
        items=({"role": "assistant", "content": cast("list[Any]", content)},),
        model=string(body.get("model")),
        note=f"every request that carries the compaction block needs the beta header {BETA}",
        **_compaction_usage(mapping(body.get("usage"))),
    )


def _is_summary(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "compaction" and bool(string(block.get("content")))


def _compaction_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """Return the figures of the compaction: its own are in `iterations`, those above are zero."""
    passes = [one for one in objects(usage.get("iterations")) if one.get("type") == "compaction"]
    total: Counter[str] = Counter()
    for one in passes or [usage]:
        total.update(_usage(one))
    return dict(total)


anthropic_native = partial(
    sdk_compactor,
    CompactionApi(
        kind="anthropic",
        vendor=ANTHROPIC,
        create=lambda client: client.beta.messages.with_streaming_response.create,
        body=_compaction_body,
        read=_read_block,
    ),
)
"""Returns Anthropic's compaction with one of its models."""
