"""What is known of models: their windows and prices, from genai-prices (the extra `prices`)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

from msgspec.structs import replace

from foldaway.caching.prices import Prices, minimum_for, paid, prices_from
from foldaway.errors import MissingExtra
from foldaway.policy import ASSUMED_CONTEXT_LENGTH


def models_called(name: str, purpose: str) -> Iterator[tuple[str, Any]]:
    """Yield what may be meant by a name, with its seller, the likeliest first.

    A name may carry its provider, as in `anthropic/claude-sonnet-4-5`. Nothing is fetched: the
    data is the one that the package ships. Raises `MissingExtra` if it is not installed; it
    is imported only here, because it brings a validation library and an HTTP client.
    """
    if not name:
        return
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        raise MissingExtra("prices", purpose) from None
    seller, _, rest = name.partition("/")
    bare = name.rpartition("/")[2]
    snapshot = get_snapshot()
    for reference, seller_id in ((rest, seller), (name, None), (bare, None)):
        if reference:
            try:
                provider, found = snapshot.find_provider_model(reference, None, seller_id, None)
            except LookupError:
                continue
            yield provider.id, found


_FIELDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
}
"""Our prices, and what genai-prices calls them."""


def prices_of(model: str) -> Prices | None:
    """Return the prices of `model` today, None if they are not known.

    Names and `MissingExtra` are as `models_called` has them.
    """
    name = model.rpartition("/")[2]
    for seller, found in models_called(model, "the price of a model"):
        made = _prices(found.get_prices(datetime.now(tz=UTC)), name, f"genai-prices: {seller}")
        if made is not None:
            return made
    return None


def known_prices(model: str) -> Prices | None:
    """Return the prices of a model; None if they are not known, or the extra is not there."""
    try:
        return prices_of(model) if model else None
    except MissingExtra:
        return None


class PriceList:
    """Prices of models, looked up once; `is_missing` if the package with the prices is."""

    def __init__(self) -> None:
        self._known: dict[str, Prices | None] = {}
        self.is_missing = False

    def of(self, model: str) -> Prices | None:
        """Return the prices of a model, None if they are not known."""
        if model not in self._known:
            try:
                self._known[model] = prices_of(model)
            except MissingExtra:
                self._known[model] = None
                self.is_missing = True
        return self._known[model]

    def cost(
        self, model: str, prompt_tokens: int, output_tokens: int, *, read_tokens: int = 0,
        written_tokens: int = 0, hour_tokens: int = 0, recorded: float | None = None,
        is_total: bool = False,
    ) -> float | None:  # fmt: skip
        """Return what a request costs at today's list price, otherwise what was `recorded` for it.

        A total of many requests, `is_total`, does not say how long each was and what was cached:
        what was recorded comes first, and it never has the price of long prompts. Everything that
        shows what requests cost asks here.
        """
        prices = self.of(model)
        if prices is None or (is_total and recorded is not None):
            return recorded
        return paid(
            replace(prices, long=None) if is_total else prices, prompt_tokens, output_tokens,
            read_tokens=read_tokens,
            written_tokens=written_tokens, hour_tokens=hour_tokens,
        ).usd  # fmt: skip


def ratio_prices(dialect: str) -> Prices:
    """Return the ratios of the prices on a wire, for a model whose prices nobody knows."""
    marks = dialect == "anthropic"
    return Prices(
        input=1.0, output=5.0 if marks else 8.0, cache_read=0.1,
        cache_write_5m=1.25 if marks else 1.0, cache_write_1h=2.0 if marks else 1.0,
        at_marks=marks, source="the ratio of the wire", is_ratio=True,
    )  # fmt: skip


def _prices(table: Any, model: str, source: str) -> Prices | None:
    """Return a price table as our value; None if it does not sell text by the token.

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
        return replace(found, source=source)
    dearer = prices_from(_figures(table, min(starts)), min_cached_tokens=least)
    return replace(found, source=source, long_from_tokens=min(starts), long=dearer)


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


def window_of(model: str, given: int | None) -> tuple[int, Literal["given", "model", "assumed"]]:
    """Return the window to reckon with and where it comes from: given, the model's, or assumed."""
    if given is not None:
        return given, "given"
    try:
        found = context_window(model)
    except MissingExtra:
        found = None
    return (found, "model") if found else (ASSUMED_CONTEXT_LENGTH, "assumed")


def context_window(model: str) -> int | None:
    """Return the context length of `model` in tokens, None if it is not known.

    Names and `MissingExtra` are as `models_called` has them.
    """
    found = models_called(model, "the context length of a model")
    return next((one.context_window for _, one in found if one.context_window), None)
