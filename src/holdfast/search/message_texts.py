"""The texts that a search reads, each once, and whether they have what is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.search.values import Reveal, Revealed, Term, Written
from holdfast.search.words import holds

HIDDEN = "\ua66e"
"""What stands for a placeholder where words are looked for: a letter, so that what touches it is no
word of its own and what it parts is not side by side. It is in no alphabet."""


class MessageTexts:
    """Messages by their ids in an index.

    Without `reveal` they are found by their whole text. With it a message has a term only if what
    is shown of it has the term: no answer may depend on a text that nobody is shown.
    """

    def __init__(self, without: Sequence[Term], reveal: Reveal | None) -> None:
        self._without = without
        self._reveal = reveal
        self._written: dict[int, Written] = {}
        self._revealed: dict[int, Revealed] = {}

    def missing(self, ids: Iterable[int]) -> list[int]:
        """Return those that were not read yet."""
        return [message for message in ids if message not in self._written]

    def add(self, message: int, written: Written) -> None:
        """Keep a message that was read."""
        self._written[message] = written

    def text(self, message: int) -> str:
        """Return a text as it is shown."""
        return self._shown(message).text if self._reveal else self._written[message].text

    def fits(self, message: int, terms: Sequence[Term]) -> bool:
        """Return whether a message has all terms and nothing unwanted."""
        text = self._written[message].text
        if not all(holds(text, term) for term in terms):
            return False
        if self._reveal:
            words = self._shown(message).words
            if any(HIDDEN in term.text for term in terms):
                return False
            # most messages hide nothing: their words are the text that was looked into
            if words is not text and not all(holds(words, term) for term in terms):
                return False
            text = words
        return not any(holds(text, term) for term in self._without)

    def _shown(self, message: int) -> Revealed:
        found = self._revealed.get(message)
        if found is None and self._reveal:
            found = self._revealed[message] = self._reveal(self._written[message])
        assert found is not None  # asked only if there is a `reveal`
        return found
