"""Blocks of five hours, as subscriptions count them, and how the last one goes on."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from msgspec import Struct, to_builtins

from foldaway.agents.importers import files_in
from foldaway.caching import PriceList
from foldaway.usage.counting import CountedAnswer, count_once
from foldaway.usage.live import SessionFile
from foldaway.usage.reading import UsageReader
from foldaway.usage.spending import SpendingPeriod
from foldaway.usage.sums import UsageRow, add_up

BLOCK_SECONDS = 5 * 3_600
"""How long the limits of Claude's subscriptions last; ccusage shows the same blocks."""
_HOUR = 3_600
_RECENT_SECONDS = 3 * 86_400
"""Of files: a block begins after a pause of hours, which nobody goes without for days."""
_PATIENCE_SECONDS = 1.0
"""A status line that takes longer is given up by its agent."""
Limit: TypeAlias = int | Literal["max"]
"""Tokens of a block, or as many as the largest one had that is over."""


class BlockFigures(Struct, frozen=True, kw_only=True):
    """How a block goes on at its own pace, from its first use to its last, and what a limit leaves.

    A block that is over has only its share of the limit.
    """

    is_running: bool
    limit_tokens: int | None = None
    limit_share: float | None = None
    """What is used of the limit."""
    limit_seconds: int | None = None
    """Until the limit is reached; None if it is not before the end."""
    seconds_left: int = 0
    tokens_per_minute: float = 0.0
    cost_per_hour: float = 0.0
    projected_tokens: int = 0
    """By the end."""
    projected_cost: float = 0.0


class UsageBlock(Struct, frozen=True):
    """One block of one agent."""

    agent: str
    period: SpendingPeriod
    row: UsageRow

    @classmethod
    def of(cls, rows: Iterable[CountedAnswer]) -> list[Self]:
        """Return the blocks of each agent, the oldest first. Answers without a time are left out.

        A block begins at the first use, rounded down to the hour. A pause of more than five hours
        begins the next one.
        """
        by_agent: defaultdict[str, list[CountedAnswer]] = defaultdict(list)
        for row in rows:
            if row.time is not None:
                by_agent[row.root.agent].append(row)
        found = [
            cls._made(agent, some)
            for agent, own in by_agent.items()
            for some in _split(sorted(own, key=_time))
        ]
        return sorted(found, key=lambda one: (one.period.start, one.agent))

    @classmethod
    def _made(cls, agent: str, rows: Sequence[CountedAnswer]) -> Self:
        (whole,) = add_up(rows, "all")
        first, last = _time(rows[0]), _time(rows[-1])
        start = first - first % _HOUR
        period = SpendingPeriod(
            start=start,
            stop=start + BLOCK_SECONDS,
            first=first,
            last=last,
            tokens=whole.total_tokens,
            cost=whole.cost,
        )
        return cls(agent, period, whole)

    @staticmethod
    def limits(blocks: Iterable[UsageBlock], limit: Limit | None, now: float) -> dict[str, int]:
        """Return what a limit means for each agent; of `max` only those that had a block before."""
        found: dict[str, int] = {}
        for one in blocks:
            if limit != "max":
                found |= {one.agent: limit} if limit else {}
            elif not one.period.is_running(now):
                found[one.agent] = max(found.get(one.agent, 0), one.period.tokens)
        return found

    @classmethod
    def running(
        cls,
        agent: str,
        places: Iterable[Path],
        reader: UsageReader,
        prices: PriceList,
        now: float,
        seconds: float = _PATIENCE_SECONDS,
    ) -> UsageBlock | None:
        """Return the running block of an agent by its files in some places; None if none runs.

        Only files of the last days are looked at. None, too, if reading takes longer than so many
        `seconds`; what was read by then is kept for the next time.
        """
        files = [path for place in places for path in files_in(place)]
        new = [one for one in files if now - SessionFile(one).written_at() < _RECENT_SECONDS]
        stop = time.monotonic() + seconds

        def tell(done: int, total: int) -> None:
            if done < total and time.monotonic() > stop:
                raise TimeoutError

        try:
            read = reader.read_files(new, tell)
        except TimeoutError:
            return None
        finally:
            reader.save(is_whole=False)
        made = cls.of(one for one in count_once(read, (), prices) if one.root.agent == agent)
        return next((one for one in made if one.period.is_running(now)), None)

    def fields(self, now: float, limit: int | None) -> dict[str, Any]:
        """Return all that is known of it, for programs."""
        named = {"agent": self.agent, "start": self.period.start, "stop": self.period.stop}
        return named | to_builtins(self.row) | to_builtins(self.figures(now, limit))

    def figures(self, now: float, limit: int | None = None) -> BlockFigures:
        """Return how it goes on."""
        period, tokens = self.period, self.period.tokens
        share = round(tokens / limit, 4) if limit else None
        if not period.is_running(now):
            return BlockFigures(is_running=False, limit_tokens=limit, limit_share=share)
        until = period.seconds_until(limit, tokens, now) if limit else None
        return BlockFigures(
            is_running=True,
            limit_tokens=limit,
            limit_share=share,
            limit_seconds=None if until is None else round(until),
            seconds_left=round(period.stop - now),
            tokens_per_minute=round(period.per_second(tokens) * 60, 1),
            cost_per_hour=round(period.per_second(period.cost) * _HOUR, 6),
            projected_tokens=round(period.projected(tokens, now)),
            projected_cost=round(period.projected(period.cost, now), 6),
        )


def _time(row: CountedAnswer) -> float:
    return row.time or 0.0


def _split(rows: Iterable[CountedAnswer]) -> list[list[CountedAnswer]]:
    """Return answers, the oldest first, by the blocks that they are in."""
    found: list[list[CountedAnswer]] = []
    start = last = 0.0
    for row in rows:
        now = _time(row)
        if not found or now - start > BLOCK_SECONDS or now - last > BLOCK_SECONDS:
            start = now - now % _HOUR
            found.append([])
        found[-1].append(row)
        last = now
    return found
