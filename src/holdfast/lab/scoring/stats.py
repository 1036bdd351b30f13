"""Means over sessions with 95 % bootstrap intervals."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

_DRAWS = 1_000
_SEED = 20
_DIGITS = 5


class Estimate(Struct, frozen=True):
    """A mean over sessions, its 95 % interval, and how many sessions it stands on."""

    mean: float
    low: float
    high: float
    sessions: int


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the mean of the sessions' scores; None without any."""
    return _estimated(tuple(values)) if values else None


@lru_cache(maxsize=10_000)
def _estimated(values: tuple[float, ...]) -> Estimate:
    size, draw = len(values), random.Random(_SEED)
    means = sorted(sum(draw.choices(values, k=size)) / size for _ in range(_DRAWS))
    low, high = means[int(_DRAWS * 0.025)], means[int(_DRAWS * 0.975) - 1]
    middle = round(sum(values) / size, _DIGITS)
    return Estimate(middle, round(low, _DIGITS), round(high, _DIGITS), size)


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what is there."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
