"""How full the window of a running session is, when it will be compacted, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from foldaway.agents.known import find_agent
from foldaway.caching import PriceList, window_of
from foldaway.usage.figures import cost_of
from foldaway.usage.record import SpentAnswer, SpentSession

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
    cost: float | None = None
    tokens: int | None = None
    """Sent so far with a subscription, which has no cost."""
    limits: Mapping[str, int] = {}
    """Percent used of each limit of a subscription."""

    @property
    def fill(self) -> float:
        """The share of the window that the last prompt took."""
        return self.prompt_tokens / self.window_tokens if self.window_tokens else 0.0


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
    highest = max((one.prompt_tokens for one in answers), default=0)
    given = window or session.window_tokens or None
    size, source = window_for(session.agent, model, highest, given)
    limit = compacts_at(session, size)
    grown = growth(answers)
    left = limit - last.prompt_tokens if last else 0
    prompt = sum(one.prompt_tokens for one in answers)
    costs = [cost_of(one, prices) for one in session.answers] if cost is None else []
    known = [one for one in costs if one is not None]
    return LiveState(
        agent=session.agent, session=session.source_id, title=session.title,
        project=session.project, model=model, prompt_tokens=last.prompt_tokens if last else 0,
        window_tokens=size, window_source=source, compacts_at_tokens=limit,
        answers_left=max(round(left / grown), 0) if grown > 0 else None, requests=len(answers),
        compactions=session.compactions,
        cache_hit_rate=sum(one.read_tokens for one in answers) / prompt if prompt else 0.0,
        cost=cost if cost is not None else sum(known) if known else None,
    )  # fmt: skip


def compacts_at(session: SpentSession, window: int) -> int:
    """Return from how many tokens on the agent compacts: as it did last, otherwise by default."""
    before = [
        earlier.prompt_tokens
        for earlier, one in pairwise(session.answers)
        if one.follows_compaction
    ]
    return before[-1] if before else usual_threshold(session.agent, window)


def window_for(agent: str, model: str, highest: int, given: int | None) -> tuple[int, str]:
    """Return the window to reckon with, and whether it is `given`, by the `model`, or `assumed`.

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
        one.prompt_tokens - before.prompt_tokens
        for before, one in pairwise(recent)
        if not one.follows_compaction
    ]
    return sum(grown) / len(grown) if grown else 0.0
