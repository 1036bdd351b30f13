"""Summaries by the main model, asked after what it has in its cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foldaway._core import CachedPrefix
from foldaway.errors import InvalidSetting
from foldaway.summarizers.writers import Writers

_SYSTEM: Mapping[str, str] = {"anthropic": "system", "openai-responses": "instructions"}
_THINKING: Mapping[str, str] = {
    "anthropic": "thinking",
    "openai-chat": "reasoning_effort",
    "openai-responses": "reasoning",
}
_DIALECTS: Mapping[str, str] = {
    "anthropic": "anthropic",
    "litellm": "openai-chat",
    "openai": "openai-chat",
    "openai-responses": "openai-responses",
}
"""What the summarizers of each kind can be asked after."""


def prefix_of(
    dialect: str, messages: Sequence[Any], request: Mapping[str, Any], *, tools: Sequence[Any] = ()
) -> CachedPrefix:
    """Return the prefix that a main request left in the cache: its messages, and what of its other
    fields is before them or belongs to its key.
    """
    return CachedPrefix(
        dialect=dialect,
        messages=tuple(messages),
        system=request.get(_SYSTEM.get(dialect, "")),
        tools=tuple(request.get("tools") or tools),
        thinking=request.get(_THINKING.get(dialect, "")),
        tool_choice=request.get("tool_choice"),
        prompt_cache_key=request.get("prompt_cache_key") or "",
    )


def check_cached_prompt(writers: Writers, *, model: str, dialect: str) -> None:
    """Raise `InvalidSetting` if a named summarizer is to reuse a cached prompt that is not its own.

    Only the model that has read a conversation has it in its cache.
    """
    if writers.main is None or not writers.reuse_prompt_cache:
        return
    kind, _, name = writers.main.name.partition(":")
    if not model:
        why = "the main model is unknown; pass --model"
    elif _without_provider(name) != _without_provider(model):
        why = (
            f"the summarizer ({writers.main.name!r}) is not the main model ({model!r}), and only "
            f"that has the conversation in its cache"
        )
    elif _DIALECTS.get(kind) != dialect:
        why = f"the conversation is {dialect!r}, but {kind!r} is asked in {_DIALECTS.get(kind)!r}"
    else:
        return
    said = f"cannot reuse the prompt cache: {why}"
    raise InvalidSetting("summarizer.reuse_prompt_cache", True, "false", message=said)


def _without_provider(model: str) -> str:
    """Return a model without the provider that is before it."""
    return model.rpartition("/")[2]
