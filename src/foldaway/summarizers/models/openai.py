"""OpenAI's two APIs through the openai SDK, and its own compaction; litellm speaks the first.

Chat completions are asked at any server that speaks them, Responses at OpenAI.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from foldaway._core import CachedPrefix, NativeAnswer, NativeRequest, SummaryAnswer, SummaryRequest
from foldaway.errors import SummarizerFailed
from foldaway.summarizers.models.failures import Reported
from foldaway.summarizers.models.keys import ANY, NO_KEY, OPENAI, access_to
from foldaway.summarizers.models.sdk import (
    CompactionApi,
    ModelSummarizer,
    SummaryApi,
    demand,
    load_package,
    sdk_compactor,
)
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
    read_stream,
    schema_in,
    string,
)

_CHAT_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "response_format": ("response_format", "json_schema", "structured output"),
    "stream_options": ("stream_options", "include_usage"),
    "max_completion_tokens": ("max_completion_tokens",),
    "tool_choice": ("tool_choice",),
    "prompt_cache_key": ("prompt_cache_key",),
}
_STOPS: Mapping[str, Stopped] = {"stop": "end", "length": "length", "content_filter": "refusal"}
_KEYED = frozenset(
    {
        "anthropic",
        "custom_openai",
        "hosted_vllm",
        "litellm_proxy",
        "llamafile",
        "lm_studio",
        "ollama",
        "ollama_chat",
        "openai",
    }
)
"""Providers for which litellm sends the key that it is given and no other. For the rest it may
sign with a cloud account of the machine or look for more keys, so that they are asked at an
address of one's own only if the user has paired it with a key."""
_RESPONSES_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "text.format": ("text.format", "json_schema", "structured output"),
    "tool_choice": ("tool_choice",),
    "prompt_cache_key": ("prompt_cache_key",),
}
_STATES: Mapping[str, Stopped] = {"completed": "end", "incomplete": "other"}
_INCOMPLETE: Mapping[str, Stopped] = {"max_output_tokens": "length", "content_filter": "refusal"}


# Chat completions


def chat_body(request: SummaryRequest, model: str, without: frozenset[str]) -> dict[str, Any]:
    """Return the body of the request, without the options that the server does not take."""
    length = "max_tokens" if "max_completion_tokens" in without else "max_completion_tokens"
    body: dict[str, Any] = {
        "model": model,
        "messages": _messages(request),
        "stream": True,
        length: request.max_tokens,
    }
    if "stream_options" not in without:
        body["stream_options"] = {"include_usage": True}
    prefix, schema = request.prefix, schema_in(request)
    if schema is not None and "response_format" not in without:
        form = {"name": "summary", "schema": schema, "strict": is_strict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if prefix is not None:
        body |= _beside(prefix, without)
    return body


def _messages(request: SummaryRequest) -> list[Any]:
    prefix = prefix_in(request, "openai-chat", "openai")
    if prefix is None:
        return [
            {"role": "system", "content": request.instructions},
            {"role": "user", "content": request.prompt},
        ]
    before = [{"role": "system", "content": prefix.system}] if prefix.system else []
    return [*before, *prefix.messages, appended_message(request)]


def _beside(prefix: CachedPrefix, without: frozenset[str]) -> dict[str, Any]:
    """Return the fields that the main request has next to its messages."""
    found: dict[str, Any] = {
        "reasoning_effort": prefix.thinking,
        "prompt_cache_key": prefix.prompt_cache_key or None,
    }
    if prefix.tools:
        found["tools"] = list(prefix.tools)
        found["tool_choice"] = choice_in(prefix) or "none"
    return {
        name: value for name, value in found.items() if value is not None and name not in without
    }


def take_chunk(answer: AnswerBuilder, event: Mapping[str, Any]) -> None:
    """Add one event of a stream."""
    _take(answer, event, "delta")


def take_completion(answer: AnswerBuilder, body: Mapping[str, Any]) -> None:
    """Add a whole answer."""
    _take(answer, body, "message")


def _take(answer: AnswerBuilder, event: Mapping[str, Any], field: str) -> None:
    answer.model = string(event.get("model")) or answer.model
    if event.get("usage"):
        answer.usage = _usage(event["usage"], "prompt_tokens", "completion_tokens")
    for choice in objects(event.get("choices")):
        message = mapping(choice.get(field))
        answer.say(string(message.get("content")))
        refused = string(message.get("refusal"))
        answer.say(refused)
        reason = string(choice.get("finish_reason"))
        if reason and answer.stopped is None:
            answer.stopped = _STOPS.get(reason, "other")
        if refused:
            answer.stopped = "refusal"


CHAT = SummaryApi(
    kind="openai",
    vendor=OPENAI,
    resource=lambda client: client.chat.completions,
    body=chat_body,
    event=take_chunk,
    whole=take_completion,
    options=_CHAT_OPTIONS,
)


def _usage(given: Any, input_field: str, output_field: str) -> dict[str, int]:
    usage = mapping(given)
    details = mapping(usage.get(f"{input_field}_details"))
    return {
        "input_tokens": number(usage.get(input_field)),
        "output_tokens": number(usage.get(output_field)),
        "cache_read_tokens": number(details.get("cached_tokens")),
        "cache_write_tokens": number(details.get("cache_write_tokens")),
    }


# Responses


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


def take_response_event(answer: AnswerBuilder, event: Mapping[str, Any]) -> None:
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
    answer.usage = _usage(body.get("usage"), "input_tokens", "output_tokens")
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


RESPONSES = SummaryApi(
    kind="openai-responses",
    vendor=OPENAI,
    resource=lambda client: client.responses,
    body=responses_body,
    event=take_response_event,
    whole=take_response,
    options=_RESPONSES_OPTIONS,
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
        **_usage(body.get("usage"), "input_tokens", "output_tokens"),
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


# litellm


def litellm_summarizer(
    model: str, *, url: str = "", api_key: str = "", key_variable: str = "", context_length: int = 0
) -> ModelSummarizer:
    """Return a summarizer that asks through litellm; the keys are in the variables it names.

    Raises `MissingExtra` if litellm is not installed.
    """
    demand("litellm", "a summary through litellm")
    access = access_to(ANY, url, api_key, key_variable)
    name = f"litellm:{model}"

    async def ask(
        request: SummaryRequest, seconds: float, without: frozenset[str]
    ) -> SummaryAnswer:
        library = await load_package("litellm")
        # it prints an advertisement to standard output on every error otherwise
        library.suppress_debug_info = True
        key = access.key(name)
        if key == NO_KEY and library.get_llm_provider(model)[1] not in _KEYED:
            raise SummarizerFailed("refused", name, f"check {access.remedy}")
        answer = AnswerBuilder.for_request(request)
        stream = await library.acompletion(
            **chat_body(request, model, without),
            api_base=url or None,
            api_key=key,
            extra_headers=access.headers(key, "") or None,
            timeout=seconds,
            num_retries=0,
            max_retries=0,
        )
        await read_stream(stream, answer, take_chunk)
        if not _is_finished(stream) and not answer.is_full:
            answer.stopped = None
        return answer.answer(name)

    return ModelSummarizer(
        name,
        ask,
        context_length=context_length,
        package="litellm",
        key=access.remedy,
        options=_CHAT_OPTIONS,
        tidy=_close_clients,
    )


def _is_finished(stream: Any) -> bool:
    """Return whether the provider said why it stopped; if not, litellm says "stop" itself."""
    fields = ("received_finish_reason", "intermittent_finish_reason")
    return not hasattr(stream, fields[0]) or any(getattr(stream, field, None) for field in fields)


async def _close_clients() -> None:
    """Close the clients that litellm keeps for the running loop, which ends now.

    It would keep them by the id of the loop, and hand them to a later loop of the same id.
    """
    library = await load_package("litellm")
    cache: Any = library.in_memory_llm_clients_cache
    suffix = f"-{id(asyncio.get_running_loop())}"
    for key in [key for key in cache.cache_dict if str(key).endswith(suffix)]:
        client = cache.cache_dict.pop(key)
        close = getattr(client, "aclose", None) or getattr(client, "close", None)
        if close is not None:
            await close()
