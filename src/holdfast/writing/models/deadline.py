"""An answer within its time, or a failure that has a kind: the same for every provider."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from holdfast.errors import HoldfastError, SummarizerFailed
from holdfast.writing.models.failures import failure
from holdfast.writing.models.threads import in_own_loop

T = TypeVar("T")

GRACE_SECONDS = 5.0
"""How long past the deadline a waiting caller stays for work that hears no cancellation."""


def waited_for(work: Callable[[], Coroutine[Any, Any, T]], timeout: float, name: str) -> T:
    """Return what `work` gives, for callers that do not await, also inside a running event loop.

    The work keeps its own deadline; this one is for what does not hear it.
    """
    try:
        return in_own_loop(work, timeout + GRACE_SECONDS)
    except TimeoutError:
        pass
    raise _timed_out(name, timeout)


async def in_time(ask: Callable[[], Awaitable[T]], timeout: float, name: str, *, key: str) -> T:
    """Return what `ask` gives within `timeout` seconds, or raise `SummarizerFailed`.

    `key` names the variable with the credentials, for the remedy. What the provider said is in no
    traceback. Cancelling the task cancels the request.
    """
    deadline = asyncio.timeout(timeout)
    try:
        async with deadline:
            return await ask()
    except HoldfastError:
        raise
    except Exception as error:  # noqa: BLE001  a guest: whatever it raises has a kind
        failed = _timed_out(name, timeout) if deadline.expired() else failure(error, name, key=key)
    raise failed  # out here, so that no traceback shows what the provider said


def _timed_out(name: str, timeout: float) -> SummarizerFailed:
    return SummarizerFailed("timed out", name, f"no answer within {timeout:g} s")
