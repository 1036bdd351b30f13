"""What was done with many records: sums, which add up in any order."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.trajectories.policy import Metrics, Outcome

BINS = 20
"""Ratios are counted in twentieths."""


class Tally(Struct, frozen=True, kw_only=True):
    """Sums over records."""

    records: int = 0
    """All that were read, quarantined ones included."""
    written: int = 0
    quarantined: int = 0
    outcomes: dict[Outcome, int] = field(default_factory=dict[Outcome, int])
    still_over_limit: int = 0
    before_estimated: int = 0
    """Records of whose folded turns the tokens before are estimated."""
    turns_before: int = 0
    turns_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    summary_calls: int = 0
    errors: int = 0
    verified: int = 0
    unverified: int = 0
    patched: int = 0
    dropped: int = 0
    stripped: int = 0
    ratios: list[int] = field(default_factory=lambda: [0] * BINS)
    """How many compressed records came out in each twentieth of their size."""

    @property
    def ratio(self) -> float:
        """Tokens after over tokens before, of all together."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0


def tally_of(metrics: Iterable[Metrics], quarantined: int) -> Tally:
    """Return the sums over the records of a shard; excluded ones count as read, not as tokens."""
    total = Tally(records=quarantined, quarantined=quarantined)
    for one in metrics:
        total = added(total, _single(one))
    return total


def _single(one: Metrics) -> Tally:
    alone = Tally(records=1, outcomes={one.outcome: 1})
    if one.outcome == "excluded":
        return alone
    ratios = [0] * BINS
    if one.outcome == "compressed":
        ratios[min(int(one.ratio * BINS), BINS - 1)] = 1
    return replace(
        alone, written=1, still_over_limit=int(one.still_over_limit),
        before_estimated=int(one.before_is_estimate),
        turns_before=one.turns_before, turns_after=one.turns_after,
        tokens_before=one.tokens_before, tokens_after=one.tokens_after,
        summary_calls=one.summary_calls, errors=one.errors, verified=one.verified,
        unverified=one.unverified, patched=one.patched, dropped=one.dropped,
        stripped=one.stripped, ratios=ratios,
    )  # fmt: skip


def added(one: Tally, other: Tally) -> Tally:
    """Return both together."""
    outcomes = dict(one.outcomes)
    for outcome, count in other.outcomes.items():
        outcomes[outcome] = outcomes.get(outcome, 0) + count
    names = ("records", "written", "quarantined", "still_over_limit", "before_estimated",
             "turns_before", "turns_after", "tokens_before", "tokens_after", "summary_calls",
             "errors", "verified", "unverified", "patched", "dropped", "stripped")  # fmt: skip
    sums = {name: getattr(one, name) + getattr(other, name) for name in names}
    ratios = [mine + theirs for mine, theirs in zip(one.ratios, other.ratios, strict=True)]
    return Tally(
        **sums, ratios=ratios, outcomes={name: outcomes[name] for name in sorted(outcomes)}
    )
