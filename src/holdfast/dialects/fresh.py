"""Ids that nobody has yet."""

from __future__ import annotations

from collections.abc import Iterable


class FreshIds:
    """Makes ids that are not taken, each only once; linear however many are asked for."""

    __slots__ = ("_last", "_taken")

    def __init__(self, taken: Iterable[str]) -> None:
        """Start with the ids that are taken."""
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def make(self, wanted: str) -> str:
        """Return `wanted`, numbered from 2 where it is taken already."""
        if wanted not in self._taken:
            self._taken.add(wanted)
            return wanted
        return self.number(wanted, 2)

    def number(self, stem: str, first: int = 1) -> str:
        """Return `stem` with the next number that is free, counted from `first`."""
        count = self._last.get(stem, first - 1) + 1
        while f"{stem}_{count}" in self._taken:
            count += 1
        self._last[stem] = count
        made = f"{stem}_{count}"
        self._taken.add(made)
        return made
