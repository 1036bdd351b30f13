"""A cut never parts a call from its result, nor reasoning from what it led to."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.transcript import Group, Message


def allowed(log: Sequence[Message], parts: Sequence[Group]) -> set[int]:
    """Return the edges of the groups."""
    return {group.start for group in parts} | {len(log)}
