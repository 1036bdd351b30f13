"""Lines of one message as an entry: which file or call they are from, and at which lines."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Sequence

from foldaway._core import Regex
from foldaway.facts.dialogue.statements import is_order
from foldaway.facts.ledger.fact import NOTHING_FOUND, Fact, Ledger
from foldaway.facts.summary import Entry, EntryPiece, of_pieces

_LEAST_LISTED = 3
"""Paths that are told by their folder and names; chosen, it pays from two on."""
_PATH = Regex(r"[\w.~@+/-]+/[\w.@+-]+\Z")

_ARGUMENT = Regex(r" \(\w+\)\Z")
"""At the end of a head: what is quoted is an argument of the call."""
SPOKEN = frozenset({"agent", "user", NOTHING_FOUND})
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
        if folder := _shared_folder(facts):
            texts = [posixpath.basename(fact.text) for fact in facts]
            head += f" in {folder}/"
        elif state is None or (state.is_touched and state.at > facts[0].at):
            texts = [fact.text for fact in facts]
        elif _is_run(facts):
            texts = [fact.text for fact in facts]
            head += f":{_span(facts[0].number, facts[-1].number)}"
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


def _shared_folder(facts: Sequence[Fact]) -> str:
    """Return the folder of lines that are paths, if they have the same; otherwise ""."""
    folders = {_folder(fact.text) for fact in facts}
    return folders.pop() if len(folders) == 1 and len(facts) >= _LEAST_LISTED else ""


def _folder(text: str) -> str:
    is_path = _PATH.match(text) is not None
    return posixpath.dirname(text) if is_path else ""


def _is_run(facts: Sequence[Fact]) -> bool:
    """Return whether lines follow each other."""
    first = facts[0].number
    return first > 0 and all(fact.number == first + at for at, fact in enumerate(facts))


def _span(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"


def _numbered(facts: Iterable[Fact]) -> Iterable[str]:
    """Yield lines, with their number if they do not follow the one before."""
    following = 0
    for fact in facts:
        is_new = fact.number > 0 and fact.number != following
        yield f"{fact.number}: {fact.text}" if is_new else fact.text
        following = fact.number + 1
