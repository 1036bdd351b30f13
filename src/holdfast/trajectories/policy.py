"""The settings of trajectory compression, and what is measured of each record."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.errors import InvalidSetting

Outcome: TypeAlias = Literal["under target", "compressed", "nothing to fold", "excluded"]
"""`under target` is as it was; `nothing to fold` is over it and as it was; `excluded` is left out
because it holds, or would hold, generated text."""
Artifacts: TypeAlias = Literal["keep", "strip", "exclude"]
"""What becomes of generated text: it stays and is marked, it is taken out, or its record is."""

Counted: TypeAlias = Literal["kept", "all"]
"""Which turns are counted: those that stay, or those that are folded too."""


class TrajectoryPolicy(Struct, frozen=True, kw_only=True):
    """All settings that change a record; the same record and policy give the same bytes."""

    target_tokens: int
    """What a record may cost; shorter ones stay as they are."""
    summary_tokens: int = 750
    """What the summary turn may cost, its frame included; counted in when turns are chosen."""
    keep_last: int = 4
    """So many turns at the end are never folded."""
    notice: bool = True
    """Whether the system turn says that turns were summarised."""
    artifacts: Artifacts = "keep"
    count: Counted = "kept"
    """What a record cost before is exact with `all`, and takes longer; the record that is written
    is the same."""
    max_turns: int = 100_000
    """A record with more is refused: it is no conversation."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.target_tokens < 1:
            raise InvalidSetting("target_tokens", self.target_tokens, "at least 1")
        if self.summary_tokens < LEAST_SUMMARY_TOKENS:
            wanted = f"at least {LEAST_SUMMARY_TOKENS}"
            raise InvalidSetting("summary_tokens", self.summary_tokens, wanted)
        if self.keep_last < 0:
            raise InvalidSetting("keep_last", self.keep_last, "at least 0")
        if self.max_turns < 1:
            raise InvalidSetting("max_turns", self.max_turns, "at least 1")


LEAST_SUMMARY_TOKENS = 120
"""The frame of a summary takes half of it."""


class Metrics(Struct, frozen=True, kw_only=True):
    """What was done with one record, without its content."""

    outcome: Outcome
    turns_before: int
    turns_after: int
    tokens_before: int
    tokens_after: int
    before_is_estimate: bool = False
    """Whether folded turns were not counted: `tokens_before` has them at the rate of the others.
    `tokens_after` and whether a record was over the target are always counted."""
    region: tuple[int, int] | None = None
    """The turns that were folded: the first, and the one after the last."""
    still_over_limit: bool = False
    summary_calls: int = 0
    """How often a model was asked for its summary, in this run or in one before."""
    errors: int = 0
    """How many of these calls gave nothing of use."""
    verified: int = 0
    """Sentences of the model whose names were all in the turns."""
    unverified: int = 0
    """Sentences that stand with a mark behind them."""
    patched: int = 0
    """Facts that the model left out and the ledger put in."""
    dropped: int = 0
    """Sentences of the model that were taken out."""
    stripped: int = 0
    """Generated turns that were taken out."""

    @property
    def skipped(self) -> bool:
        """Whether the record was under the target and stayed as it was."""
        return self.outcome == "under target"

    @property
    def ratio(self) -> float:
        """Tokens after over tokens before."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0
