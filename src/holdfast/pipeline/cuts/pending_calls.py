"""Calls that wait for their results stay outside what is folded."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.transcript import Group, Message


def allowed(log: Sequence[Message], parts: Sequence[Group]) -> set[int]:
    """Return every position up to the first pending group."""
    pending = next((group.start for group in parts if group.pending), len(log))
    return set(range(pending + 1))
