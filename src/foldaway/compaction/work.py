"""What a compaction starts from: the log and its measures, the view, settings and options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from foldaway._core import Budget, Policy, Redact, SettingsStruct, TokenCounter, WireRules
from foldaway.compaction.index import LogIndex
from foldaway.compaction.measure import Costs
from foldaway.compaction.state import CompactionState
from foldaway.errors import InvalidSetting
from foldaway.transcript import Message, View

_BRIEF_TOKENS = 4_000
"""Below this size the frame of a summary is a short one; chosen: the long frame takes 121 tokens, 3
% of it."""


class Options(SettingsStruct, frozen=True, kw_only=True):
    """What the caller asks of one run beyond the policy.

    Raises `InvalidSetting` for what cannot be done.
    """

    keep_last: int | None = None
    """Keep this many exchanges; the tail starts at a user message."""
    above: int | None = None
    """Fold everything before this log position."""
    target_tokens: int | None = None
    """Compact to this size instead of the one that the settings ask for."""
    focus: str = ""
    goal: str = ""
    """What the session is for, as the host gave it; every summary begins with it."""
    delegated: tuple[str, ...] = ()
    """What subagents were asked for and how that stands; every summary says it."""
    remembered: str = ""
    """What memory adds for the writer of the summary; a model is shown it, as data."""
    pinned: frozenset[int] = frozenset()
    keeps_head: bool = True
    """Whether the first compaction keeps the messages after the system prompt."""
    keeps_turn: bool = True
    """Whether more may stay of the turn after the latest message of the user than what the model
    has not seen."""
    references: bool = True
    """Whether originals are kept, so that references may be written."""
    force: bool = False
    """Whether somebody asks for it by hand: a short session is folded down to its newest messages,
    and a summarizer that failed and is waited for is asked all the same."""

    def __post_init__(self) -> None:
        """Check what contradicts itself."""
        InvalidSetting.check_type("focus", self.focus, str, "a text")
        for name, number in (("keep_last", self.keep_last), ("target_tokens", self.target_tokens)):
            if number is not None:
                InvalidSetting.check_type(name, number, int, "a number")
                if number < 1:
                    raise InvalidSetting(name, number, "at least 1")
        if self.keep_last is not None and self.above is not None:
            said = "above and keep_last cannot be combined; give one of them"
            raise InvalidSetting("above", self.above, "left out", message=said)


Writer: TypeAlias = Literal["ledger", "model", "provider"]
"""The ledger alone, a model, or the provider, whose own item stands in place of a summary."""


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
    """System prompt and tools, which are not in the message list."""
    options: Options = Options()
    writer: Writer = "ledger"
    """Who is asked for the summary; if anybody is, it has the room that the settings say."""

    @property
    def costs(self) -> Costs:
        """The tokens of the log by position."""
        return self.index.costs

    @property
    def is_brief(self) -> bool:
        """Whether so little is asked for that our own words must be few."""
        target = self.budget.target_tokens
        return target is not None and target - self.outside_tokens < _BRIEF_TOKENS
