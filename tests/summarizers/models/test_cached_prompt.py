"""A summary by the main model: the request begins as the one that it has read already."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.testing.long_lists import Exchange, written

from foldaway._core.policy import Policy
from foldaway._core.ports import SummaryAnswer, SummaryRequest
from foldaway.engine import Compressor
from foldaway.summarizers.models import summarizer_named
from foldaway.summarizers.writers import Writers, prefix_of

pytest.importorskip("starlette", reason="the model server needs starlette")

from foldaway.testing import ModelServer

TOOL = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}}
MARK = {"cache_control": {"type": "ephemeral"}}
TALK = [
    {"role": "user", "content": "Grüße, \u2028 and \"quotes\"\n\ttabs"},
    {"role": "assistant", "content": "漢字 </done>"},
    {"role": "user", "content": "Go on."},
]  # fmt: skip
MAIN: dict[str, dict[str, Any]] = {
    "chat": {
        "messages": [{"role": "system", "content": "s"}, *TALK],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": TOOL}}],
        "tool_choice": "auto", "reasoning_effort": "low", "prompt_cache_key": "fa-1",
    },
    "responses": {
        "instructions": "s", "input": TALK,
        "tools": [{"type": "function", "name": "f", "parameters": TOOL, "strict": False}],
        "tool_choice": "auto", "reasoning": {"effort": "low"}, "prompt_cache_key": "fa-1",
    },
    "messages": {
        "system": [{"type": "text", "text": "s", **MARK}],
        "messages": [*TALK[:2], {"role": "user", "content": [
            {"type": "text", "text": "Go on.", **MARK}]}],
        "tools": [{"name": "f", "input_schema": TOOL}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 4096,
    },
}  # fmt: skip
DIALECTS = {"chat": "openai-chat", "responses": "openai-responses", "messages": "anthropic"}


def put_main(server: ModelServer, answers_as: str, model: str = "model-x") -> None:
    """Send the main request, as an agent would, with the SDK."""
    body = {"model": model, **MAIN[answers_as]}
    if answers_as == "messages":
        anthropic = pytest.importorskip("anthropic")
        client = anthropic.Anthropic(base_url=server.anthropic_url, max_retries=0)
        client.messages.create(**body)
    else:
        client = pytest.importorskip("openai").OpenAI(base_url=server.openai_url, max_retries=0)
        where = client.chat.completions if answers_as == "chat" else client.responses
        where.create(**body)
    client.close()


def field_bytes(raw: bytes, name: str) -> bytes:
    """Return a field of a body, byte for byte."""
    text = raw.decode()
    at = text.index(f'"{name}":') + len(name) + 3
    _, stop = json.JSONDecoder().raw_decode(text, at)
    return text[at:stop].encode()


def prefixed(answers_as: str, **others: Any) -> Any:
    main = MAIN[answers_as]
    messages = main["input" if answers_as == "responses" else "messages"]
    return prefix_of(DIALECTS[answers_as], messages, {**main, **others})


def test_the_request_begins_with_the_bytes_of_the_main_one(
    api: Any, server: ModelServer, question: SummaryRequest, ask: Callable[..., SummaryAnswer]
) -> None:
    """Tools, system text, thinking, tool choice and cache key are the same bytes, and the messages
    begin with those that the model has read."""
    if api.package == "litellm":
        pytest.skip("litellm writes the body in its own manner")
    server.replies("a summary")
    put_main(server, api.answers_as)
    ask(api.at(api.url(server)), replace(question, prefix=prefixed(api.answers_as)), 20)
    first, second = (request.raw for request in server.requests)
    listed = "input" if api.answers_as == "responses" else "messages"
    for name in MAIN[api.answers_as]:
        if name not in (listed, "max_tokens"):
            assert field_bytes(second, name) == field_bytes(first, name)
    before, after = field_bytes(first, listed), field_bytes(second, listed)
    assert after.startswith(before.removesuffix(b"]") + b",")
    assert set(server.requests[1].body) - set(server.requests[0].body) <= {
        "stream", "stream_options", "store", "max_completion_tokens", "max_output_tokens",
    }  # fmt: skip


def test_room_for_thinking_comes_on_top_of_the_answer(
    server: ModelServer, question: SummaryRequest
) -> None:
    """Anthropic refuses a cap that is not above what may be thought."""
    pytest.importorskip("anthropic")
    server.replies("a summary")
    made = summarizer_named("anthropic:model-x", url=server.anthropic_url)
    assert made is not None
    made.summarize(replace(question, prefix=prefixed("messages")), 20)
    assert server.requests[0].body["max_tokens"] == question.max_tokens + 2048


@pytest.mark.parametrize("forced", [
    "required", {"type": "function", "name": "f"}, {"type": "any"}, {"type": "tool", "name": "f"},
    {"type": "allowed_tools", "mode": "required", "tools": []},
])  # fmt: skip
def test_a_forced_call_is_not_asked_for(
    api: Any, server: ModelServer, question: SummaryRequest, forced: Any
) -> None:
    """Who must call a tool writes no summary: then the choice is left out, or none."""
    if api.package == "litellm":
        pytest.importorskip("mcp", reason="litellm needs mcp where there are tools")
    server.replies("a summary")
    prefix = prefixed(api.answers_as, tool_choice=forced)
    api.at(api.url(server)).summarize(replace(question, prefix=prefix), 20)
    sent = server.requests[0].body.get("tool_choice")
    assert sent == (None if api.answers_as == "messages" else "none")


def test_a_compressor_rides_with_the_fields_of_its_main_requests(server: ModelServer) -> None:
    """The host names them once; the fallback, another model, gets the material instead."""
    pytest.importorskip("anthropic")
    server.replies("nonsense")
    url = server.anthropic_url
    main, other = (summarizer_named(f"anthropic:{name}", url=url) for name in ("main", "other"))
    assert main is not None
    fields = {name: MAIN["messages"][name] for name in ("system", "thinking", "tool_choice")}
    agent = Compressor(
        context_length=16_000, provider="anthropic", tools=MAIN["messages"]["tools"],
        policy=Policy(floor_tokens=500),
        summarizer=Writers(main=main, fallback=other, reuse_prompt_cache=True, main_request=fields,
                           on_failure="ledger"),
    )  # fmt: skip
    agent.append(*written("anthropic", [Exchange(2, 2, 900)] * 8))
    seen = agent.messages
    assert agent.compact(force=True).status == "compacted"
    rides, falls_back = (request.body for request in server.requests)
    assert rides["messages"][:-1] == seen
    assert all(rides[name] == value for name, value in fields.items())
    assert rides["tools"] == MAIN["messages"]["tools"]
    assert len(falls_back["messages"]) == 1
    assert "thinking" not in falls_back
