"""Means over sessions with 95 % bootstrap intervals."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter

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
    size = len(values)
    if len(set(values)) == 1:
        same = round(values[0], _DIGITS)
        return Estimate(same, same, same, size)
    means = sorted(sum(draw(values)) / size for draw in _draws(size))
    low, high = means[int(_DRAWS * 0.025)], means[int(_DRAWS * 0.975) - 1]
    middle = round(sum(values) / size, _DIGITS)
    return Estimate(middle, round(low, _DIGITS), round(high, _DIGITS), size)


@lru_cache(maxsize=256)
def _draws(size: int) -> list[Callable[[tuple[float, ...]], tuple[float, ...]]]:
    """Return the draws for so many sessions, at least two: the same for all figures."""
    draw, places = random.Random(_SEED), range(size)
    return [itemgetter(*draw.choices(places, k=size)) for _ in range(_DRAWS)]


def mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what is there."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
