"""The session that runs now: how full its window is, when it will be compacted, what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Literal, Self, TypeAlias

from msgspec import Struct

from foldaway.agents.importers import SUBAGENT_FILE, ImportedSession, files_in, sessions_in
from foldaway.agents.known import find_agent
from foldaway.caching import TTL_SECONDS, PriceList, Ttl, window_of
from foldaway.errors import NotReadable
from foldaway.usage.record import SpentAnswer, SpentSession, count_session
from foldaway.usage.sums import UsageSum, cost_of_miss

CachePhase: TypeAlias = Literal["", "warm", "closing", "cold"]
_CLOSING_SECONDS = 120
"""Before a cache is cold; chosen: time to read an answer and to write the next message."""
_RECENT_ANSWERS = 10
"""Answers whose growth tells how fast the window fills."""


class LiveState(Struct, frozen=True, kw_only=True):
    """Where a session stands after its last answer."""

    agent: str
    session: str
    title: str = ""
    project: str = ""
    model: str = ""
    prompt_tokens: int = 0
    """The last prompt."""
    window_tokens: int = 0
    window_source: str = ""
    """`given` by the agent, by the `model`, or `assumed`."""
    compacts_at_tokens: int = 0
    answers_left: int | None = None
    """About how many answers until the next compaction; None if the window does not fill."""
    requests: int = 0
    compactions: int = 0
    cache_hit_rate: float = 0.0
    cache_until: float | None = None
    """When the provider forgets the last prompt; None if it caches nothing, or nobody knows."""
    cold_cost: float | None = None
    """What the next answer costs more from then on."""
    cost: float | None = None
    tokens: int | None = None
    """Sent so far with a subscription, which has no cost."""
    limits: Mapping[str, int] = {}
    """Percent used of each limit of a subscription."""
    block_until: float | None = None
    """When the agent's running block of five hours ends; None if none runs, or nobody looked."""
    block_tokens: int = 0
    block_tokens_per_minute: float = 0.0
    saved: float | None = None
    """Dollars that the gateway's compactions of this session saved; None if that is not known."""
    budget: str = ""
    budget_share: float | None = None
    """What is spent of the budget by all gateways on the store."""

    @property
    def fill(self) -> float:
        """The share of the window that the last prompt took."""
        return self.prompt_tokens / self.window_tokens if self.window_tokens else 0.0

    def cache(self, now: float) -> CachePhase:
        """Return how long the provider still has the last prompt."""
        if self.cache_until is None:
            return ""
        left = self.cache_until - now
        return "cold" if left <= 0 else "closing" if left <= _CLOSING_SECONDS else "warm"


def live_state(
    session: SpentSession,
    prices: PriceList,
    *,
    window: int | None = None,
    cost: float | None = None,
) -> LiveState:
    """Return where a session stands; `window` and `cost` are what the agent says itself."""
    answers = [one for one in session.answers if not one.is_total]
    last = answers[-1] if answers else None
    model = last.model if last else ""
    highest = max((one.input_tokens for one in answers), default=0)
    given = window or session.window_tokens or None
    size, source = window_for(session.agent, model, highest, given)
    limit = compacts_at(session, size)
    grown = growth(answers)
    left = limit - last.input_tokens if last else 0
    until, more = _cold(answers, prices)
    whole, paid = UsageSum(), UsageSum()
    for one in session.answers:
        if not one.is_total:
            whole.add(one, None)
        if cost is None:
            paid.add(one, prices.cost(one, is_total=one.is_total))
    return LiveState(
        agent=session.agent,
        session=session.source_id,
        title=session.title,
        project=session.project,
        model=model,
        prompt_tokens=last.input_tokens if last else 0,
        window_tokens=size,
        window_source=source,
        compacts_at_tokens=limit,
        answers_left=max(round(left / grown), 0) if grown > 0 else None,
        requests=len(answers),
        compactions=session.compactions,
        cache_hit_rate=whole.hit_rate,
        cache_until=until,
        cold_cost=more,
        cost=paid.known_cost if cost is None else cost,
    )


def _cold(answers: Sequence[SpentAnswer], prices: PriceList) -> tuple[float | None, float | None]:
    """Return when the cache of the last prompt is cold, and what that costs."""
    last = answers[-1] if answers else None
    if last is None or last.time is None or not (last.cache_read_tokens or last.cache_write_tokens):
        return None, None
    ttl: Ttl = "1h" if any(one.cache_hour_tokens for one in answers[-_RECENT_ANSWERS:]) else "5m"
    known = prices.of(last.model) is not None
    more = cost_of_miss(last.model, last.input_tokens, prices, ttl) if known else None
    return last.time + TTL_SECONDS[ttl], more


def compacts_at(session: SpentSession, window: int) -> int:
    """Return from how many tokens on the agent compacts: as it did last, otherwise by default."""
    before = [
        earlier.input_tokens for earlier, one in pairwise(session.answers) if one.follows_compaction
    ]
    return before[-1] if before else usual_threshold(session.agent, window)


def window_for(agent: str, model: str, highest: int, given: int | None) -> tuple[int, str]:
    """Return the window to assume, and whether it is `given`, by the `model`, or `assumed`.

    `highest` is the longest prompt so far: a window that was exceeded is not it.
    """
    size, source = window_of(model, given)
    usual = find_agent(agent).compaction.window_tokens or size
    return (usual, "assumed") if source == "model" and highest <= usual < size else (size, source)


def usual_threshold(agent: str, window: int) -> int:
    """Return from how many tokens on an agent compacts by default."""
    usual = find_agent(agent).compaction
    return max(int(window * usual.share) - usual.reserve_tokens, 0)


def growth(answers: Sequence[SpentAnswer]) -> float:
    """Return by how many tokens a prompt grew with each of the last answers."""
    recent = list(answers[-_RECENT_ANSWERS - 1 :])
    grown = [
        one.input_tokens - before.input_tokens
        for before, one in pairwise(recent)
        if not one.follows_compaction
    ]
    return sum(grown) / len(grown) if grown else 0.0


# The files that are written to now


class SessionFile(Struct, frozen=True):
    """A file of an agent, or its database, that may be written to now."""

    path: Path

    @classmethod
    def newest(cls, places: Iterable[Path]) -> list[Self]:
        """Return the files of agents in these places, the one that was written to last first; those
        of subagents only if there are no others.
        """
        paths = [path for place in places for path in files_in(place) if path.is_file()]
        mains = [path for path in paths if not path.name.startswith(SUBAGENT_FILE)]
        return sorted(map(cls, mains or paths), key=cls.written_at, reverse=True)

    def written_at(self) -> float:
        """Return when it was written, or the log beside it; 0 if it is not there."""
        times = [0.0]
        for one in (self.path, Path(f"{self.path}-wal")):
            with suppress(OSError):
                times.append(one.stat().st_mtime)
        return max(times)

    def read(self) -> SpentSession | None:
        """Return what the requests of its `session` used, and raise as that does."""
        last = self.session()
        return None if last is None else count_session(last)

    def session(self) -> ImportedSession | None:
        """Return its session that was used last; a subagent only if there is no other.

        Raises `NotReadable` if it is half written.
        """
        found: list[ImportedSession] = []
        for one in sessions_in(self.path):
            if isinstance(one, NotReadable):
                raise one
            found.append(one)
        mains = [one for one in found if one.lineage is None or one.lineage.relation != "sidechain"]
        return max(mains or found, key=lambda one: one.ended or 0.0, default=None)
