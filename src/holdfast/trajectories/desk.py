"""Where a run asks a model: so many questions at a time, at the pace of the provider, each once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import BatchStopped, NotWritable, SummarizerFailed
from holdfast.ports import Summarizer, SummaryAnswer, SummaryRequest, TokenCounter
from holdfast.trajectories.answers import (
    Answered,
    Question,
    answer_key,
    keep_answer,
    kept_answer,
)
from holdfast.trajectories.pace import UNLIMITED, Limits, Pace
from holdfast.writing.failures import CLASSES, LONGEST_PAUSE, remedy_for, without_writer

TRIES = 5
"""So often a question is put that nobody answers: for half a minute."""
RATE_TRIES = 20
"""And one that is turned away because others came before it: for a quarter of an hour."""
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Clock: TypeAlias = Callable[[], float]


class Bureau(Struct, frozen=True, kw_only=True):
    """Whom a desk asks, and how."""

    summarizer: Summarizer
    counter: TokenCounter
    who: str
    """Who answers, as answers are kept by it."""
    answers: Path | None = None
    """Where answers are kept."""
    timeout: float = 120.0
    limits: Limits = UNLIMITED
    clock: Clock = time.monotonic
    sleep: Sleep = asyncio.sleep


class Spent(Struct, frozen=True, kw_only=True):
    """What a run asked and was told; answers that were kept cost nothing."""

    calls: int = 0
    failed: int = 0
    kept: int = 0
    """Questions whose answer was there already."""
    input_tokens: int = 0
    output_tokens: int = 0
    """As the provider reports them."""


class Desk:
    """Answers questions, in a thread of its own, until it is closed.

    The same question is asked once, also by two who ask at the same time; an answer is on the
    disk before anybody has it. What may pass is tried again, after the pause that the provider
    asks for, in which nobody else asks either. Where key, model or address is wrong, and where
    nobody can be reached, nothing more is asked: every question then ends in `BatchStopped`,
    after the answers that were under way have come.
    """

    def __init__(self, bureau: Bureau) -> None:
        """Take whom to ask; nothing is asked or started yet."""
        self._bureau = bureau
        self._pace = Pace(bureau.limits)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked: dict[str, asyncio.Task[Answered]] = {}
        self._calling = 0
        self._why = ""
        self.spent = Spent()

    def ask(self, question: Question) -> Future[Answered]:
        """Return the answer to come; it may end in `BatchStopped`."""
        return asyncio.run_coroutine_threadsafe(self._once(question), self._started())

    def answer(self, question: Question) -> Answered:
        """Wait for the answer, in a process that asks for itself."""
        return self.ask(question).result()

    def close(self) -> None:
        """Let go of everything that is under way."""
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._seats = asyncio.Semaphore(self._bureau.limits.requests)
            self._next = asyncio.Lock()
            self._quiet = asyncio.Condition()
            self._thread = Thread(target=self._loop.run_forever, name="holdfast-desk", daemon=True)
            self._thread.start()
        return self._loop

    async def _once(self, question: Question) -> Answered:
        """Answer a question, together with whoever else asks the same."""
        key = answer_key(self._bureau.who, question)
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.ensure_future(self._answered(key, question))
            task.add_done_callback(lambda _: self._asked.pop(key))
        return await asyncio.shield(task)

    async def _answered(self, key: str, question: Question) -> Answered:
        folder = self._bureau.answers
        kept = None if folder is None else kept_answer(folder, key)
        if kept is not None:
            self.spent = replace(self.spent, kept=self.spent.kept + 1)
            return kept
        number = 0
        while True:
            number += 1
            try:
                return await self._call(key, question.request, number - 1)
            except SummarizerFailed as error:
                self.spent = replace(self.spent, failed=self.spent.failed + 1)
                if await self._is_over(error, number):
                    return Answered(None, number)
                await self._pause(error, number)
            except NotWritable as error:
                raise await self._stopped(f"{error.name}: {error.what}") from None

    async def _call(self, key: str, request: SummaryRequest, failed: int) -> Answered:
        """Ask once, when there is a seat and the pace allows it, and keep what came."""
        bureau = self._bureau
        async with self._seats:
            async with self._next:
                await self._paced(request)
            self._calling += 1
            self.spent = replace(self.spent, calls=self.spent.calls + 1)
            try:
                answer = await bureau.summarizer.asummarise(request, bureau.timeout)
                found = Answered(_writable(answer), failed)
                if bureau.answers is not None:
                    await asyncio.to_thread(keep_answer, bureau.answers, key, found)
            finally:
                self._calling -= 1
                async with self._quiet:
                    self._quiet.notify_all()
        self.spent = replace(
            self.spent, input_tokens=self.spent.input_tokens + answer.input_tokens,
            output_tokens=self.spent.output_tokens + answer.output_tokens,
        )  # fmt: skip
        return found

    async def _paced(self, request: SummaryRequest) -> None:
        bureau, tokens = self._bureau, 0
        if bureau.limits.tokens_per_minute:
            tokens = request_tokens(request, bureau.counter) + request.max_tokens
        while not self._why and (seconds := self._pace.wait(bureau.clock(), tokens)) > 0:
            await bureau.sleep(seconds)
        if self._why:
            raise await self._stopped(self._why)
        self._pace.begin(bureau.clock(), tokens)

    async def _is_over(self, error: SummarizerFailed, number: int) -> bool:
        """Return whether a question is given up; raises where everything is."""
        if CLASSES[error.kind] == "no provider" or error.retry_after > LONGEST_PAUSE:
            raise await self._stopped(f"{error}; {remedy_for(error.kind)}")
        tries = RATE_TRIES if error.kind == "rate limited" else TRIES
        if number < tries and error.kind != "too long":
            return False
        if without_writer(error.kind, "auto", "none") == "abort":
            raise await self._stopped(f"{error}; {remedy_for(error.kind)}")
        return True

    async def _pause(self, error: SummarizerFailed, number: int) -> None:
        bureau = self._bureau
        growing = min(_FIRST_PAUSE * 2 ** (number - 1), _LONGEST_PAUSE)
        if CLASSES[error.kind] == "answer":
            growing = 0.0  # nobody is overrun
        seconds = error.retry_after or growing
        if error.kind == "rate limited":
            self._pace.hold(bureau.clock() + seconds)
        else:
            await bureau.sleep(seconds)

    async def _stopped(self, why: str) -> BatchStopped:
        """Ask nothing more, and return why, when the answers that were under way have come."""
        self._why = self._why or why
        async with self._quiet:
            await self._quiet.wait_for(lambda: not self._calling)
        return BatchStopped(self._why)


def request_tokens(request: SummaryRequest, counter: TokenCounter) -> int:
    """Return the tokens that are sent."""
    return counter.count(request.instructions) + counter.count(request.prompt)


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _writable(answer: SummaryAnswer) -> SummaryAnswer:
    """Return the answer with words that a file can hold, so that kept ones are the same."""
    return replace(answer, text=answer.text.encode("utf-8", "replace").decode())
