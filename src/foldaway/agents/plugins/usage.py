"""What an agent says that its provider counted, as a session takes it."""

from __future__ import annotations

from typing import Any

from foldaway.agents.importers import usage_of
from foldaway.transcript import Payload


def usage_figures(report: Any) -> Payload | None:
    """Return a report of Pi or OpenCode under Anthropic's names, None if it has no figures."""
    found = usage_of(report, cached_apart=True)
    if found is None:
        return None
    cached = found.cache_read_tokens + found.cache_write_tokens
    return {
        "input_tokens": found.input_tokens - cached, "output_tokens": found.output_tokens,
        "cache_read_input_tokens": found.cache_read_tokens,
        "cache_creation_input_tokens": found.cache_write_tokens,
    }  # fmt: skip
