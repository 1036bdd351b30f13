"""What one compaction hands to the next: one frozen value that serialises."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from holdfast.pipeline.frame import carried_summary
from holdfast.pipeline.ledger import Ledger
from holdfast.pipeline.summary import Summary, merged, parse_summary
from holdfast.report import Reference
from holdfast.transcript import Message


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
    noted: bool = False
    """Whether the system prompt carries the note."""
    ineffective: int = 0
    last_saving: float = 0.0
    references: tuple[Reference, ...] = ()


def rehydrated(state: CompactionState, log: Sequence[Message]) -> CompactionState:
    """Return the state with what an earlier compaction left in the transcript itself.

    Only where the state knows of no compaction: a session never inherits another's summary.
    """
    if state.count:
        return state
    carried: Summary | None = None
    for message in log:
        if message.role == "user" or message.role == "assistant":
            body = carried_summary(message)
            if body is not None:
                found = parse_summary(body)
                carried = found if carried is None else merged(carried, found)
    return state if carried is None else replace(state, count=1, carried=carried)
