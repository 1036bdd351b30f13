"""Counts as a tokenizer does, and no word twice: most words of a text stood in one before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from holdfast.trajectories.splits import Split

WORDS = re.compile(
    r"""(?sx) [^A-Za-z0-9]*+ [A-Za-z0-9]++
    (?: (?: ' (?=[sdmtlvrSDMTLVR\x80-\U0010ffff]) | [\x80-\U0010ffff] )
        [^A-Za-z0-9]*+ [A-Za-z0-9]*+ )*+
    | .+"""
)
"""A letter or digit of ASCII with another character of ASCII behind it: there every split of
`SPLITS` ends a piece, but for the start of a contraction such as 's. So a text costs what these
words cost, each by itself."""
_BLOCK_CHARS = 1 << 16
"""So much of a text is looked at at a time: its words take many times the room of its letters."""
_ENTRY_BYTES = 160
"""What a word takes in memory beside its letters."""
_MOST_BYTES = 6_000_000
"""So much is remembered before a new start, and as much of the time before it. What comes again
mostly comes soon: four times as much is no faster."""

_Count: TypeAlias = Callable[[str], int]


class ByWords:
    """A counter that asks another one for words that it does not know yet.

    `count` gives the tokens of any text, `count_piece` those of one piece of ASCII as `split` parts
    a word, in less time. What is remembered is bounded, and several threads may count.
    """

    def __init__(
        self,
        name: str,
        count: _Count,
        count_piece: _Count,
        split: Split,
        *,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        """Take who counts what is new."""
        self.name = name
        self._count, self._count_piece = count, count_piece
        self._pieces_of = split.pieces.findall
        self._most = self._room = most_bytes
        self._known: dict[str, int] = {}
        """Words and pieces. It only grows, and then makes way for a new one: whoever counts
        meanwhile keeps the old."""
        self._before: dict[str, int] = {}
        """What was known before that: what is asked for again is taken over."""

    def count(self, text: str) -> int:
        """Return the tokens of `text`."""
        return sum(map(self._count_words, _blocks(text)))

    def _count_words(self, words: list[str]) -> int:
        if self._room < 0:
            self._known, self._before, self._room = {}, self._known, self._most
        known = self._known
        try:
            return sum(map(known.__getitem__, words))
        except KeyError:
            self._learn(set(words).difference(known), known, self._count_pieces)
            return sum(map(known.__getitem__, words))

    def _learn(self, new: Iterable[str], known: dict[str, int], count: _Count) -> None:
        before, size = self._before.get, 0
        for text in new:
            found = before(text)
            known[text] = count(text) if found is None else found
            size += len(text) + _ENTRY_BYTES
        self._room -= size

    def _count_pieces(self, word: str) -> int:
        """Return the tokens of a new word; its pieces are mostly known."""
        if not word.isascii() or len(word) > _BLOCK_CHARS:
            return self._count(word)
        pieces, known = self._pieces_of(word), self._known
        try:
            return sum(map(known.__getitem__, pieces))
        except KeyError:
            self._learn(set(pieces).difference(known), known, self._count_piece)
            return sum(map(known.__getitem__, pieces))


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the words of a text, a block at a time."""
    find, start, size = WORDS.findall, 0, _BLOCK_CHARS
    while len(text) - start > size:
        words: list[str] = find(text, start, start + size)
        # the last one may go on behind the block
        rest = len(words.pop())
        if words:
            yield words
            start, size = start + size - rest, _BLOCK_CHARS
        else:
            size *= 2
    if start < len(text):
        yield find(text, start)
