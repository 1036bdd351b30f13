"""Tokens and money as people read them."""

from __future__ import annotations

from collections.abc import Iterable

_UNITS = ((1e9, "B"), (1e6, "M"), (1e3, "k"))


def full(number: int) -> str:
    """Return a number with all its digits."""
    return f"{number:,}"


def short(number: float) -> str:
    """Return a number in at most five characters: 950, 1.2k, 34k, 5.6M."""
    for size, unit in _UNITS:
        if number >= size * 0.9995:
            value = number / size
            digits = 1 if value < 9.95 or (value < 99.95 and unit != "k") else 0
            return f"{value:.{digits}f}{unit}"
    return f"{number:.0f}"


def money(amount: float) -> str:
    """Return dollars in cents; what is less than one is said so."""
    return "<$0.01" if 0 < amount < 0.005 else f"${amount:,.2f}"


def short_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return folders by their last part, with as many more as tell them apart."""
    waiting, depth, names = set(paths), 1, dict[str, str]()
    while waiting:
        ends: dict[str, list[str]] = {}
        for path in waiting:
            parts = [part for part in path.replace("\\", "/").split("/") if part]
            ends.setdefault("/".join(parts[-depth:]) or "unknown", []).append(path)
        for end, same in ends.items():
            if len(same) == 1 or depth > max(path.count("/") for path in same):
                names |= dict.fromkeys(same, end)
        waiting -= names.keys()
        depth += 1
    return names
