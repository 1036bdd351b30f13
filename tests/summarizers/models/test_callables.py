"""Any function as a summarizer, sync or async, with the same deadline and the same failures."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.testing.rows import each_row

from foldaway._core.ports import SummaryAnswer, SummaryRequest
from foldaway.errors import SummarizerFailed
from foldaway.summarizers.models import from_callable


def sync_writer(request: SummaryRequest) -> str:
    return f"read {len(request.prompt)} characters"


async def async_writer(request: SummaryRequest) -> str:
    await asyncio.sleep(0)
    return sync_writer(request)


class CallableWriter:
    async def __call__(self, request: SummaryRequest) -> str:
        return await async_writer(request)


def late_writer(request: SummaryRequest) -> Any:
    return async_writer(request)


def full_writer(request: SummaryRequest) -> SummaryAnswer:
    return SummaryAnswer(text=sync_writer(request))


WRITERS = [sync_writer, async_writer, CallableWriter(), late_writer, full_writer]


@each_row("writer", WRITERS, ids=lambda writer: type(writer).__name__)
def test_a_function_of_any_kind_writes(
    writer: Any, question: SummaryRequest, ask: Callable[..., SummaryAnswer]
) -> None:
    """Sync, async, an object, a function that returns a coroutine, a whole answer."""
    assert ask(from_callable(writer), question, 10).text == "read 24 characters"


def test_a_function_gives_its_name() -> None:
    """Unless another one is given."""
    assert from_callable(sync_writer).name == "callable:sync_writer"
    made = from_callable(sync_writer, name="mine", context_length=9)
    assert (made.name, made.context_length) == ("mine", 9)


class HttpFailed(Exception):
    def __init__(self) -> None:
        self.status_code = 429
        self.body = {"error": {"code": "insufficient_quota"}}


@each_row(
    ("error", "kind"),
    [
        (SummarizerFailed("too long", "mine", "said so"), "too long"),
        (TimeoutError(), "timed out"),
        (ConnectionRefusedError(), "unreachable"),
        (HttpFailed(), "refused"),
        (StopIteration(), "broken answer"),
        (ValueError("the planted conversation"), "broken answer"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
@each_row("is_async", [False, True])
def test_what_a_function_raises_has_a_kind(
    error: Exception, kind: str, is_async: bool, question: SummaryRequest, failure_of: Any
) -> None:
    """Nothing but `SummarizerFailed` comes out, without a word of the error."""
    if is_async and isinstance(error, StopIteration):
        pytest.skip("a coroutine cannot raise it")

    def writer(request: SummaryRequest) -> str:
        raise error

    async def awaited(request: SummaryRequest) -> str:
        raise error

    failed = failure_of(from_callable(awaited if is_async else writer), question, 10)
    assert failed.kind == kind
    assert "planted" not in str(failed)


@each_row("value", [None, 5, b"bytes", ""], ids=repr)
def test_what_is_no_text_is_a_failure(
    value: Any, question: SummaryRequest, failure_of: Any
) -> None:
    """A wrong type is a broken answer, an empty text an empty one."""
    failed = failure_of(from_callable(lambda request: value), question, 10)
    assert failed.kind == ("empty answer" if value == "" else "broken answer")


def test_a_function_that_hangs_is_given_up(question: SummaryRequest, failure_of: Any) -> None:
    """A thread cannot be stopped; the caller goes on without it."""
    ended = threading.Event()

    def hang(request: SummaryRequest) -> str:
        ended.wait(30)
        return "too late"

    assert failure_of(from_callable(hang), question, 0.1).kind == "timed out"
    ended.set()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes(error: type[BaseException], question: SummaryRequest) -> None:
    """Who wants to leave is not held back by a kind of failure."""

    def writer(request: SummaryRequest) -> str:
        raise error

    with pytest.raises(error):
        from_callable(writer).summarize(question, 10)


def test_a_cancelled_caller_cancels_an_async_function(question: SummaryRequest) -> None:
    """The function hears of it, and the caller's cancellation is not swallowed."""
    heard: list[str] = []

    async def main() -> None:
        begun = asyncio.Event()

        async def writer(request: SummaryRequest) -> str:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                heard.append("cancelled")
                raise
            return ""

        task = asyncio.create_task(from_callable(writer).asummarize(question, 60))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert heard == ["cancelled"]
