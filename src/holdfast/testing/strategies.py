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

from holdfast.errors import UnknownName
from holdfast.testing.breakage import BREAKAGES, apply
from holdfast.testing.formats import (
    anthropic,
    gemini,
    openai_chat,
    openai_responses,
    sharegpt,
    words,
)
from holdfast.testing.formats.bodies import BODIES
from holdfast.transcript import (
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
    "openai-chat": openai_chat.messages,
    "strict": openai_chat.strict_messages,
    "openai-responses": openai_responses.messages,
    "anthropic": anthropic.messages,
    "gemini": gemini.messages,
    "sharegpt": sharegpt.messages,
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
    return BODIES[provider](draw, draw(valid_lists(provider, ask_last=True)))


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
    roles = st.sampled_from(("system", "user", "assistant", "tool"))
    size = draw(st.integers(0, max_size))
    return tuple(
        Message(_role(draw(roles)), tuple(draw(st.lists(_parts(call_ids), max_size=3))), position)
        for position in range(size)
    )


def _role(name: str) -> Role:
    roles: Mapping[str, Role] = {
        "system": "system", "user": "user", "assistant": "assistant", "tool": "tool",
    }  # fmt: skip
    return roles[name]


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
