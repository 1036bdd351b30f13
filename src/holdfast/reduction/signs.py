"""Which of many short literals stand in a text, in one pass over it."""

from __future__ import annotations

from collections.abc import Sequence

from ahocorasick_rs import AhoCorasick


class Signs:
    """Literals that are looked for together."""

    def __init__(self, literals: Sequence[str]) -> None:
        self._literals = tuple(literals)
        self._automaton = AhoCorasick(self._literals)

    def held(self, text: str) -> set[int]:
        """Return the places, in the list, of the literals that the text holds."""
        try:
            found = self._automaton.find_matches_as_indexes(text, overlapping=True)
        except UnicodeEncodeError:  # a lone surrogate
            return {place for place, sign in enumerate(self._literals) if sign in text}
        return {match[0] for match in found}

    def any_in(self, text: str) -> bool:
        """Return whether the text holds any of them."""
        try:
            return bool(self._automaton.find_matches_as_indexes(text))
        except UnicodeEncodeError:
            return any(sign in text for sign in self._literals)
