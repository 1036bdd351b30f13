"""What a model costs, as a value, and what one request costs by it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import InvalidSetting

Ttl: TypeAlias = Literal["5m", "1h"]
"""How long a provider keeps a prefix after its last use."""

TTL_SECONDS: Mapping[Ttl, int] = {"5m": 300, "1h": 3_600}

_HOUR_TO_FIVE_MINUTES = 2.0 / 1.25
"""Anthropic's own ratio of the two prices; for tables that name only the shorter one."""

NAMES = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


class Prices(Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens; construction raises `InvalidSetting` for a bad figure.

    Where a provider writes its cache for nothing, the write prices are the input price. Where it
    has no cache, the read price is too.
    """

    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    min_cached_tokens: int = 1_024
    """Shorter prompts are neither read from the cache nor written to it."""
    at_marks: bool = False
    """Whether only marked prefixes are cached (Anthropic), instead of whatever was sent."""
    long_from_tokens: int = 0
    """Prompts longer than this cost `long` throughout; 0 where there is one price."""
    long: Prices | None = None
    source: str = "given"
    """Where the figures come from."""

    def __post_init__(self) -> None:
        """Check the figures."""
        for name in NAMES:
            value: float = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InvalidSetting(f"prices.{name}", value, "a number, 0 or more")
        for name in ("min_cached_tokens", "long_from_tokens"):
            if getattr(self, name) < 0:
                raise InvalidSetting(f"prices.{name}", getattr(self, name), "0 or more")

    def at(self, prompt_tokens: int) -> Prices:
        """Return the prices of a prompt of this length."""
        if self.long is None or prompt_tokens <= self.long_from_tokens:
            return self
        return self.long

    def write(self, ttl: Ttl) -> float:
        """Return the price of a token that goes into the cache."""
        return self.cache_write_1h if ttl == "1h" else self.cache_write_5m


class Bill(Struct, frozen=True, kw_only=True):
    """The tokens of one request or of many, and their price in dollars."""

    read_tokens: int = 0
    written_tokens: int = 0
    """Put into the cache, at its own price or, where writing is free, at that of input."""
    plain_tokens: int = 0
    """Neither read from the cache nor written to it."""
    output_tokens: int = 0
    read_usd: float = 0.0
    written_usd: float = 0.0
    plain_usd: float = 0.0
    output_usd: float = 0.0

    @property
    def input_usd(self) -> float:
        """What the prompts cost."""
        return self.read_usd + self.written_usd + self.plain_usd

    @property
    def usd(self) -> float:
        """What all of it costs."""
        return self.input_usd + self.output_usd

    @property
    def prompt_tokens(self) -> int:
        """What was sent."""
        return self.read_tokens + self.written_tokens + self.plain_tokens

    def __add__(self, other: Bill) -> Bill:
        """Return both together."""
        return Bill(
            read_tokens=self.read_tokens + other.read_tokens,
            written_tokens=self.written_tokens + other.written_tokens,
            plain_tokens=self.plain_tokens + other.plain_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            read_usd=self.read_usd + other.read_usd,
            written_usd=self.written_usd + other.written_usd,
            plain_usd=self.plain_usd + other.plain_usd,
            output_usd=self.output_usd + other.output_usd,
        )


def bill(
    prices: Prices, prompt_tokens: int, cached_tokens: int = 0, output_tokens: int = 0,
    ttl: Ttl = "5m",
) -> Bill:  # fmt: skip
    """Return what one request costs of which the provider has `cached_tokens` in its cache.

    Less than the smallest size that is cached counts as not cached; more than the prompt as all
    of it.
    """
    here = prices.at(prompt_tokens)
    read = min(cached_tokens, prompt_tokens)
    read = read if read >= prices.min_cached_tokens else 0
    rest = prompt_tokens - read
    written = rest if prompt_tokens >= prices.min_cached_tokens else 0
    return Bill(
        read_tokens=read,
        written_tokens=written,
        plain_tokens=rest - written,
        output_tokens=output_tokens,
        read_usd=read * here.cache_read / 1e6,
        written_usd=written * here.write(ttl) / 1e6,
        plain_usd=(rest - written) * here.input / 1e6,
        output_usd=output_tokens * here.output / 1e6,
    )


def paid(
    prices: Prices, prompt_tokens: int, output_tokens: int, *, read_tokens: int = 0,
    written_tokens: int = 0, ttl: Ttl = "5m",
) -> Bill:  # fmt: skip
    """Return what one request cost by the usage that the provider reports: what was read from the
    cache and written to it is a part of the prompt.
    """
    here = prices.at(prompt_tokens)
    plain = max(prompt_tokens - read_tokens - written_tokens, 0)
    return Bill(
        read_tokens=read_tokens,
        written_tokens=written_tokens,
        plain_tokens=plain,
        output_tokens=output_tokens,
        read_usd=read_tokens * here.cache_read / 1e6,
        written_usd=written_tokens * here.write(ttl) / 1e6,
        plain_usd=plain * here.input / 1e6,
        output_usd=output_tokens * here.output / 1e6,
    )


def prices_from(
    figures: Mapping[str, float], known: Prices | None = None, *,
    min_cached_tokens: int = 1_024, at_marks: bool = False,
) -> Prices:  # fmt: skip
    """Return prices given by hand over those of `known`; without it `input` and `output` are due.

    What is not given follows from `input`: no price for reading means no cache, none for writing
    means that writing is free. Raises `InvalidSetting` for a name that is no price.
    """
    for name, value in figures.items():
        if name not in NAMES:
            raise InvalidSetting.unknown(f"prices.{name}", NAMES, value=value, kind="price")
    if known is not None:
        return replace(known, **figures, long=None, long_from_tokens=0, source="given")
    for name in ("input", "output"):
        if name not in figures:
            said = f"prices.{name} is missing: the model's own price is not known"
            raise InvalidSetting(f"prices.{name}", None, "given", message=said)
    short = figures.get("cache_write_5m", figures["input"])
    long = short * _HOUR_TO_FIVE_MINUTES if "cache_write_5m" in figures else short
    return Prices(
        input=figures["input"],
        output=figures["output"],
        cache_read=figures.get("cache_read", figures["input"]),
        cache_write_5m=short,
        cache_write_1h=figures.get("cache_write_1h", long),
        min_cached_tokens=min_cached_tokens,
        at_marks=at_marks,
    )
