"""What one compaction hands to the next: one frozen value that serializes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import NativeItem, Reference
from foldaway.errors import FailureKind
from foldaway.facts import Summary, carried_summary, parse_summary
from foldaway.facts.ledger import Ledger
from foldaway.transcript import Message


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
    last_saving: float = 0.0
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
