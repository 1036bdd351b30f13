"""What a compaction starts from: the log and its measures, the view, settings and options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from holdfast.compaction.arrival import ShortResult
from holdfast.compaction.measure import Costs
from holdfast.compaction.partition import Anchors
from holdfast.compaction.prune import Prepared, Shortened
from holdfast.compaction.state import CompactionState
from holdfast.errors import InvalidSetting
from holdfast.facts.ledger import Fact, Ledger
from holdfast.policy import Budget, Policy
from holdfast.ports import Redact, TokenCounter, WireRules
from holdfast.transcript import Groups, Message, View

_BRIEF_TOKENS = 4_000
"""Below this size the frame of a summary is a short one; chosen: the long frame takes 121 tokens, 3
% of it."""


class Options(Struct, frozen=True, kw_only=True):
    """What the caller asks of one run beyond the policy.

    Raises `InvalidSetting` for what cannot be done.
    """

    keep_last: int | None = None
    """Keep this many exchanges; the tail starts at a user message."""
    above: int | None = None
    """Fold everything before this log position."""
    focus: str = ""
    goal: str = ""
    """What the session is for, in the words of whoever set it; every summary begins with it."""
    remembered: str = ""
    """What memory has to say to whoever writes the summary; a model is shown it, as data."""
    pinned: frozenset[int] = frozenset()
    keeps_head: bool = True
    """Whether the first compaction keeps the messages after the system prompt."""
    references: bool = True
    """Whether originals are kept, so that references may be written."""
    force: bool = False
    """Whether a summarizer that failed and is waited for is asked all the same."""

    def __post_init__(self) -> None:
        """Check what contradicts itself."""
        if self.keep_last is not None and self.keep_last < 1:
            raise InvalidSetting("keep_last", self.keep_last, "at least 1")
        if self.keep_last is not None and self.above is not None:
            said = "above and keep_last cannot be combined; give one of them"
            raise InvalidSetting("above", self.above, "left out", message=said)


class LogIndex(Protocol):
    """What is known of a log, for a single run or a long-lived one."""

    @property
    def costs(self) -> Costs:
        """The tokens by position."""
        ...

    @property
    def groups(self) -> Groups:
        """The units that a cut may separate."""
        ...

    @property
    def anchors(self) -> Anchors:
        """What is never folded."""
        ...

    def shown(self) -> dict[str, int]:
        """Return the tokens of what the model sees now, by category."""
        ...

    def facts(self, start: int, stop: int) -> list[Fact]:
        """Return the facts of a stretch."""
        ...

    def facts_at(self, positions: Sequence[int]) -> list[Fact]:
        """Return the facts of some messages, in order."""
        ...

    def deeds(self, positions: Sequence[int]) -> list[Fact]:
        """Return the facts of some messages, in order; without their lines and rules if those
        have yet to be found.
        """
        ...

    def ledger(self, stop: int, known: Ledger, known_to: int) -> Ledger:
        """Return the ledger of the log up to `stop`; `known` is the one up to `known_to`."""
        ...

    def terms(self, at: int) -> Iterable[str]:
        """Return names, paths and numbers in one message."""
        ...

    def prepared(self, at: int) -> Mapping[str, Prepared]:
        """Return what pruning needs of the results of one message, by call id."""
        ...

    def shortened(self, at: int) -> Shortened | None:
        """Return the short form of one message, None where pruning gains nothing."""
        ...

    def arrived(self, at: int) -> ShortResult | None:
        """Return how one message is shown for itself, None where that is as it came."""
        ...

    def arrives(self, at: int) -> bool:
        """Return whether one message may be shown otherwise than it came."""
        ...


class CompactionInput(Struct, frozen=True, kw_only=True):
    """What a compaction starts from."""

    log: Sequence[Message]
    index: LogIndex
    view: View
    state: CompactionState
    policy: Policy
    budget: Budget
    rules: WireRules
    counter: TokenCounter
    redact: Redact
    outside_tokens: int = 0
    """System prompt and tools that stand outside the message list."""
    options: Options = Options()

    @property
    def costs(self) -> Costs:
        """The tokens of the log by position."""
        return self.index.costs

    @property
    def is_brief(self) -> bool:
        """Whether so little is asked for that our own words must be few."""
        target = self.budget.target_tokens
        return target is not None and target - self.outside_tokens < _BRIEF_TOKENS
