"""Prompt caching and what it costs: marks, keys, prices, and whether a compaction pays.

Hints for the provider and arithmetic only: nothing here removes a word from a transcript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.caching.breakpoints import (
        KEY,
        NEWEST_CARRIERS,
        CacheHint,
        cache_hints,
        move_marks,
        prefix_key,
        wants_breakpoints,
        with_breakpoints,
    )
    from foldaway.caching.catalog import PriceList, context_window, known_prices, window_of
    from foldaway.caching.economics import Situation, Verdict
    from foldaway.caching.prices import TTL_SECONDS, Bill, Prices, RequestUsage, Ttl, usd

__all__ = [
    "CacheHint",
    "Prices",
    "cache_hints",
    "prefix_key",
    "wants_breakpoints",
    "with_breakpoints",
]


__getattr__ = import_later(
    __name__,
    {
        "breakpoints": "CacheHint KEY NEWEST_CARRIERS cache_hints move_marks prefix_key "
        "wants_breakpoints with_breakpoints",
        "catalog": "PriceList context_window known_prices window_of",
        "economics": "Situation Verdict",
        "prices": "Bill Prices RequestUsage TTL_SECONDS Ttl usd",
    },
)
