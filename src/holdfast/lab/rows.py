"""The lab's rows: what one strategy made of one session at one place."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Part: TypeAlias = Literal["cut", "drift", "own"]
"""`cut`: at a share of the session; `drift`: the last cut after several compactions; `own`: where
the agent of the session compacted itself."""

_OVER = 1.05
"""Tokens are estimates: a view may take a twentieth more than it was allowed."""


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of `rows.jsonl`. Of `failed` ones there are no figures."""

    part: Part
    session: str
    family: str
    strategy: str
    cut: int
    """Position of the first message that no strategy saw, system prompts not counted."""
    budget: float
    """Share of the tokens before the cut that was allowed; for `own` what the agent's took."""
    steps: int = 1
    tokens_before: int = 0
    allowed: int = 0
    """Tokens allowed: the budget, or for others what Holdfast took where it had to go over."""
    tokens: int = 0
    rates: dict[str, float | None] = {}
    counts: dict[str, int] = {}
    violations: dict[str, int] | None = None
    """By provider; None where the strategy gives text and no messages."""
    cost: float | None = None
    """Price of the rest of the session over that of going on with everything."""
    cpu_ms: float = 0.0
    note: str = ""
    failed: str = ""
    missed: dict[str, list[str]] = {}
    """What was lost, in the session's own words; empty unless asked for."""

    @property
    def used(self) -> float:
        """Tokens taken, as a share of the budget that was asked for."""
        return self.tokens / max(int(self.tokens_before * self.budget), 1)

    @property
    def is_over(self) -> bool:
        """Whether it took more than it was allowed."""
        return self.tokens > _OVER * self.allowed
