"""Hypothesis strategies: lists that a provider accepts, lists broken on purpose, logs and views.

The valid ones are written from the providers' formats, not from the decoders here, so that each
side checks the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from msgspec import Struct
from tests.testing import words
from tests.testing.openai_lists import chat_lists, responses_lists, strict_lists
from tests.testing.other_lists import (
    anthropic_lists,
    gemini_lists,
    mark_cached,
    markable,
    sharegpt_lists,
)

from foldaway.errors import UnknownName
from foldaway.testing.breakage import BREAKAGES, apply
from foldaway.transcript import (
    Folded,
    Item,
    Kept,
    Media,
    Message,
    Opaque,
    Part,
    Rewritten,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    View,
)

_LISTS: Mapping[str, Callable[..., st.SearchStrategy[list[Any]]]] = {
    "openai-chat": chat_lists,
    "strict": strict_lists,
    "openai-responses": responses_lists,
    "anthropic": anthropic_lists,
    "gemini": gemini_lists,
    "sharegpt": sharegpt_lists,
}
PROVIDERS = tuple(_LISTS)
"""The providers that lists can be drawn for; all but `strict` are dialects of the same name."""


class Broken(Struct, frozen=True):
    """A list that was broken on purpose, and how."""

    items: list[Any]
    breakages: tuple[str, ...]
    provider: str


def valid_lists(provider: str, *, ask_last: bool = False) -> st.SearchStrategy[list[Any]]:
    """Wire lists that the provider accepts; with `ask_last` they end with a user's message."""
    if provider not in _LISTS:
        raise UnknownName("provider", provider, PROVIDERS)
    return _LISTS[provider](ask_last=ask_last)


@st.composite
def valid_bodies(draw: st.DrawFn, provider: str) -> dict[str, Any]:
    """Whole request bodies that the provider accepts: system, tools, settings and messages."""
    return _BODIES[provider](draw, draw(valid_lists(provider, ask_last=True)))


@st.composite
def broken_lists(
    draw: st.DrawFn, provider: str, *, breakages: Sequence[str] | None = None, most: int = 3
) -> Broken:
    """Valid lists with one up to `most` of the named breakages (all that fit, unless named)."""
    items = draw(valid_lists(provider))
    fitting = breakages or [
        name for name, breakage in BREAKAGES.items() if provider in breakage.providers
    ]
    wanted = draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=most))
    done: list[str] = []
    for name in _harmless_first(wanted):
        spoiled = apply(name, provider, items, lambda count: draw(st.integers(0, count - 1)))
        if spoiled is not None:
            items = spoiled
            done.append(name)
    assume(done)
    return Broken(items, tuple(done), provider)


def _harmless_first(names: Sequence[str]) -> list[str]:
    """Return the names so that the ones that need a well-formed list come before the others."""
    order = list(BREAKAGES)
    return sorted(set(names), key=lambda name: (name in _SPOIL_SHAPE, order.index(name)))


_SPOIL_SHAPE = frozenset(
    {"missing-role", "null-role", "unknown-role", "not-an-object", "odd-value", "lost-key"}
)


@st.composite
def logs(draw: st.DrawFn, *, max_size: int = 12) -> tuple[Message, ...]:
    """Logs of any kind: paired, parallel, orphaned and pending calls, thinking, media, unknowns."""
    call_ids = st.integers(0, 4).map(lambda number: f"c{number}")
    roles: tuple[Role, ...] = ("system", "user", "assistant", "tool")
    size = draw(st.integers(0, max_size))
    return tuple(
        Message(
            draw(st.sampled_from(roles)),
            tuple(draw(st.lists(_parts(call_ids), max_size=3))),
            position,
        )
        for position in range(size)
    )


def _parts(call_ids: st.SearchStrategy[str]) -> st.SearchStrategy[Part]:
    return st.one_of(
        st.builds(Text, words.outputs()),
        st.builds(ToolCall, call_ids, words.names(), words.arguments().map(json.dumps)),
        st.builds(ToolResult, call_ids),
        st.builds(Thinking, words.words(), words.signatures()),
        st.just(Media("image", url="https://example.org/a.png")),
        st.just(Opaque("unknown")),
    )


@st.composite
def views(draw: st.DrawFn, log: Sequence[Message]) -> View:
    """Views of `log`: every way of keeping, rewriting and folding its ranges."""
    items: list[Item] = []
    start = 0
    while start < len(log):
        stop = draw(st.integers(start + 1, len(log)))
        note = Message("user", (Text(f"stands for {start} to {stop}"),), origin="summary")
        match draw(st.integers(0, 2)):
            case 0:
                items.append(Kept(start, stop))
            case 1:
                stop = start + 1
                items.append(Rewritten(start, note, f"r{start}"))
            case _:
                items.append(Folded(start, stop, draw(st.sampled_from(((note,), ())))))
        start = stop
    return View(tuple(items), len(log))


Body = dict[str, Any]

_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


_SHORT, _LONG = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
_MARKERS = ((_SHORT, _SHORT), (_LONG, _SHORT), (_LONG, _LONG))
"""Markers of tools and system, and of messages: a longer-lived one never follows a shorter."""


def _chat_body(draw: st.DrawFn, items: list[Any]) -> Body:
    tools = [
        {"type": "function", "function": {"name": name, "description": "d", "parameters": _SCHEMA}}
        for name in words.NAMES
    ]
    body: Body = {"model": draw(st.sampled_from(("gpt-4o", "gpt-5.3"))), "messages": items}
    return {**body, "tools": tools, **_settings(draw, {"temperature": 0, "stream": True})}


def _responses_body(draw: st.DrawFn, items: list[Any]) -> Body:
    tools: list[Any] = [
        {"type": "function", "name": name, "parameters": _SCHEMA} for name in words.NAMES
    ]
    tools.append({"type": "web_search"})
    body: Body = {"model": "gpt-5.3-codex", "instructions": draw(words.words()), "input": items}
    settings = {"store": False, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k"}
    return {**body, "tools": tools, **_settings(draw, settings)}


def _anthropic_body(draw: st.DrawFn, items: list[Any]) -> Body:
    """Return a Messages request with at most four cache markers. Models that take system messages
    in the list take no prefill, and the other way round.
    """
    if items[-1]["role"] == "assistant":
        items = [item for item in items if item["role"] != "system"]
    has_system = any(item["role"] == "system" for item in items)
    tools: list[Body] = [
        {"name": name, "description": "d", "input_schema": _SCHEMA} for name in words.NAMES
    ]
    prompt: list[Body] = [{"type": "text", "text": draw(words.words())} for _ in range(2)]
    first, later = draw(st.sampled_from(_MARKERS))
    left = 4 - mark_cached(draw, [*tools[-1:], *prompt], 2, first)
    mark_cached(draw, markable(items), left, later)
    model = "claude-opus-4-8" if has_system else "claude-sonnet-4-5"
    body: Body = {"model": model, "max_tokens": 16_000}
    if draw(st.booleans()):
        body["system"] = draw(st.sampled_from((prompt, "You are a coding agent.")))
    settings = {"metadata": {"user_id": "u"}, "stream": True}
    return {**body, "tools": tools, "messages": items, **_settings(draw, settings)}


def _gemini_body(draw: st.DrawFn, items: list[Any]) -> Body:
    """Return a generateContent request."""
    declared = [{"name": name, "description": "d", "parameters": _SCHEMA} for name in words.NAMES]
    body: Body = {"contents": items, "tools": [{"functionDeclarations": declared}]}
    if draw(st.booleans()):
        body["systemInstruction"] = {"parts": [{"text": draw(words.words())}]}
    return {**body, **_settings(draw, {"generationConfig": {"temperature": 0}})}


def _sharegpt_body(draw: st.DrawFn, items: list[Any]) -> Body:
    """Return one record of a training set."""
    return {"conversations": items, **_settings(draw, {"id": "r1", "model": "m", "tools": "[]"})}


def _settings(draw: st.DrawFn, possible: Body) -> Body:
    """Return some of the settings, and sometimes one that nobody knows yet."""
    wanted = draw(st.sets(st.sampled_from((*possible, "x_unknown"))))
    return {key: possible.get(key, [1, {"a": None}]) for key in (*possible, "x_unknown")
            if key in wanted}  # fmt: skip


_BODIES: Mapping[str, Callable[[st.DrawFn, list[Any]], Body]] = {
    "openai-chat": _chat_body,
    "strict": _chat_body,
    "openai-responses": _responses_body,
    "anthropic": _anthropic_body,
    "gemini": _gemini_body,
    "sharegpt": _sharegpt_body,
}
