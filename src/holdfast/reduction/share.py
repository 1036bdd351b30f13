"""Room divided fairly: small wants are met in full, large ones share what is left."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["fair_cap"]


def fair_cap(wants: Sequence[int], room: int) -> int:
    """Return the largest cap at which all wants, each cut to it, still fit into `room`."""
    left = room
    ordered = sorted(wants)
    for place, want in enumerate(ordered):
        others = len(ordered) - place
        if want * others > left:
            return max(left // others, 0)
        left -= want
    return max(ordered[-1] if ordered else 0, room)
