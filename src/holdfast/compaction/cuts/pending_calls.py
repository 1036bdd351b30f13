"""Calls that wait for their results stay outside what is folded."""

from __future__ import annotations

from holdfast.transcript import Groups


def allowed(parts: Groups) -> range:
    """Return every position up to the last group where it is pending, otherwise all."""
    if not parts:
        return range(1)
    last = parts[-1]
    return range((last.start if last.pending else parts.total) + 1)
