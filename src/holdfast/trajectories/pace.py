"""How fast a provider may be asked: never more in any minute than was said."""

from __future__ import annotations

from collections import deque

from msgspec import Struct

from holdfast.errors import InvalidSetting

_MINUTE = 60.0


class Limits(Struct, frozen=True, kw_only=True):
    """How much a whole run may ask, over all of its processes; none of it changes the output."""

    requests: int = 8
    """Requests under way at a time."""
    requests_per_minute: int = 0
    """0 for as many as there are."""
    tokens_per_minute: int = 0
    """Tokens that are sent and those that an answer may have; 0 for any number."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.requests < 1:
            raise InvalidSetting("requests", self.requests, "at least 1")
        for name in ("requests_per_minute", "tokens_per_minute"):
            if getattr(self, name) < 0:
                raise InvalidSetting(name, getattr(self, name), "at least 0")


UNLIMITED = Limits()


class Pace:
    """Says how long to wait before the next request; times are seconds of any clock.

    In any minute there begin at most as many requests, with at most as many tokens, as the limits
    allow. A request that is larger than a whole minute goes alone.
    """

    def __init__(self, limits: Limits) -> None:
        """Take the limits."""
        self._limits = limits
        self._counted: deque[tuple[float, int]] = deque()
        self._tokens = 0
        self._not_before = 0.0

    def hold(self, until: float) -> None:
        """Let nothing begin before `until`: the provider asked for it."""
        self._not_before = max(self._not_before, until)

    def wait(self, now: float, tokens: int) -> float:
        """Return the seconds until a request of so many tokens may begin, 0 where it may now."""
        while self._counted and self._counted[0][0] <= now:
            self._tokens -= self._counted.popleft()[1]
        until = max(self._not_before, self._free_at(tokens))
        return max(until - now, 0.0)

    def begin(self, now: float, tokens: int) -> None:
        """Count a request that begins."""
        self._counted.append((now + _MINUTE, tokens))
        self._tokens += tokens

    def _free_at(self, tokens: int) -> float:
        """Return when enough of what was counted is over; 0 where enough is free."""
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
