"""Whole request bodies around a valid list: system prompt, tools, settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from holdfast.testing.formats import anthropic as anthropic_lists
from holdfast.testing.formats.words import NAMES, words

Body = dict[str, Any]

_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


_SHORT, _LONG = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
_MARKERS = ((_SHORT, _SHORT), (_LONG, _SHORT), (_LONG, _LONG))
"""Markers of tools and system, and of messages: a longer-lived one never follows a shorter."""


def openai_chat(draw: st.DrawFn, items: list[Any]) -> Body:
    """Return a chat completion request."""
    tools = [
        {"type": "function", "function": {"name": name, "description": "d", "parameters": _SCHEMA}}
        for name in NAMES
    ]
    body: Body = {"model": draw(st.sampled_from(("gpt-4o", "gpt-5.3"))), "messages": items}
    return {**body, "tools": tools, **_settings(draw, {"temperature": 0, "stream": True})}


def openai_responses(draw: st.DrawFn, items: list[Any]) -> Body:
    """Return a Responses request."""
    tools: list[Any] = [{"type": "function", "name": name, "parameters": _SCHEMA} for name in NAMES]
    tools.append({"type": "web_search"})
    body: Body = {"model": "gpt-5.3-codex", "instructions": draw(words()), "input": items}
    settings = {"store": False, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k"}
    return {**body, "tools": tools, **_settings(draw, settings)}


def anthropic(draw: st.DrawFn, items: list[Any]) -> Body:
    """Return a Messages request with at most four cache markers."""
    tools: list[Body] = [
        {"name": name, "description": "d", "input_schema": _SCHEMA} for name in NAMES
    ]
    prompt: list[Body] = [{"type": "text", "text": draw(words())} for _ in range(2)]
    first, later = draw(st.sampled_from(_MARKERS))
    left = 4 - anthropic_lists.mark_cached(draw, [*tools[-1:], *prompt], 2, first)
    anthropic_lists.mark_cached(draw, anthropic_lists.markable(items), left, later)
    body: Body = {"model": "claude-sonnet-4-5", "max_tokens": 16_000}
    if draw(st.booleans()):
        body["system"] = draw(st.sampled_from((prompt, "You are a coding agent.")))
    settings = {"metadata": {"user_id": "u"}, "stream": True}
    return {**body, "tools": tools, "messages": items, **_settings(draw, settings)}


def gemini(draw: st.DrawFn, items: list[Any]) -> Body:
    """Return a generateContent request."""
    declared = [{"name": name, "description": "d", "parameters": _SCHEMA} for name in NAMES]
    body: Body = {"contents": items, "tools": [{"functionDeclarations": declared}]}
    if draw(st.booleans()):
        body["systemInstruction"] = {"parts": [{"text": draw(words())}]}
    return {**body, **_settings(draw, {"generationConfig": {"temperature": 0}})}


def sharegpt(draw: st.DrawFn, items: list[Any]) -> Body:
    """Return one record of a training set."""
    return {"conversations": items, **_settings(draw, {"id": "r1", "model": "m", "tools": "[]"})}


def _settings(draw: st.DrawFn, possible: Body) -> Body:
    """Return some of the settings, and sometimes one that nobody knows yet."""
    wanted = draw(st.sets(st.sampled_from((*possible, "x_unknown"))))
    return {key: possible.get(key, [1, {"a": None}]) for key in (*possible, "x_unknown")
            if key in wanted}  # fmt: skip


BODIES: Mapping[str, Callable[[st.DrawFn, list[Any]], Body]] = {
    "openai-chat": openai_chat,
    "strict": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "sharegpt": sharegpt,
}
