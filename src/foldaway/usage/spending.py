"""What is spent in a span of time, how fast, and what a limit leaves."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal, Self, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway.errors import InvalidSetting

Every: TypeAlias = Literal["day", "week", "month"]
_BUDGET = re.compile(r"\$?(\d{1,9}(?:\.\d{1,9})?)\$?/(day|week|month)")
_LEAST_SECONDS = 60.0
"""Between the first use and the last, for a rate; two requests in a second are no pace."""
_NEAR = 0.8
"""The share of a limit from which on it is warned of."""


class SpendingPeriod(Struct, frozen=True, kw_only=True):
    """A span of time and what was used in it; times in seconds since 1970."""

    start: float
    stop: float
    """Its end, which belongs to the next one."""
    first: float = 0.0
    """The first use."""
    last: float = 0.0
    tokens: int = 0
    cost: float = 0.0

    def is_running(self, now: float) -> bool:
        """Return whether it is not over yet."""
        return self.start <= now < self.stop

    def per_second(self, amount: float) -> float:
        """Return at which pace an amount was used from the first use to the last."""
        return amount / max(self.last - self.first, _LEAST_SECONDS)

    def projected(self, amount: float, now: float) -> float:
        """Return what an amount comes to by the end, if it goes on at this pace."""
        return amount + self.per_second(amount) * max(self.stop - now, 0.0)

    def seconds_until(self, limit: float, amount: float, now: float) -> float | None:
        """Return in how many seconds an amount reaches a limit at this pace; None if it does not
        before the end.
        """
        left = limit - amount
        if left <= 0:
            return 0.0
        seconds = left / pace if (pace := self.per_second(amount)) > 0 else float("inf")
        return seconds if now + seconds < self.stop else None


class SpendingLimit(Struct, frozen=True):
    """What may be spent in each day, week or month of this machine's time zone."""

    dollars: float
    every: Every

    @classmethod
    def parse(cls, text: str, name: str = "budget") -> Self:
        """Return the budget that a text such as `5$/day` means; raise `InvalidSetting`."""
        found = _BUDGET.fullmatch(text.replace(" ", ""))
        if found is None or not float(found[1]):
            raise InvalidSetting(name, text, "dollars for a day, week or month, such as 5$/day")
        return cls(float(found[1]), cast("Every", found[2]))

    def __str__(self) -> str:
        """Return the text that means it."""
        return f"{self.dollars:g}$/{self.every}"

    def period(self, now: float, spent_since: Callable[[float], float]) -> SpendingPeriod:
        """Return the span of now with what was spent in it."""
        day = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
        if self.every == "week":
            day -= timedelta(days=day.weekday())
        elif self.every == "month":
            day = day.replace(day=1)
        days = {"day": 1, "week": 7, "month": 31}[self.every]
        after = day + timedelta(days=days)
        after = after.replace(day=1) if self.every == "month" else after
        found = SpendingPeriod(start=day.timestamp(), stop=after.timestamp())
        return replace(found, cost=spent_since(found.start))

    def is_near(self, spent: float) -> bool:
        """Return whether most of it is spent."""
        return spent >= self.dollars * _NEAR

    def is_spent(self, spent: float) -> bool:
        """Return whether nothing is left."""
        return spent >= self.dollars
