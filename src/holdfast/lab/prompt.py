"""The prompt of a replay as it grows and changes, and how much of it a provider has cached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.caching.breakpoints import NEWEST_CARRIERS

Piece = tuple[Any, int]
"""A message on the wire and its tokens; the same object is the same text."""


class Prompt:
    """The messages of the next request, their total, and the first that is not as it was sent."""

    __slots__ = ("_unchanged", "outside_tokens", "pieces", "system_stop", "tokens")

    def __init__(self, outside_tokens: int, system_stop: int) -> None:
        """Start with what stands outside the list; `system_stop` messages lead it unchanged."""
        self.outside_tokens = outside_tokens
        self.system_stop = system_stop
        self.pieces: list[Piece] = []
        self.tokens = outside_tokens
        self._unchanged = 0

    def extend(self, pieces: Sequence[Piece]) -> None:
        """Put new messages at the end."""
        self.pieces.extend(pieces)
        self.tokens += sum(tokens for _, tokens in pieces)

    def change(self, at: int, piece: Piece) -> None:
        """Put another message in the place of one."""
        self.tokens += piece[1] - self.pieces[at][1]
        self.pieces[at] = piece
        self._unchanged = min(self._unchanged, at)

    def replace(self, pieces: Sequence[Piece]) -> None:
        """Put another list in the place of all messages."""
        self._unchanged = min(self._unchanged, self._same(pieces))
        self.pieces = list(pieces)
        self.tokens = self.outside_tokens + sum(tokens for _, tokens in pieces)

    def kept_tokens(self, pieces: Sequence[Piece], *, at_marks: bool) -> int:
        """Return how much of what is cached another list would leave of use."""
        same = self._same(pieces)
        if at_marks:
            same = self.system_stop if same >= self.system_stop else 0
        return self.outside_tokens + sum(tokens for _, tokens in pieces[:same])

    def _same(self, pieces: Sequence[Piece]) -> int:
        same = 0
        for (was, _), (now, _) in zip(self.pieces, pieces, strict=False):
            if was is not now:
                break
            same += 1
        return same

    def sent(self) -> None:
        """Note that the provider has seen the prompt as it is."""
        self._unchanged = len(self.pieces)

    def cached_tokens(self, sent_length: int, *, at_marks: bool) -> int:
        """Return how much of the prompt the provider can read from its cache.

        `sent_length` is the length of the last request, 0 where nothing is cached any more. A
        provider that caches at marks finds only prefixes that end at one: the system prompt and
        the newest three messages of the last request.
        """
        if not sent_length:
            return 0
        stop = min(self._unchanged, sent_length)
        if at_marks and stop <= sent_length - NEWEST_CARRIERS:
            stop = self.system_stop if stop >= self.system_stop else 0
        return self.outside_tokens + sum(tokens for _, tokens in self.pieces[:stop])
