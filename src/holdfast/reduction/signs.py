"""Which of many short literals stand in a text, in one pass over it."""

from __future__ import annotations

from collections.abc import Sequence

from ahocorasick_rs import BytesAhoCorasick


class Signs:
    """Literals that are looked for together; in bytes, which is quicker and takes any text."""

    def __init__(self, literals: Sequence[str]) -> None:
        self._automaton = BytesAhoCorasick([literal.encode() for literal in literals])

    def held(self, text: str) -> set[int]:
        """Return the places, in the list, of the literals that the text holds."""
        data = text.encode("utf-8", "surrogatepass")
        return {
            match[0] for match in self._automaton.find_matches_as_indexes(data, overlapping=True)
        }

    def any_in(self, text: str) -> bool:
        """Return whether the text holds any of them."""
        data = text.encode("utf-8", "surrogatepass")
        return bool(self._automaton.find_matches_as_indexes(data))
