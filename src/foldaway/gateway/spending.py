"""What is spent through the gateways on one store, and what a budget leaves."""

from __future__ import annotations

import asyncio
from datetime import datetime

from foldaway._core import log_event
from foldaway.engine import Clock
from foldaway.errors import FoldawayError
from foldaway.stores import Store
from foldaway.usage import SpendingLimit

_STORE_SECONDS = 1.0
"""What a request waits for the store; then what was known before counts."""


class SpendingMeter:
    """Counts what requests cost in the store, and refuses them when a budget is spent."""

    def __init__(self, store: Store, budget: SpendingLimit | None, clock: Clock) -> None:
        """Take the store, which other gateways may share."""
        self._store, self._budget, self._clock = store, budget, clock
        self._unwritten = 0.0
        """Dollars that the store could not take."""
        self._writing: set[asyncio.Task[None]] = set()
        self._known = (0.0, 0.0, 0.0)
        """What the store said last: dollars, and from when until when."""
        self._said = (0.0, "")
        """The period and the state that were logged last."""

    async def add(self, dollars: float) -> None:
        """Count a request; what the store cannot take goes into it with a later one."""
        task = asyncio.current_task()
        assert task is not None
        self._writing.add(task)
        dollars, self._unwritten = dollars + self._unwritten, 0.0
        try:
            await asyncio.to_thread(self._store.add_spent, dollars, self._clock())
        except (FoldawayError, OSError):
            self._unwritten += dollars
        finally:
            self._writing.discard(task)

    async def refusal(self) -> str:
        """Return why a request is refused, "" if it is not: something is left, or nothing can be
        known.
        """
        budget = self._budget
        if budget is None:
            return ""
        now = self._clock()
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                if self._writing:  # an answer that its client has already
                    await asyncio.wait(set(self._writing))
                period = await asyncio.to_thread(budget.period, now, self._store.spent_since)
            self._known = (period.cost, period.start, period.stop)
        except (FoldawayError, OSError, TimeoutError):
            if now >= self._known[-1]:
                return ""
        spent, start, stop = self._known
        spent += self._unwritten
        state = "spent" if budget.is_spent(spent) else "near" if budget.is_near(spent) else ""
        if state and self._said != (start, state):
            self._said = (start, state)
            log_event("gateway.budget", budget=str(budget), spent=round(spent, 4))
        if state != "spent":
            return ""
        return (
            f"the budget of {budget} is spent (${spent:.2f}); give a larger --budget, or wait "
            f"until it resets ({datetime.fromtimestamp(stop):%Y-%m-%d %H:%M})"
        )
