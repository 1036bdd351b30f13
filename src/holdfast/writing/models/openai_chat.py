"""Chat completions through the openai SDK, at OpenAI or at any server that speaks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.errors import SummarizerFailed
from holdfast.ports import CachedPrefix, SummaryAnswer, SummaryRequest
from holdfast.writing.models.asking import Asked, demand, imported
from holdfast.writing.models.draft import (
    Draft,
    Stopped,
    draft_for,
    mapping,
    number,
    objects,
    read_answer,
    string,
)
from holdfast.writing.models.failures import Reported
from holdfast.writing.models.keys import OPENAI, Access, access_to
from holdfast.writing.models.question import (
    appended_text,
    choice_in,
    is_strict,
    prefix_in,
    schema_in,
)
from holdfast.writing.models.threads import in_thread

CONNECT_SECONDS = 10.0

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "response_format": ("response_format", "json_schema", "structured output"),
    "stream_options": ("stream_options", "include_usage"),
    "max_completion_tokens": ("max_completion_tokens",),
    "tool_choice": ("tool_choice",),
    "prompt_cache_key": ("prompt_cache_key",),
}
"""What not every server takes, and the words by which a 400 is known to be about it."""

STOPS: Mapping[str, Stopped] = {
    "stop": "end",
    "length": "length",
    "content_filter": "refusal",
}


def openai_chat(
    model: str,
    *,
    url: str = "",
    api_key: str = "",
    key_variable: str = "",
    context_length: int = 0,
) -> Asked:
    """Return a summariser that asks a chat model; the key is in `OPENAI_API_KEY`.

    A server at `url` may have no key. Raises `MissingExtra` where the SDK is not installed.
    """
    demand("openai", "a summary by OpenAI")
    access = access_to(OPENAI, url, api_key, key_variable)
    name = f"openai:{model}"

    async def ask(
        request: SummaryRequest, seconds: float, without: frozenset[str]
    ) -> SummaryAnswer:
        body = chat_body(request, model, without)
        async with (
            await openai_client(name, access, seconds) as client,
            client.chat.completions.with_streaming_response.create(**body) as response,
        ):
            draft = draft_for(request)
            return await read_answer(response, draft, name, event=take_chunk, body=take_completion)

    return Asked(
        name,
        ask,
        context_length=context_length,
        package="openai",
        key=access.remedy,
        options=OPTIONS,
    )


async def openai_client(name: str, access: Access, seconds: float) -> Any:
    """Return a client of the SDK that does not retry and waits no longer than `seconds`.

    It is made beside the event loop: reading the certificates takes some 50 ms.
    """
    sdk = await imported("openai")
    settings: dict[str, Any] = {
        **access.client_options(name, sdk.Omit()),
        "max_retries": 0,
        "timeout": sdk.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
    }
    try:
        return await in_thread(lambda: sdk.AsyncOpenAI(**settings))
    except sdk.OpenAIError:
        raise SummarizerFailed("refused", name, f"no key; set {OPENAI.key}") from None


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


def _beside(prefix: CachedPrefix, without: frozenset[str]) -> dict[str, Any]:
    """Return the fields of the main request that stand beside its messages."""
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


def _messages(request: SummaryRequest) -> list[Any]:
    prefix = prefix_in(request, "openai-chat", "openai")
    if prefix is None:
        return [
            {"role": "system", "content": request.instructions},
            {"role": "user", "content": request.prompt},
        ]
    before = [{"role": "system", "content": prefix.system}] if prefix.system else []
    return [*before, *prefix.messages, {"role": "user", "content": appended_text(request)}]


def take_chunk(draft: Draft, event: Mapping[str, Any]) -> None:
    """Add one event of a stream."""
    _take(draft, event, "delta")


def take_completion(draft: Draft, body: Mapping[str, Any]) -> None:
    """Add a whole answer, of a server that does not stream."""
    if body.get("error"):
        raise Reported(body)
    _take(draft, body, "message")


def _take(draft: Draft, event: Mapping[str, Any], field: str) -> None:
    draft.model = string(event.get("model")) or draft.model
    if event.get("usage"):
        draft.usage = _usage(mapping(event["usage"]))
    for choice in objects(event.get("choices")):
        message = mapping(choice.get(field))
        draft.say(string(message.get("content")))
        refused = string(message.get("refusal"))
        draft.say(refused)
        reason = string(choice.get("finish_reason"))
        if reason and draft.stopped is None:
            draft.stopped = STOPS.get(reason, "other")
        if refused:
            draft.stopped = "refusal"


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    details = mapping(usage.get("prompt_tokens_details"))
    return {
        "input_tokens": number(usage.get("prompt_tokens")),
        "output_tokens": number(usage.get("completion_tokens")),
        "cache_read_tokens": number(details.get("cached_tokens")),
        "cache_write_tokens": number(details.get("cache_write_tokens")),
    }
