"""Messages through the anthropic SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.errors import SummarizerFailed
from holdfast.ports import SummaryAnswer, SummaryRequest
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
from holdfast.writing.models.keys import ANTHROPIC, Access, access_to
from holdfast.writing.models.openai_chat import CONNECT_SECONDS
from holdfast.writing.models.question import (
    appended_text,
    choice_in,
    is_strict,
    prefix_in,
    schema_in,
)
from holdfast.writing.models.threads import in_thread

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "output_config": ("output_config", "output_format", "json_schema", "structured output"),
}
"""What not every model takes, and the words by which a 400 is known to be about it."""

STOPS: Mapping[str, Stopped] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}

_CACHE_FIELDS = ("cache_read_input_tokens", "cache_creation_input_tokens")


def anthropic(
    model: str,
    *,
    url: str = "",
    api_key: str = "",
    key_variable: str = "",
    context_length: int = 0,
) -> Asked:
    """Return a summariser that asks a Claude model; the key is in `ANTHROPIC_API_KEY`.

    Raises `MissingExtra` where the SDK is not installed.
    """
    demand("anthropic", "a summary by Anthropic")
    access = access_to(ANTHROPIC, url, api_key, key_variable)
    name = f"anthropic:{model}"

    async def ask(
        request: SummaryRequest, seconds: float, without: frozenset[str]
    ) -> SummaryAnswer:
        body = messages_body(request, model, without)
        async with (
            await anthropic_client(name, access, seconds) as client,
            client.messages.with_streaming_response.create(**body) as response,
        ):
            draft = draft_for(request)
            return await read_answer(response, draft, name, event=take_event, body=take_message)

    return Asked(
        name,
        ask,
        context_length=context_length,
        package="anthropic",
        key=access.remedy,
        options=OPTIONS,
    )


async def anthropic_client(name: str, access: Access, seconds: float) -> Any:
    """Return a client of the SDK that does not retry and waits no longer than `seconds`."""
    sdk = await imported("anthropic")
    settings: dict[str, Any] = {
        **access.client_options(name, sdk.Omit()),
        "max_retries": 0,
        "timeout": sdk.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
    }
    client = await in_thread(lambda: sdk.AsyncAnthropic(**settings))
    # the SDK notices a missing key only when it sends, with an error of no type of its own
    if any(getattr(client, held, None) for held in ("api_key", "auth_token", "credentials")):
        return client
    await client.close()
    raise SummarizerFailed("refused", name, f"no key; set {ANTHROPIC.key}")


def messages_body(request: SummaryRequest, model: str, without: frozenset[str]) -> dict[str, Any]:
    """Return the body of the request, without the options that the model does not take."""
    body: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "stream": True}
    prefix, schema = prefix_in(request, "anthropic", "anthropic"), schema_in(request)
    if prefix is None:
        body["system"] = request.instructions
        body["messages"] = [{"role": "user", "content": request.prompt}]
    else:
        # another tool_choice or thinking than the main request's would cost the cached messages
        body["messages"] = [*prefix.messages, {"role": "user", "content": appended_text(request)}]
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


def take_event(draft: Draft, event: Mapping[str, Any]) -> None:
    """Add one event of a stream."""
    match event.get("type"):
        case "message_start":
            message = mapping(event.get("message"))
            draft.model = string(message.get("model"))
            draft.usage = _usage(mapping(message.get("usage")), {})
        case "content_block_delta":
            draft.say(string(mapping(event.get("delta")).get("text")))
        case "message_delta":
            draft.usage = _usage(mapping(event.get("usage")), draft.usage)
            reason = string(mapping(event.get("delta")).get("stop_reason"))
            draft.stopped = STOPS.get(reason, "other") if reason else draft.stopped
        case _:
            pass


def take_message(draft: Draft, body: Mapping[str, Any]) -> None:
    """Add a whole answer, of a server that does not stream."""
    if body.get("error"):
        raise Reported(body)
    draft.model = string(body.get("model"))
    draft.usage = _usage(mapping(body.get("usage")), {})
    for block in objects(body.get("content")):
        if block.get("type") == "text":
            draft.say(string(block.get("text")))
    reason = string(body.get("stop_reason"))
    draft.stopped = STOPS.get(reason, "other") if reason else None


def _usage(usage: Mapping[str, Any], before: Mapping[str, int]) -> dict[str, int]:
    """Return the figures of an event, those that it lacks as they were.

    Anthropic counts what went through the cache apart from the input; here it is a part of it.
    """
    read, written = (number(usage.get(field)) for field in _CACHE_FIELDS)
    found = {
        "input_tokens": number(usage.get("input_tokens")) + read + written,
        "output_tokens": number(usage.get("output_tokens")),
        "cache_read_tokens": read,
        "cache_write_tokens": written,
    }
    return {field: count or before.get(field, 0) for field, count in found.items()}
