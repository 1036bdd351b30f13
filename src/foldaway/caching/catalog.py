"""What is known of models: their windows and prices, from `models.toml` and from genai-prices.

genai-prices is the extra `prices`. Its prices come first, because it may be newer. Our windows come
first, because they are what a prompt may really have.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal, TypeAlias

from msgspec import Struct, convert
from msgspec.structs import replace

from foldaway._core import ASSUMED_CONTEXT_LENGTH
from foldaway.caching.prices import Prices, RequestUsage, minimum_for
from foldaway.errors import MissingExtra


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


Figures: TypeAlias = tuple[float, float, float, float, float]
"""Prices in the order of `Prices.NAMES`."""


class ShippedModel(Struct, frozen=True, array_like=True):
    """A row of `models.toml`."""

    window: int
    prices: Figures | None = None
    """None for a family whose members differ in price."""
    long_from_tokens: int = 0
    long: Figures | None = None


class ModelTable(Struct, frozen=True):
    """`models.toml`: rows by the beginnings of models' names."""

    date: date
    release: str
    """Of genai-prices."""
    models: dict[str, ShippedModel]


@cache
def model_table() -> ModelTable:
    """Return `models.toml`, which is read when it is first asked for."""
    import tomllib

    data = pkgutil.get_data("foldaway.caching", "models.toml")
    assert data is not None  # only a loader that cannot read files says None
    return convert(tomllib.loads(data.decode()), ModelTable)


def row_name(model: str) -> str:
    """Return the name of a model as `models.toml` writes it: no provider, dashes for dots."""
    return model.rpartition("/")[2].lower().replace(".", "-")


def shipped_model(model: str) -> ShippedModel | None:
    """Return the row with the longest name that the model's begins with, None if there is none.

    A row's name ends where a word does: `o3` is the beginning of `o3-2025-04-16`, not of `o30`.
    """
    name, rows = row_name(model), model_table().models
    fits = [key for key in rows if name.startswith(key) and not name[len(key) :][:1].isalnum()]
    return rows[max(fits, key=len)] if fits else None


def prices_of(model: str) -> Prices | None:
    """Return the prices of `model` today, None if they are not known.

    Names are as `models_called` has them. Raises `MissingExtra` only for a model that is not in
    `models.toml`.
    """
    shipped = shipped_model(model)
    try:
        for seller, found in models_called(model, "the price of a model"):
            table = found.get_prices(datetime.now(tz=UTC))
            if (made := prices_in(table, model, f"genai-prices: {seller}")) is not None:
                return made
    except MissingExtra:
        if shipped is None or shipped.prices is None:
            raise
    if shipped is None or shipped.prices is None:
        return None
    base = dict[str, float](zip(Prices.NAMES, shipped.prices, strict=True))
    dearer = dict[str, float](zip(Prices.NAMES, shipped.long or (), strict=False))
    source = f"foldaway, {model_table().date}"
    return _prices(base, dearer, shipped.long_from_tokens, model, source)


def known_prices(model: str) -> Prices | None:
    """Return the prices of a model; None if they are not known here."""
    try:
        return prices_of(model) if model else None
    except MissingExtra:
        return None


class PriceList:
    """Prices of models, looked up once; `is_missing` if one needs the extra `prices`."""

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

    def cost(self, one: RequestUsage, *, is_total: bool = False) -> float | None:
        """Return what a request costs at today's list price, otherwise what was recorded for it.

        A total of many requests, `is_total`, does not say how long each was and what was cached:
        what was recorded comes first, and it never has the price of long prompts. Everything that
        shows what requests cost asks here.
        """
        prices = self.of(one.model)
        if prices is None or (is_total and one.cost is not None):
            return one.cost
        return (replace(prices, long=None) if is_total else prices).paid(one).usd


def prices_in(table: Any, model: str, source: str) -> Prices | None:
    """Return a table of genai-prices as our value; None if it does not sell text by the token.

    Of the steps for longer prompts only the first is taken.
    """
    starts = {
        tier.start
        for field in _FIELDS.values()
        for tier in getattr(getattr(table, field, None), "tiers", ())
    }
    base, start = _figures(table, 0), min(starts, default=0)
    if "input" not in base or "output" not in base:
        return None
    return _prices(base, _figures(table, start) if starts else {}, start, model, source)


def _prices(
    base: Mapping[str, float], dearer: Mapping[str, float], start: int, model: str, source: str
) -> Prices:
    """Return figures, and if there are any those of prompts longer than `start`, as our value."""
    name = row_name(model)
    least = minimum_for(name)
    found = Prices.from_figures(base, min_cached_tokens=least, at_marks="claude" in name)
    if dearer:
        long = Prices.from_figures(dearer, min_cached_tokens=least)
        found = replace(found, long_from_tokens=start, long=long)
    return replace(found, source=source)


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
    """Return the context window to use and its source: given, the model's, or assumed."""
    if given is not None:
        return given, "given"
    try:
        found = context_window(model)
    except MissingExtra:
        found = None
    return (found, "model") if found else (ASSUMED_CONTEXT_LENGTH, "assumed")


def context_window(model: str) -> int | None:
    """Return the context length of `model` in tokens, None if it is not known.

    Names and `MissingExtra` are as `prices_of` has them.
    """
    shipped = shipped_model(model)
    if shipped is not None:
        return shipped.window
    found = models_called(model, "the context length of a model")
    return next((one.context_window for _, one in found if one.context_window), None)
