"""Observation masking: all but the newest tool results become a placeholder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from holdfast.lab.scoring.session import Message
from holdfast.lab.scoring.shown import Shown
from holdfast.lab.ways.way import Shrink, shown_messages

PLACEHOLDER = "[result left out]"


def append_only(messages: Sequence[Message], budget_tokens: int) -> Shown:
    """Keep everything."""
    del budget_tokens
    return shown_messages(messages)


def masking(keep: int) -> Shrink:
    """Return the way that keeps the newest `keep` tool results, whatever that takes."""
    return partial(_masked, keep)


def _masked(keep: int, messages: Sequence[Message], budget_tokens: int) -> Shown:
    del budget_tokens
    results = [at for at, message in enumerate(messages) if message["role"] == "tool"]
    masked = frozenset(results[: max(len(results) - keep, 0)])
    return shown_messages(
        [
            {**message, "content": PLACEHOLDER} if at in masked else message
            for at, message in enumerate(messages)
        ]
    )
