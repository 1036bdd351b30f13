"""The Responses API through the openai SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.ports import SummaryAnswer, SummaryRequest
from holdfast.writing.models.asking import Asked, demand
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
from holdfast.writing.models.keys import OPENAI, access_to
from holdfast.writing.models.openai_chat import openai_client
from holdfast.writing.models.question import (
    appended_text,
    choice_in,
    is_strict,
    prefix_in,
    schema_in,
)

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "text.format": ("text.format", "json_schema", "structured output"),
    "tool_choice": ("tool_choice",),
    "prompt_cache_key": ("prompt_cache_key",),
}
"""What not every server takes, and the words by which a 400 is known to be about it."""

STATES: Mapping[str, Stopped] = {"completed": "end", "incomplete": "other"}

INCOMPLETE: Mapping[str, Stopped] = {
    "max_output_tokens": "length",
    "content_filter": "refusal",
}


def openai_responses(
    model: str,
    *,
    url: str = "",
    api_key: str = "",
    key_variable: str = "",
    context_length: int = 0,
) -> Asked:
    """Return a summariser that asks through the Responses API; nothing is stored there.

    Raises `MissingExtra` where the SDK is not installed.
    """
    demand("openai", "a summary by OpenAI")
    access = access_to(OPENAI, url, api_key, key_variable)
    name = f"openai-responses:{model}"

    async def ask(
        request: SummaryRequest, seconds: float, without: frozenset[str]
    ) -> SummaryAnswer:
        body = responses_body(request, model, without)
        async with (
            await openai_client(name, access, seconds) as client,
            client.responses.with_streaming_response.create(**body) as response,
        ):
            draft = draft_for(request)
            return await read_answer(response, draft, name, event=take_event, body=take_response)

    return Asked(
        name,
        ask,
        context_length=context_length,
        package="openai",
        key=access.remedy,
        options=OPTIONS,
    )


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
        body["input"] = [*prefix.messages, {"role": "user", "content": appended_text(request)}]
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


def take_event(draft: Draft, event: Mapping[str, Any]) -> None:
    """Add one event of a stream; the last one holds the whole answer."""
    match event.get("type"):
        case "response.output_text.delta":
            draft.say(string(event.get("delta")))
        case "response.completed" | "response.incomplete" | "response.failed":
            take_response(draft, mapping(event.get("response")))
        case "error":
            # its `type` is that of the event, not of the error
            raise Reported({"code": event.get("code")})
        case _:
            pass


def take_response(draft: Draft, body: Mapping[str, Any]) -> None:
    """Put a whole answer in the place of what came before it."""
    if body.get("error"):
        raise Reported(body)
    draft.model = string(body.get("model"))
    draft.usage = _usage(mapping(body.get("usage")))
    reason = string(mapping(body.get("incomplete_details")).get("reason"))
    stopped = STATES.get(string(body.get("status")))
    draft.stopped = INCOMPLETE.get(reason) or stopped
    draft.pieces, draft.chars = [], 0
    for item in objects(body.get("output")):
        if item.get("type") == "message":
            _take_content(draft, item)


def _take_content(draft: Draft, item: Mapping[str, Any]) -> None:
    for part in objects(item.get("content")):
        if part.get("type") == "refusal":
            draft.stopped = "refusal"
            draft.say(string(part.get("refusal")))
        else:
            draft.say(string(part.get("text")))


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    details = mapping(usage.get("input_tokens_details"))
    return {
        "input_tokens": number(usage.get("input_tokens")),
        "output_tokens": number(usage.get("output_tokens")),
        "cache_read_tokens": number(details.get("cached_tokens")),
        "cache_write_tokens": number(details.get("cache_write_tokens")),
    }
