"""A region as material for a summary: live compactions ask about and check by the same value."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.compaction.partition import Partition
from holdfast.compaction.state import CompactionState
from holdfast.ports import Redact, TokenCounter
from holdfast.trajectories.ledger import Told
from holdfast.trajectories.region import Region
from holdfast.transcript import Message, whole
from holdfast.writing.material import Material


def region_material(
    messages: Sequence[Message],
    region: Region,
    told: Told,
    counter: TokenCounter,
    redact: Redact,
    summary_tokens: int,
) -> Material:
    """Return what a summary of the region is written from; it may have `summary_tokens`."""
    return Material(
        log=messages,
        view=whole(len(messages)),
        state=CompactionState(carried=told.carried),
        partition=Partition(region.start, region.stop, (), 0),
        ledger=told.ledger,
        summary_tokens=summary_tokens,
        counter=counter,
        redact=redact,
    )
