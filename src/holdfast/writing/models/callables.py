"""Any function that writes a summary."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from holdfast.errors import SummarizerFailed
from holdfast.ports import SummaryAnswer, SummaryRequest
from holdfast.writing.models.asking import Asked
from holdfast.writing.models.threads import in_thread

Written: TypeAlias = str | SummaryAnswer
Writer: TypeAlias = Callable[[SummaryRequest], Written | Awaitable[Written]]


def from_callable(function: Writer, *, name: str = "", context_length: int = 0) -> Asked:
    """Return a summariser that calls `function`, which may be async.

    A sync function runs on a thread of its own, since only so can a caller stop waiting for it;
    one that is given up runs on unheard. What it raises is classified like the errors of the
    SDKs; a `SummarizerFailed` of its own passes as it is.
    """
    called = name or f"callable:{getattr(function, '__name__', type(function).__name__)}"

    async def ask(
        request: SummaryRequest, seconds: float, without: frozenset[str]
    ) -> SummaryAnswer:
        del seconds, without
        if _is_async(function):
            written: Any = function(request)
        else:
            written = await in_thread(lambda: function(request))
        if inspect.isawaitable(written):
            written = await written
        if isinstance(written, str):
            return SummaryAnswer(text=written)
        if isinstance(written, SummaryAnswer):
            return written
        raise SummarizerFailed("broken answer", called, "neither a text nor a SummaryAnswer")

    return Asked(called, ask, context_length=context_length)


def _is_async(function: Writer) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004  an object may be async in its call
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
