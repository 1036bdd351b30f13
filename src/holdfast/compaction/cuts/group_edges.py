"""A cut never parts a call from its result, nor reasoning from what it led to."""

from __future__ import annotations

from holdfast.transcript import Groups


def allowed(parts: Groups) -> list[int]:
    """Return the edges of the groups."""
    return [*parts.starts, parts.total] if parts else [0]
