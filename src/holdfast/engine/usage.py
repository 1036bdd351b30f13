"""What a provider reported for a request: the figures, in the names of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast


def figures_of(usage: object) -> Mapping[str, Any]:
    """Return a usage report as a mapping; clients have objects of their own for it, or None."""
    if isinstance(usage, Mapping):
        return cast("Mapping[str, Any]", usage)
    dumped = getattr(usage, "model_dump", None)
    if callable(dumped):
        return cast("Callable[[], dict[str, Any]]", dumped)()
    return getattr(usage, "__dict__", {})


def prompt_tokens_of(usage: Mapping[str, Any]) -> int:
    """Return the whole prompt of a usage report: Anthropic counts cached tokens apart."""
    if first_int(usage, "prompt_tokens"):
        return first_int(usage, "prompt_tokens")
    cached = first_int(usage, "cache_read_input_tokens") + first_int(
        usage, "cache_creation_input_tokens"
    )
    return first_int(usage, "input_tokens", "promptTokenCount", "prompt_token_count") + cached


def answer_tokens_of(usage: Mapping[str, Any]) -> int:
    """Return the tokens of the answer."""
    return first_int(
        usage, "completion_tokens", "output_tokens", "candidatesTokenCount",
        "candidates_token_count",
    )  # fmt: skip


def first_int(usage: Mapping[str, Any], *names: str) -> int:
    """Return the first of these figures that is there and above zero, 0 where none is."""
    for name in names:
        found = usage.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and found > 0:
            return found
    return 0
