"""Fakes for what Foldaway calls out to: a summarizer with a script, a token counter by rule."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import TypeAlias

from foldaway._core import SummaryAnswer, SummaryRequest
from foldaway.errors import SummarizerFailed

Script: TypeAlias = str | SummaryAnswer | BaseException
Writer: TypeAlias = Callable[[SummaryRequest], Script]


class ScriptedSummarizer:
    """A summarizer with a script: a list of answers, in order, or a function of the request.

    An answer that is an exception is raised instead. Asked more often than the list is long, it
    raises `AssertionError`, so that a test notices one call too many. With `hold`, it begins to
    answer only when `release` was called; `asked` tells that somebody waits.
    """

    def __init__(
        self,
        answers: Iterable[Script] | Writer = (),
        *,
        name: str = "scripted:model",
        context_length: int = 128_000,
        hold: bool = False,
    ) -> None:
        """Take the script."""
        self.name = name
        self.context_length = context_length
        self.requests: list[SummaryRequest] = []
        self.asked = threading.Event()
        self._write = answers if callable(answers) else self._from_list(tuple(answers))
        self._released = threading.Event()
        if not hold:
            self._released.set()

    def release(self) -> None:
        """Let it answer from now on."""
        self._released.set()

    def hold(self) -> None:
        """Let nobody have an answer until it is released."""
        self._released.clear()

    def summarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Return the next answer, once it is let."""
        self.requests.append(request)
        self.asked.set()
        if not self._released.wait(timeout):
            raise SummarizerFailed("timed out", self.name)
        return self._answer(request)

    async def asummarize(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Return the next answer, once it is let."""
        self.requests.append(request)
        self.asked.set()
        async with asyncio.timeout(timeout):
            while not self._released.is_set():
                await asyncio.sleep(0.001)
        return self._answer(request)

    def _answer(self, request: SummaryRequest) -> SummaryAnswer:
        answer = self._write(request)
        if isinstance(answer, BaseException):
            raise answer
        return SummaryAnswer(text=answer) if isinstance(answer, str) else answer

    def _from_list(self, answers: tuple[Script, ...]) -> Writer:
        left = iter(answers)

        def write(request: SummaryRequest) -> Script:
            answer = next(left, None)
            if answer is None:
                raise AssertionError(f"the script is over; request {len(self.requests)}")
            return answer

        return write


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
