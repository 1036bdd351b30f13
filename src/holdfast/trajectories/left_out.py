"""The turn that stands for folded ones where nobody summarises them."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.facts.frame import summary_text
from holdfast.trajectories.compress import Written
from holdfast.trajectories.region import Region
from holdfast.transcript import Message


def left_out(messages: Sequence[Message], region: Region, room: int) -> Written:
    """Say in the frame of a summary how many turns there were, and nothing else."""
    turns = region.stop - region.start
    said = f"{turns:,} turns were left out here." if turns > 1 else "One turn was left out here."
    return Written(text=summary_text(said, "", brief=True))
