"""Single texts made smaller by what they are, and what in them must not get lost.

`signals` finds errors, failing tests, counts and status; everything else is here under its name
and imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway.exports import import_later

if TYPE_CHECKING:
    from foldaway.reduction.fit import REDUCERS, Truncation, on_arrival, reduce_text
    from foldaway.reduction.kinds import detect_kind
    from foldaway.reduction.markdown import fenced, render_result
    from foldaway.reduction.reduced import KINDS, Kind, Reduced, TextReducer

__all__ = [
    "KINDS",
    "REDUCERS",
    "Kind",
    "Reduced",
    "TextReducer",
    "Truncation",
    "detect_kind",
    "fenced",
    "on_arrival",
    "reduce_text",
    "render_result",
]

_LATER = {
    "KINDS": "foldaway.reduction.reduced",
    "REDUCERS": "foldaway.reduction.fit",
    "Kind": "foldaway.reduction.reduced",
    "Reduced": "foldaway.reduction.reduced",
    "TextReducer": "foldaway.reduction.reduced",
    "Truncation": "foldaway.reduction.fit",
    "detect_kind": "foldaway.reduction.kinds",
    "fenced": "foldaway.reduction.markdown",
    "on_arrival": "foldaway.reduction.fit",
    "reduce_text": "foldaway.reduction.fit",
    "render_result": "foldaway.reduction.markdown",
}

__getattr__ = import_later(__name__, _LATER)
