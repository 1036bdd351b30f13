"""Single texts made smaller by what they are, and what in them must not get lost.

`signals` finds errors, failing tests, counts and status; everything else is here under its name
and imported when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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
    "KINDS": "reduced",
    "REDUCERS": "fit",
    "Kind": "reduced",
    "Reduced": "reduced",
    "TextReducer": "reduced",
    "Truncation": "fit",
    "detect_kind": "kinds",
    "fenced": "markdown",
    "on_arrival": "fit",
    "reduce_text": "fit",
    "render_result": "markdown",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'holdfast.reduction' has no attribute {name!r}")
    found: object = getattr(import_module(f"holdfast.reduction.{_LATER[name]}"), name)
    globals()[name] = found
    return found
