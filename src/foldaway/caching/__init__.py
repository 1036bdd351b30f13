"""Prompt caching and what it costs: marks, keys, prices, and whether a compaction pays.

Hints for the provider and arithmetic only: nothing here removes a word from a transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway.exports import import_later

if TYPE_CHECKING:
    from foldaway.caching.breakpoints import (
        CacheHint,
        cache_hints,
        prefix_key,
        wants_breakpoints,
        with_breakpoints,
    )
    from foldaway.caching.prices import Prices

__all__ = [
    "CacheHint",
    "Prices",
    "cache_hints",
    "prefix_key",
    "wants_breakpoints",
    "with_breakpoints",
]

_LATER = {
    "CacheHint": "foldaway.caching.breakpoints",
    "Prices": "foldaway.caching.prices",
    "cache_hints": "foldaway.caching.breakpoints",
    "prefix_key": "foldaway.caching.breakpoints",
    "wants_breakpoints": "foldaway.caching.breakpoints",
    "with_breakpoints": "foldaway.caching.breakpoints",
}

__getattr__ = import_later(__name__, _LATER)
