"""Single texts made smaller by what they are, and what in them must not get lost.

`signals` finds errors, failing tests, counts and status; everything else is here under its name
and imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.reduction.fit import REDUCERS, Truncation, on_arrival, reduce_text
    from holdfast.reduction.kinds import detect_kind
    from holdfast.reduction.markdown import fenced, render_result
    from holdfast.reduction.reduced import KINDS, Kind, Reduced, TextReducer

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
    "KINDS": "holdfast.reduction.reduced",
    "REDUCERS": "holdfast.reduction.fit",
    "Kind": "holdfast.reduction.reduced",
    "Reduced": "holdfast.reduction.reduced",
    "TextReducer": "holdfast.reduction.reduced",
    "Truncation": "holdfast.reduction.fit",
    "detect_kind": "holdfast.reduction.kinds",
    "fenced": "holdfast.reduction.markdown",
    "on_arrival": "holdfast.reduction.fit",
    "reduce_text": "holdfast.reduction.fit",
    "render_result": "holdfast.reduction.markdown",
}

__getattr__ = import_later(__name__, _LATER)
