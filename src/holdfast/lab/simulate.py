"""Recorded sessions under every strategy, and what each costs in all."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.caching.economics import Rule
from holdfast.caching.prices import Bill
from holdfast.lab.recording import Recording
from holdfast.lab.replay import Replay, Terms, replay
from holdfast.lab.strategies import (
    Strategy,
    append_only,
    fixed,
    masking,
    planner,
    rare_and_deep,
)
from holdfast.policy import Policy

DEFAULT = Policy()
THRESHOLDS = (0.10, 0.20, 0.30, 0.50, 0.65, 0.80)
"""Shares of the window that are tried. The planner may act from the lowest on."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What a strategy cost over all sessions."""

    strategy: str
    sessions: int
    calls: int
    compactions: int
    overflows: int
    overflowing_sessions: int
    bill: Bill
    summaries: Bill
    ratio: float
    """Cost against doing nothing; 1 for append only."""
    ratios: tuple[float, ...]
    """The same, session by session, in order."""

    @property
    def usd(self) -> float:
        """What all of it cost."""
        return self.bill.usd + self.summaries.usd

    @property
    def hit_rate(self) -> float:
        """The share of the prompts that was read from the cache."""
        sent = self.bill.prompt_tokens
        return self.bill.read_tokens / sent if sent else 0.0


def strategies_for(
    thresholds: Sequence[float] = THRESHOLDS, rule: Rule | None = None
) -> list[Strategy]:
    """Return the strategies that are compared: append only first, the planner last, both also
    with results shown on arrival as the policy has it.
    """
    return [
        append_only(),
        masking(),
        *(fixed(threshold) for threshold in thresholds),
        rare_and_deep(),
        append_only(DEFAULT.arrival),
        planner(min(thresholds), rule),
        planner(min(thresholds), rule, DEFAULT.arrival),
    ]


def simulate(
    recordings: Sequence[Recording], terms: Terms, strategies: Sequence[Strategy]
) -> list[Outcome]:
    """Return what each strategy costs over the recordings; the first one is the yardstick."""
    table = [
        [replay(one, strategy.name, strategy.start(one, terms), terms) for one in recordings]
        for strategy in strategies
    ]
    return [outcome(rows, table[0]) for rows in table]


def outcome(rows: Sequence[Replay], yardstick: Sequence[Replay]) -> Outcome:
    """Return the replays of one strategy added up, beside those of the yardstick."""
    total = sum(row.usd for row in rows)
    return Outcome(
        strategy=rows[0].strategy if rows else "",
        sessions=len(rows),
        calls=sum(row.calls for row in rows),
        compactions=sum(row.compactions for row in rows),
        overflows=sum(row.overflows for row in rows),
        overflowing_sessions=sum(row.overflows > 0 for row in rows),
        bill=sum((row.bill for row in rows), Bill()),
        summaries=sum((row.summaries for row in rows), Bill()),
        ratio=_ratio(total, sum(row.usd for row in yardstick)),
        ratios=tuple(
            _ratio(row.usd, base.usd) for row, base in zip(rows, yardstick, strict=True)
        ),
    )  # fmt: skip


def quantiles(values: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Return the values below which the given shares of `values` lie; of nothing, nothing."""
    if not values:
        return []
    order = sorted(values)
    return [order[min(int(share * len(order)), len(order) - 1)] for share in shares]


def _ratio(cost: float, base: float) -> float:
    return cost / base if base else 1.0
