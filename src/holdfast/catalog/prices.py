"""What a model costs, from the data of genai-prices (the extra `prices`)."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from holdfast.caching.economics import PayoffRule
from holdfast.caching.minimum_sizes import minimum_for
from holdfast.caching.prices import Prices, Ttl, prices_from
from holdfast.catalog.models import models_called
from holdfast.errors import MissingExtra

_FIELDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
}


class Economy(Struct, frozen=True, kw_only=True):
    """The prices of the model, how long its cache lasts, and how cautious to be."""

    prices: Prices
    ttl: Ttl = "5m"
    rule: PayoffRule = PayoffRule()


def prices_of(model: str) -> Prices | None:
    """Return the prices of `model` today, None where they are not known.

    Names and `MissingExtra` are as `models_called` has them.
    """
    name = model.rpartition("/")[2]
    for seller, found in models_called(model, "the price of a model"):
        made = _prices(found.get_prices(datetime.now(tz=UTC)), name, f"genai-prices: {seller}")
        if made is not None:
            return made
    return None


def economy_of(model: str, prices: Prices | None, ttl: Ttl) -> Economy | None:
    """Return what costs are reckoned by; None where nobody knows the prices."""
    found = prices
    if found is None:
        try:
            found = prices_of(model)
        except MissingExtra:
            found = None
    return None if found is None else Economy(prices=found, ttl=ttl)


def _prices(table: Any, model: str, source: str) -> Prices | None:
    """Return a price table as our value; None where it does not sell text by the token.

    Of the steps for longer prompts only the first is taken.
    """
    starts = {
        tier.start
        for field in _FIELDS.values()
        for tier in getattr(getattr(table, field, None), "tiers", ())
    }
    base = _figures(table, 0)
    if "input" not in base or "output" not in base:
        return None
    least = minimum_for(model)
    found = prices_from(base, min_cached_tokens=least, at_marks="claude" in model.lower())
    if not starts:
        return _sourced(found, source)
    dearer = prices_from(_figures(table, min(starts)), min_cached_tokens=least)
    return _sourced(found, source, min(starts), dearer)


def _figures(table: Any, start: int) -> dict[str, float]:
    """Return the prices that hold from `start` on, as far as there are any."""
    figures: dict[str, float] = {}
    for name, field in _FIELDS.items():
        value = getattr(table, field, None)
        for tier in getattr(value, "tiers", ()):
            if tier.start <= start:
                value = tier
        amount = getattr(value, "price", getattr(value, "base", value))
        if isinstance(amount, (Decimal, int, float)):
            figures[name] = float(amount)
    return figures


def _sourced(found: Prices, source: str, start: int = 0, dearer: Prices | None = None) -> Prices:
    return replace(found, source=source, long_from_tokens=start, long=dearer)
