"""One summariser for every API: the deadline, the sync form, and what failures are called."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from holdfast.errors import HoldfastError, MissingExtra, SummarizerFailed
from holdfast.ports import SummaryAnswer, SummaryRequest
from holdfast.writing.models.deadline import in_time, waited_for
from holdfast.writing.models.failures import rejected_option
from holdfast.writing.models.threads import in_thread

Ask: TypeAlias = Callable[[SummaryRequest, float, frozenset[str]], Awaitable[SummaryAnswer]]
"""Puts the question once: the request, the seconds left for it, the options to do without."""


class Asked:
    """A `Summarizer` around one function that asks.

    It keeps nothing open between two calls. What it remembers is which options its server does
    not take, so that only the first call asks twice.
    """

    def __init__(
        self,
        name: str,
        ask: Ask,
        *,
        context_length: int = 0,
        key: str = "",
        package: str = "",
        options: Mapping[str, Sequence[str]] | None = None,
        tidy: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Take what asks, with the SDK that it needs; `tidy` runs at the end of a loop that was
        made for one call.
        """
        self._name = name
        self._ask = ask
        self._context_length = context_length
        self._key = key
        self._package = package
        self._options = options or {}
        self._without: frozenset[str] = frozenset()
        self._tidy = tidy

    @property
    def name(self) -> str:
        """Who writes, for the report."""
        return self._name

    @property
    def context_length(self) -> int:
        """How many tokens it can read and write in one request; 0 where that is not known."""
        return self._context_length

    def warm(self) -> None:
        """Import the SDK now: it takes a second, in which no other thread gets far."""
        if self._package:
            _load(self._package)

    def summarise(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Return the answer within `timeout` seconds; works also inside a running event loop."""
        return waited_for(lambda: self._alone(request, timeout), timeout, self._name)

    async def asummarise(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Return the answer within `timeout` seconds; cancelling the task cancels the request."""
        ask = self._ask_without
        answer = await in_time(lambda: ask(request, timeout), timeout, self._name, key=self._key)
        return self._checked(answer)

    async def _alone(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        try:
            return await self.asummarise(request, timeout)
        finally:
            if self._tidy:
                await self._tidy()

    async def _ask_without(self, request: SummaryRequest, timeout: float) -> SummaryAnswer:
        """Ask; where the server turns an option down, ask again without it, each only once."""
        ends = asyncio.get_running_loop().time() + timeout
        for _ in range(len(self._options) + 1):
            seconds = max(0.001, ends - asyncio.get_running_loop().time())
            without = self._without
            open_options = {
                name: words for name, words in self._options.items() if name not in without
            }
            try:
                return await self._ask(request, seconds, without)
            except HoldfastError:
                raise
            except Exception as error:
                turned_down = rejected_option(error, open_options)
                if not turned_down:
                    raise
                self._without |= {turned_down}
        raise SummarizerFailed("broken answer", self._name, "it takes none of the known options")

    def _checked(self, answer: SummaryAnswer) -> SummaryAnswer:
        if answer.text.strip():
            return answer
        said = {"length": "cut off before its first word", "refusal": "the model declined"}
        raise SummarizerFailed("empty answer", self._name, said.get(answer.stopped, ""))


def demand(package: str, purpose: str) -> None:
    """Raise `MissingExtra` where a package is not installed; nothing is imported."""
    if package not in sys.modules and importlib.util.find_spec(package) is None:
        raise MissingExtra(package, purpose)


async def imported(package: str) -> Any:
    """Return a package; its import takes a second, and runs beside the event loop."""
    if package in sys.modules:
        return importlib.import_module(package)
    return await in_thread(lambda: _load(package))


def _load(package: str) -> Any:
    # litellm fetches a list of prices while it is imported, unless it is told that it has one
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    # and reads the .env of the folder that its environment is in, which may name addresses
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    return importlib.import_module(package)
