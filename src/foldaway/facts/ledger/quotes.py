"""Lines of one message as an entry: which file or call they are from, and at which lines."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Sequence

from foldaway._core import Regex
from foldaway.facts.dialogue.statements import is_order
from foldaway.facts.ledger.fact import Fact, Ledger
from foldaway.facts.summary import Entry, EntryPiece, of_pieces

_ARGUMENT = Regex(r" \(\w+\)\Z")
"""At the end of a head: what is quoted is an argument of the call."""
SPOKEN = frozenset({"agent", "user"})
"""Heads of lines that are not from a tool's result."""


class Quotes:
    """Makes entries of lines; a path is written out once, and then by the end of it.

    A number is given as long as it is true: not if the file was changed after it was read.
    """

    def __init__(self, ledger: Ledger, quoted: str) -> None:
        """Take the words for what is quoted and no instruction."""
        self._mark = f"({quoted}) "
        self._files = ledger.files
        self._named = {path for path, state in ledger.files.items() if state.is_touched}
        self._names = Counter(map(posixpath.basename, ledger.files))

    def entry(self, head: str, rows: Sequence[tuple[float, Fact]]) -> Entry:
        """Return lines, each with its weight, in their order, as one entry."""
        facts = [fact for _, fact in rows]
        tool, _, path = head.partition(" ")
        state = self._files.get(path)
        if state is not None:
            head = f"{tool} {self._name(path)}"
        if state is None or (state.is_touched and state.at > facts[0].at):
            texts = [fact.text for fact in facts]
        else:
            texts = list(_numbered(facts))
        is_carried = facts[0].at < 0  # it stays as it was told
        if not (is_carried or head in SPOKEN or _ARGUMENT.search(head)):
            head += " says"
            texts = [
                self._mark + text if is_order(fact.text) else text
                for text, fact in zip(texts, facts, strict=True)
            ]
        weights = [weight for weight, _ in rows]
        pieces = tuple(map(EntryPiece, texts, weights))
        return of_pieces(head, pieces, facts[0].source)

    def _name(self, path: str) -> str:
        name = posixpath.basename(path)
        if path in self._named and self._names[name] == 1:
            return name
        self._named.add(path)
        return path


def _numbered(facts: Iterable[Fact]) -> Iterable[str]:
    """Yield lines, with their number if they do not follow the one before."""
    following = 0
    for fact in facts:
        is_new = fact.number > 0 and fact.number != following
        yield f"{fact.number}: {fact.text}" if is_new else fact.text
        following = fact.number + 1
