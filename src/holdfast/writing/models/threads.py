"""Waiting for what awaits, and awaiting what waits: both with a way out."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

JOIN_SECONDS = 2.0
"""How long a thread is waited for that has its result and only tidies up."""


def in_own_loop(work: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
    """Return what `work` returns, run in an event loop of its own on a thread of its own.

    The caller's thread may have a running loop. An interrupt of the caller cancels the work. A
    `TimeoutError` after `seconds` is for work that hears no cancellation, such as a name lookup;
    its thread is left behind and does not keep the process alive.
    """
    done: Future[T] = Future()
    running: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = Future()

    async def main() -> None:
        running.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        try:
            result = await work()
        except BaseException as error:  # noqa: BLE001  the caller's thread raises it
            done.set_exception(error)
        else:
            done.set_result(result)

    context = contextvars.copy_context()
    thread = Thread(
        target=lambda: context.run(lambda: asyncio.run(main())),
        name="holdfast-summarizer",
        daemon=True,
    )
    thread.start()
    try:
        return done.result(seconds)
    finally:
        if not done.done():
            _cancel(*running.result())
        thread.join(JOIN_SECONDS)


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None) -> None:
    if task is not None and not loop.is_closed():
        loop.call_soon_threadsafe(task.cancel)


async def in_thread(function: Callable[[], T]) -> T:
    """Return what `function` returns, run on a thread that does not keep the process alive.

    A cancelled caller goes on at once; the function then runs to its end unheard.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Callable[[], T]] = loop.create_future()

    def settle(outcome: Callable[[], T]) -> None:
        if not done.done():
            done.set_result(outcome)

    def run() -> None:
        outcome = _outcome(function)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, outcome)

    context = contextvars.copy_context()
    Thread(target=context.run, args=(run,), name="holdfast-callable", daemon=True).start()
    return (await done)()


def _outcome(function: Callable[[], T]) -> Callable[[], T]:
    """Call the function; return what returns its result or raises its error."""
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001  the caller's thread raises it
        caught = error

        def again() -> T:
            raise caught

        return again
    return lambda: result
