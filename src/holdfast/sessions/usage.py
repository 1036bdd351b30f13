"""What a provider reported for a request, in the forms of all of them, as one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from holdfast.dialects.jsontext import parse
from holdfast.engine.meter import answer_tokens_of, first_int, prompt_tokens_of
from holdfast.stores.values import StoredMessage, TurnUsage


def turn_usage(usage: Mapping[str, Any], **facts: Any) -> TurnUsage:
    """Return a usage report with the `facts` that are not in it: position, model, view, …"""
    return TurnUsage(
        input_tokens=prompt_tokens_of(usage),
        output_tokens=answer_tokens_of(usage),
        cache_read_tokens=_cached(usage),
        cache_write_tokens=first_int(usage, "cache_creation_input_tokens"),
        **facts,
    )


def usage_in(rows: Sequence[StoredMessage]) -> tuple[TurnUsage, ...]:
    """Return what the messages of a log say themselves about their requests.

    Some agents write the provider's report into each answer. An answer that is spread over
    several messages repeats it: it counts once, at its first message, as its last one has it.
    """
    found: dict[str, TurnUsage] = {}
    for row in rows:
        if row.role != "assistant" or b'"usage"' not in row.body:
            continue
        payload: Any = parse(row.body)
        wire = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
        usage = wire.get("usage")
        if isinstance(usage, dict):
            name = str(wire.get("id") or row.position)
            first = found[name].position if name in found else row.position
            found[name] = turn_usage(
                cast("dict[str, Any]", usage), position=first, time=row.time,
                model=str(wire.get("model") or ""),
            )  # fmt: skip
    return tuple(found.values())


def _cached(usage: Mapping[str, Any]) -> int:
    """Return how many tokens of a prompt the provider had in its cache."""
    found = first_int(usage, "cache_read_input_tokens", "cachedContentTokenCount",
                      "cached_content_token_count")  # fmt: skip
    for name in ("prompt_tokens_details", "input_tokens_details"):
        inner = usage.get(name)
        if isinstance(inner, Mapping):
            found = found or first_int(cast("Mapping[str, Any]", inner), "cached_tokens")
    return found
