"""The Responses API through the openai SDK: texts, and OpenAI's own compaction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from holdfast.errors import SummarizerFailed
from holdfast.ports import NativeAnswer, NativeRequest, SummaryRequest
from holdfast.writing.models.failures import Reported
from holdfast.writing.models.keys import OPENAI
from holdfast.writing.models.sdk import CompactionApi, SummaryApi, sdk_compactor
from holdfast.writing.models.wire import (
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

_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "text.format": ("text.format", "json_schema", "structured output"),
    "tool_choice": ("tool_choice",),
    "prompt_cache_key": ("prompt_cache_key",),
}
_STATES: Mapping[str, Stopped] = {"completed": "end", "incomplete": "other"}
_INCOMPLETE: Mapping[str, Stopped] = {"max_output_tokens": "length", "content_filter": "refusal"}


def responses_body(request: SummaryRequest, model: str, without: frozenset[str]) -> dict[str, Any]:
    """Return the body of the request, without the options that the server does not take."""
    body: dict[str, Any] = {
        "model": model,
        "max_output_tokens": request.max_tokens,
        "store": False,
        "stream": True,
    }
    prefix, schema = prefix_in(request, "openai-responses", "openai-responses"), schema_in(request)
    if prefix is None:
        body["instructions"] = request.instructions
        body["input"] = [{"role": "user", "content": request.prompt}]
    else:
        body["input"] = [*prefix.messages, appended_message(request)]
        if prefix.system is not None:
            body["instructions"] = prefix.system
        if prefix.tools:
            body["tools"] = list(prefix.tools)
            if "tool_choice" not in without:
                body["tool_choice"] = choice_in(prefix) or "none"
        if prefix.thinking is not None:
            body["reasoning"] = prefix.thinking
        if prefix.prompt_cache_key and "prompt_cache_key" not in without:
            body["prompt_cache_key"] = prefix.prompt_cache_key
    if schema is not None and "text.format" not in without:
        form = {"name": "summary", "schema": schema, "strict": is_strict(schema)}
        body["text"] = {"format": {"type": "json_schema", **form}}
    return body


def take_event(answer: AnswerBuilder, event: Mapping[str, Any]) -> None:
    """Add one event of a stream; the last one holds the whole answer."""
    match event.get("type"):
        case "response.output_text.delta":
            answer.say(string(event.get("delta")))
        case "response.completed" | "response.incomplete" | "response.failed":
            take_response(answer, mapping(event.get("response")))
        case "error":
            # its `type` is that of the event, not of the error
            raise Reported({"code": event.get("code")})
        case _:
            pass


def take_response(answer: AnswerBuilder, body: Mapping[str, Any]) -> None:
    """Replace what came before by a whole answer."""
    if body.get("error"):
        raise Reported(body)
    answer.model = string(body.get("model"))
    answer.usage = _usage(mapping(body.get("usage")))
    reason = string(mapping(body.get("incomplete_details")).get("reason"))
    answer.stopped = _INCOMPLETE.get(reason) or _STATES.get(string(body.get("status")))
    answer.pieces, answer.chars = [], 0
    for item in objects(body.get("output")):
        if item.get("type") == "message":
            _take_content(answer, item)


def _take_content(answer: AnswerBuilder, item: Mapping[str, Any]) -> None:
    for part in objects(item.get("content")):
        if part.get("type") == "refusal":
            answer.stopped = "refusal"
            answer.say(string(part.get("refusal")))
        else:
            answer.say(string(part.get("text")))


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    details = mapping(usage.get("input_tokens_details"))
    return {
        "input_tokens": number(usage.get("input_tokens")),
        "output_tokens": number(usage.get("output_tokens")),
        "cache_read_tokens": number(details.get("cached_tokens")),
        "cache_write_tokens": number(details.get("cache_write_tokens")),
    }


RESPONSES = SummaryApi(
    kind="openai-responses",
    vendor=OPENAI,
    resource=lambda client: client.responses,
    body=responses_body,
    event=take_event,
    whole=take_response,
    options=_OPTIONS,
)
"""Nothing is stored there."""


# OpenAI's own compaction, /responses/compact


def _compaction_body(request: NativeRequest, model: str) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model, "input": list(request.messages)}
    return body if request.system is None else {**body, "instructions": request.system}


def _read_compacted(body: Mapping[str, Any], name: str) -> NativeAnswer:
    """Return the compacted window: all of its items, because it must not be pruned."""
    output = body.get("output")
    if not isinstance(output, list):
        raise SummarizerFailed("broken answer", name, "no list of items")
    if not any(_is_sealed(item) for item in objects(output)):
        raise SummarizerFailed("empty answer", name, "no compaction item")
    return NativeAnswer(
        items=tuple(cast("list[Any]", output)),
        model=string(body.get("model")),
        note="",
        **_usage(mapping(body.get("usage"))),
    )


def _is_sealed(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "compaction" and bool(string(item.get("encrypted_content")))


openai_native = partial(
    sdk_compactor,
    CompactionApi(
        kind="openai-responses",
        vendor=OPENAI,
        create=lambda client: client.responses.with_streaming_response.compact,
        body=_compaction_body,
        read=_read_compacted,
    ),
)
"""Returns OpenAI's compaction with one of its models; nothing is stored there."""
