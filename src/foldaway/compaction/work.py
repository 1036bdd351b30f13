"""What a compaction starts from: the log and what is asked of it, the view, state, options."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Literal, TypeAlias, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import (
    Budget,
    NativeItem,
    Policy,
    Redact,
    Reference,
    SettingsStruct,
    TokenCounter,
    WireRules,
)
from foldaway.compaction.arrival import ShortResult
from foldaway.compaction.measure import Costs, by_category
from foldaway.compaction.partition import Anchors
from foldaway.errors import FailureKind, InvalidSetting
from foldaway.facts import (
    LINES_OF_CHARS,
    FactReader,
    LogReading,
    Summary,
    carried_summary,
    parse_summary,
    terms_of,
)
from foldaway.facts.ledger import Ledger
from foldaway.transcript import Groups, Message, Part, Text, ToolCall, ToolResult, View


class Breaker(Struct, frozen=True):
    """Failures in a row, and until when no summarizer is asked; kept with the state."""

    strikes: int = 0
    until: float = 0.0
    """Seconds of the clock that the engine was given."""
    kind: FailureKind | None = None

    def is_open(self, now: float) -> bool:
        """Return whether the pause is not over yet."""
        return now < self.until


class CompactionState(Struct, frozen=True, kw_only=True):
    """Counts, the ledger of what was folded, and the references that were given out."""

    count: int = 0
    ledger: Ledger = Ledger()
    ledgered: int = 0
    """The ledger holds the facts of the log up to here."""
    folded_to: int = 0
    """The log up to here is folded, except for islands."""
    carried: Summary | None = None
    """A summary that was found in the transcript and whose originals are not in the log."""
    prose: Summary | None = None
    """What a model wrote of what was folded, checked; the next one goes on from it."""
    prose_to: int = 0
    """It tells of the log up to here."""
    breaker: Breaker = Breaker()
    """How long no summarizer is asked after failures."""
    first_breaker: Breaker = Breaker()
    """How long the first summarizer is passed over: it failed, and the other one wrote."""
    native: NativeItem | None = None
    """The latest item of a provider's own compaction, and our summary of the same messages."""
    native_breaker: Breaker = Breaker()
    """How long the provider is not asked to compact after failures."""
    stale_thinking: bool = False
    """Whether thinking is shown that is bound to what was changed: requests must ask the provider
    to drop it."""
    ineffective: int = 0
    references: tuple[Reference, ...] = ()

    def with_carried(self, carried: Sequence[str]) -> CompactionState:
        """Return the state with the summaries that an earlier compaction left in the transcript.

        Only where the state knows of no compaction: a session never inherits another's summary.
        """
        if self.count or not carried:
            return self
        found = reduce(Summary.merge, map(parse_summary, carried))
        return replace(self, count=1, carried=found)


def carried_in(log: Sequence[Message], merged: Mapping[int, str]) -> list[str]:
    """Return the bodies of the summaries that messages are or carry (`merged`), in order."""
    bodies = [
        merged.get(at) or carried_summary(message)
        for at, message in enumerate(log)
        if at in merged or message.origin == "summary"
    ]
    return [body for body in bodies if body is not None]


_LINES_PER_TOKEN = 5
"""Where a large size was asked for, so many characters for each of its tokens: the room of a
summary that could hold more than the end of the log is not left empty."""
_TERMS_SHOWN = 200
"""Terms of one kept message that count as still shown; chosen, so that a pasted document does not
hide everything."""


def terms_in_parts(parts: Iterable[Part]) -> list[str]:
    """Return names, paths and numbers in what the parts of a message show."""
    found: list[str] = []
    for part in parts:
        match part:
            case Text(text=text):
                found.extend(terms_of(text, _TERMS_SHOWN))
            case ToolCall(arguments=text):
                found.extend(terms_of(text, _TERMS_SHOWN))
            case ToolResult(parts=inner):
                for one in inner:
                    if isinstance(one, Text):
                        found.extend(terms_of(one.text, _TERMS_SHOWN))
            case _:
                pass
    return found


class LogIndex(FactReader, ABC):
    """What is known of a log, read when a compaction first asks for it and kept from then on."""

    costs: Costs
    """The tokens by position."""
    groups: Groups
    """The units that a cut may separate."""
    anchors: Anchors
    """What is never folded."""

    def terms(self, at: int) -> Iterable[str]:
        """Return names, paths and numbers in one message."""
        return terms_in_parts(self._log[at].parts)

    @abstractmethod
    def count_shown(self) -> dict[str, int]:
        """Return the tokens of what the model sees now, by category."""

    def find_form(self, at: int) -> ShortResult | None:
        """Return how one message is shown for itself, None if it stays as it came."""
        del at

    def arrives(self, at: int) -> bool:
        """Return whether one message may be shown otherwise than it came.

        All that a single run is given was sent already.
        """
        del at
        return False


class FrozenLog(LogIndex):
    """The index of a log that is read for one run."""

    def __init__(
        self, log: Sequence[Message], view: View, readings: LogReading, target_tokens: int = 0
    ) -> None:
        most = max(LINES_OF_CHARS, _LINES_PER_TOKEN * target_tokens)
        super().__init__(log, readings, lines_of=most)
        self.costs = Costs(log, readings.counter)
        self.groups = Groups(log)
        self.anchors = Anchors(log)
        self._view = view

    def count_shown(self) -> dict[str, int]:
        """Return the tokens of what the model sees now, by category; long stretches sampled."""
        return by_category(self._view, self._log, self.costs, {}, self._readings.counter)


_BRIEF_TOKENS = 4_000
"""Below this size the frame of a summary is a short one; chosen: the long frame takes 121 tokens, 3
% of it."""


class Wishes(TypedDict, total=False):
    """What a person asks of one compaction; `Options` says what it means."""

    focus: str
    keep_last: int | None
    target_tokens: int | None


class Options(SettingsStruct, frozen=True, kw_only=True):
    """Options of one call, beyond the policy.

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
