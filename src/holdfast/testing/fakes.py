"""Fakes for what Holdfast calls out to: a summarizer with a script, a token counter by rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class ScriptedSummarizer:
    """Answers from a list, in order, and remembers what it was asked.

    An answer that is an exception is raised instead. Asked more often than the script is long, it
    raises `AssertionError`, so that a test notices one call too many.
    """

    def __init__(self, answers: Iterable[str | Exception] = ()) -> None:
        """Take the script."""
        self._answers = iter(tuple(answers))
        self.requests: list[Any] = []

    async def __call__(self, request: Any) -> str:
        """Return the next answer."""
        self.requests.append(request)
        answer = next(self._answers, None)
        if answer is None:
            raise AssertionError(f"the script is over; request {len(self.requests)}: {request!r}")
        if isinstance(answer, Exception):
            raise answer
        return answer


class FixedTokenCounter:
    """Counts the same for every text, or by a fixed number of characters a token."""

    def __init__(self, tokens: int | None = None, *, chars_per_token: int = 4) -> None:
        """Count `tokens` for every text; where None, one for each `chars_per_token` begun."""
        self._tokens = tokens
        self._chars_per_token = chars_per_token

    def __call__(self, text: str) -> int:
        """Return the tokens of `text`."""
        if self._tokens is not None:
            return self._tokens
        return -(-len(text) // self._chars_per_token)
