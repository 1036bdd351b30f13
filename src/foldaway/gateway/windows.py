"""The windows of models as their providers tell them: in a refusal, or in a list of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

from foldaway.dialects import parse
from foldaway.errors import NotReadable
from foldaway.stores import Store

Telling: TypeAlias = Literal["refused", "listed"]
"""How a provider told it. What it refuses counts more: a list has the most that can be had."""

_FIELDS = (
    "context_length",
    "context_window",
    "max_context_length",
    "max_model_len",
    "max_input_tokens",
    "inputTokenLimit",
)
"""What a list of models calls it: OpenRouter, Groq, LM Studio, vLLM, Anthropic, Gemini."""


def told_window(store: Store, model: str) -> int | None:
    """Return the window of a model that a provider told, None if none did. It is in the store: for
    other conversations, and after a restart.
    """
    return store.window(f"refused {model}") or store.window(f"listed {model}")


def learn_windows(store: Store, windows: Mapping[str, int], how: Telling) -> None:
    """Keep the windows of models."""
    store.learn_windows({f"{how} {name}": tokens for name, tokens in windows.items()})


def windows_in(body: bytes) -> dict[str, int]:
    """Return the windows in a list of models, by model; {} if it is none, or names no window."""
    try:
        value = parse(body)
    except NotReadable:
        return {}
    held = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    listed = held.get("data") or held.get("models")
    found: dict[str, int] = {}
    for one in cast("list[Any]", listed) if isinstance(listed, list) else []:
        about = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        name = str(about.get("id") or about.get("name") or "").removeprefix("models/")
        tokens = next((about[field] for field in _FIELDS if type(about.get(field)) is int), 0)
        if name and tokens > 0:
            found[name] = tokens
    return found
