"""Prompt caching and what it costs: marks, keys, prices, and whether a compaction pays.

Hints for the provider and arithmetic only: nothing here removes a word from a transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.caching.breakpoints import (
        CacheHint,
        cache_hints,
        prefix_key,
        wants_breakpoints,
        with_breakpoints,
    )
    from holdfast.caching.prices import Prices

__all__ = [
    "CacheHint",
    "Prices",
    "cache_hints",
    "prefix_key",
    "wants_breakpoints",
    "with_breakpoints",
]

_LATER = {
    "CacheHint": "holdfast.caching.breakpoints",
    "Prices": "holdfast.caching.prices",
    "cache_hints": "holdfast.caching.breakpoints",
    "prefix_key": "holdfast.caching.breakpoints",
    "wants_breakpoints": "holdfast.caching.breakpoints",
    "with_breakpoints": "holdfast.caching.breakpoints",
}

__getattr__ = import_later(__name__, _LATER)
