"""Ask a model: each question once, within the limits of a run; answers are kept on disk."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from hashlib import blake2b
from pathlib import Path
from threading import Thread
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Redact, Summarizer, SummaryAnswer, SummaryRequest, TokenCounter
from foldaway.errors import BatchStopped, InvalidSetting, NotWritable, SummarizerFailed
from foldaway.summarizers import after_try, remedy_for, summarizer_named
from foldaway.summarizers.prompts import VERSION
from foldaway.trajectories.counting import counter_for
from foldaway.trajectories.folder import write_synced
from foldaway.trajectories.policy import BatchSettings, RequestLimits
from foldaway.trajectories.summaries import ModelAnswer, ModelQuestion, SummaryModel

TRIES = 5
"""How often a question is put that nobody answers: for half a minute, by the pauses below."""
RATE_TRIES = 20
"""How often one is put that is turned away because others came before it: a quarter of an hour."""
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0
"""Seconds between tries if the provider names none: doubled each time, up to a minute, after
which every limit of requests a minute is free again."""
_MINUTE = 60.0

T = TypeVar("T")
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Clock: TypeAlias = Callable[[], float]


class ClientSettings(Struct, frozen=True, kw_only=True):
    """Whom a client asks, and how."""

    summarizer: Summarizer
    counter: TokenCounter
    who: str
    """Who answers, as answers are kept by it."""
    answers: Path | None = None
    """Where answers are kept."""
    timeout: float = 120.0
    limits: RequestLimits = RequestLimits()
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


class ModelClient:
    """Answers questions, in a thread of its own, until it is closed.

    The same question is asked once, also by two who ask at the same time; an answer is on the
    disk before anybody has it. What may pass is tried again, after the pause that the provider
    asks for, in which nobody else asks either. If key, model or address is wrong, or nobody can
    be reached, nothing more is asked: every question then ends in `BatchStopped`, after the
    answers that were under way have come.
    """

    def __init__(self, settings: ClientSettings) -> None:
        """Take whom to ask; nothing is asked or started yet."""
        self._settings = settings
        self._queue = _RequestQueue(settings)
        self._thread = _LoopThread()
        self._asked: dict[str, asyncio.Task[ModelAnswer]] = {}
        self.spent = Spent()

    def ask(self, question: ModelQuestion) -> Future[ModelAnswer]:
        """Return the answer to come; it may end in `BatchStopped`."""
        return self._thread.run(self._answer_once(question))

    def close(self) -> None:
        """Let go of everything that is under way."""
        self._thread.close()

    async def _answer_once(self, question: ModelQuestion) -> ModelAnswer:
        """Answer a question, together with anyone else who asks the same."""
        key = answer_key(self._settings.who, question)
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.ensure_future(self._find_answer(key, question))
            task.add_done_callback(lambda _: self._asked.pop(key))
        return await asyncio.shield(task)

    async def _find_answer(self, key: str, question: ModelQuestion) -> ModelAnswer:
        folder = self._settings.answers
        kept = None if folder is None else read_answer(folder, key)
        if kept is not None:
            self._count(kept=1)
            return kept
        number = 0
        while True:
            number += 1
            try:
                return await self._call(key, question.request, number - 1)
            except SummarizerFailed as error:
                self._count(failed=1)
                tries = RATE_TRIES if error.kind == "rate limited" else TRIES
                match after_try(error, is_last=number >= tries):
                    case "stop":
                        why = f"{error}; {remedy_for(error.kind)}"
                        raise await self._queue.stop(why) from None
                    case "give up":
                        return ModelAnswer(None, number)
                    case step:
                        await self._queue.pause(error, number if step == "after a pause" else 0)
            except NotWritable as error:
                raise await self._queue.stop(f"{error.name}: {error.what}") from None

    async def _call(self, key: str, request: SummaryRequest, failed: int) -> ModelAnswer:
        """Ask once, when the limits allow it, and keep what came."""
        settings = self._settings
        async with self._queue.turn(request):
            self._count(calls=1)
            answer = await settings.summarizer.asummarize(request, settings.timeout)
            found = ModelAnswer(_writable(answer), failed)
            if settings.answers is not None:
                await asyncio.to_thread(save_answer, settings.answers, key, found)
        self._count(input_tokens=answer.input_tokens, output_tokens=answer.output_tokens)
        return found

    def _count(self, **more: int) -> None:
        sums = {name: getattr(self.spent, name) + number for name, number in more.items()}
        self.spent = replace(self.spent, **sums)


class _RequestQueue:
    """Lets requests begin within the limits, until one of them stops all."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._rate = RateLimit(settings.limits)
        self._slots = asyncio.Semaphore(settings.limits.requests)
        self._next = asyncio.Lock()
        self._quiet = asyncio.Condition()
        self._under_way = 0
        self._why = ""

    @asynccontextmanager
    async def turn(self, request: SummaryRequest) -> AsyncGenerator[None]:
        """Wait until a request may begin; raises `BatchStopped` if nothing more is asked."""
        async with self._slots:
            async with self._next:
                await self._wait(request)
            self._under_way += 1
            try:
                yield
            finally:
                self._under_way -= 1
                async with self._quiet:
                    self._quiet.notify_all()

    async def _wait(self, request: SummaryRequest) -> None:
        settings, tokens = self._settings, 0
        if settings.limits.tokens_per_minute:
            tokens = request_tokens(request, settings.counter) + request.max_tokens
        while not self._why and (seconds := self._rate.wait(settings.clock(), tokens)) > 0:
            await settings.sleep(seconds)
        if self._why:
            raise await self.stop(self._why)
        self._rate.begin(settings.clock(), tokens)

    async def pause(self, error: SummarizerFailed, number: int) -> None:
        """Wait before the next try, longer after each of `number` failed ones; after a rate limit
        nobody else asks either.
        """
        settings = self._settings
        growing = min(_FIRST_PAUSE * 2 ** (number - 1), _LONGEST_PAUSE) if number else 0.0
        seconds = error.retry_after or growing
        if error.kind == "rate limited":
            self._rate.hold(settings.clock() + seconds)
        else:
            await settings.sleep(seconds)

    async def stop(self, why: str) -> BatchStopped:
        """Ask nothing more, and return why, when the answers that were under way have come."""
        self._why = self._why or why
        async with self._quiet:
            await self._quiet.wait_for(lambda: not self._under_way)
        return BatchStopped(self._why)


class _LoopThread:
    """An event loop in a thread of its own, which is started when it is first needed."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def run(self, work: Coroutine[object, object, T]) -> Future[T]:
        """Return what the work gives, once it is done."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = Thread(target=self._loop.run_forever, name="foldaway-model", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Cancel all work, and end the thread."""
        if self._loop is not None and self._thread is not None:
            asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = None


def client_for(settings: BatchSettings, answers: Path, limits: RequestLimits) -> ModelClient | None:
    """Return the client of a run, which keeps its answers; None if no model is asked."""
    if settings.summaries != "model":
        return None
    client = ClientSettings(
        summarizer=summarizer_for(settings),
        counter=counter_for(settings.tokenizer),
        who=settings.answers_of,
        answers=answers,
        timeout=settings.summarizer_timeout,
        limits=limits,
    )
    return ModelClient(client)


def model_for(settings: BatchSettings, counter: TokenCounter, redact: Redact) -> SummaryModel:
    """Return who is asked, and with what."""
    length = summarizer_for(settings).context_length
    return SummaryModel(
        name=settings.summarizer, context_length=length, counter=counter, redact=redact
    )


def summarizer_for(settings: BatchSettings) -> Summarizer:
    """Return the model that writes; raises `InvalidSetting` if the settings name none."""
    found = summarizer_named(
        settings.summarizer,
        url=settings.summarizer_url,
        key_variable=settings.summarizer_key_variable,
    )
    if found is None:
        raise InvalidSetting("summarizer", settings.summarizer, "named where a model is to write")
    return found


def request_tokens(request: SummaryRequest, counter: TokenCounter) -> int:
    """Return the tokens that are sent."""
    return counter.count(request.instructions) + counter.count(request.prompt)


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _writable(answer: SummaryAnswer) -> SummaryAnswer:
    """Return the answer with text that a file can contain, so that kept ones are the same."""
    return replace(answer, text=answer.text.encode("utf-8", "replace").decode())


def answer_key(who: str, question: ModelQuestion) -> str:
    """Return the key of a question: who is asked, by which version of our prompts, for what."""
    asked = question.request
    said = (who, VERSION, question.attempt, asked.instructions, asked.prompt, asked.max_tokens)
    digest = blake2b(digest_size=16)
    for one in said:
        data = str(one).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    if asked.schema is not None:
        digest.update(msgspec.json.encode(asked.schema, order="deterministic"))
    return digest.hexdigest()


def read_answer(folder: Path, key: str) -> ModelAnswer | None:
    """Return the answer that is kept under a key; None if there is none, or not all of it."""
    try:
        check, _, data = _path(folder, key).read_bytes().partition(b"\n")
        if check != _check(data):
            return None
        return msgspec.json.decode(data, type=ModelAnswer)
    except (OSError, msgspec.DecodeError):
        return None


def save_answer(folder: Path, key: str, answered: ModelAnswer) -> None:
    """Keep an answer; raises `NotWritable` if the disk refuses."""
    path = _path(folder, key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritable(str(path.parent), f"cannot be made ({error.strerror})") from None
    data = msgspec.json.encode(answered)
    write_synced(path, _check(data) + b"\n" + data)


def _path(folder: Path, key: str) -> Path:
    return folder / key[:2] / f"{key}.json"


def _check(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).hexdigest().encode()


class RateLimit:
    """Says how long to wait before the next request; times are seconds of any clock.

    In any minute there begin at most as many requests, with at most as many tokens, as the limits
    allow. A request that is larger than a whole minute goes alone.
    """

    def __init__(self, limits: RequestLimits) -> None:
        """Take the limits."""
        self._limits = limits
        self._counted: deque[tuple[float, int]] = deque()
        self._tokens = 0
        self._not_before = 0.0

    def hold(self, until: float) -> None:
        """Let nothing begin before `until`: the provider asked for it."""
        self._not_before = max(self._not_before, until)

    def wait(self, now: float, tokens: int) -> float:
        """Return the seconds until a request of `tokens` may begin, 0 if it may now."""
        while self._counted and self._counted[0][0] <= now:
            self._tokens -= self._counted.popleft()[1]
        until = max(self._not_before, self._find_free_time(tokens))
        return max(until - now, 0.0)

    def begin(self, now: float, tokens: int) -> None:
        """Count a request that begins."""
        self._counted.append((now + _MINUTE, tokens))
        self._tokens += tokens

    def _find_free_time(self, tokens: int) -> float:
        """Return when enough of what was counted is over; 0 if enough is free."""
        limits, counted = self._limits, self._counted
        free_at = 0.0
        if 0 < limits.requests_per_minute <= len(counted):
            free_at = counted[len(counted) - limits.requests_per_minute][0]
        excess = self._tokens + tokens - limits.tokens_per_minute
        if limits.tokens_per_minute and excess > 0:
            for until, spent in counted:
                excess -= spent
                free_at = max(free_at, until)
                if excess <= 0:
                    break
        return free_at
