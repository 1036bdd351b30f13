"""Single texts made smaller by what they are, and what in them must not get lost.

`signals` finds errors, failing tests, counts and status; everything else is here under its name
and imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.reduction.fit import REDUCERS, Truncation, reduce_on_arrival, reduce_text
    from foldaway.reduction.kinds import body_start, detect_kind
    from foldaway.reduction.lines import Signs, plain, without_spaces
    from foldaway.reduction.markdown import fenced, render_result
    from foldaway.reduction.reduced import KINDS, Kind, Reduced, TextReducer, plural

__all__ = [
    "KINDS",
    "REDUCERS",
    "Kind",
    "Reduced",
    "TextReducer",
    "Truncation",
    "detect_kind",
    "fenced",
    "reduce_on_arrival",
    "reduce_text",
    "render_result",
]


__getattr__ = import_later(
    __name__,
    {
        "fit": "REDUCERS Truncation reduce_on_arrival reduce_text",
        "kinds": "body_start detect_kind",
        "lines": "Signs plain without_spaces",
        "markdown": "fenced render_result",
        "reduced": "KINDS Kind Reduced TextReducer plural",
    },
)
