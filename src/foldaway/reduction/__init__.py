"""Single texts made smaller by what they are, and what in them must not get lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.reduction.fit import Truncation, reduce_on_arrival, reduce_text
    from foldaway.reduction.kinds import body_start, detect_kind
    from foldaway.reduction.lines import Signs, plain, without_spaces
    from foldaway.reduction.markdown import fenced, render_result
    from foldaway.reduction.reduced import KINDS, Kind, Reduced, TextReducer, plural
    from foldaway.reduction.signals import (
        TestCounts,
        error_lines,
        exit_status,
        failing_tests,
        has_diagnostics,
        test_counts,
    )


__getattr__ = import_later(
    __name__,
    {
        "fit": "Truncation reduce_on_arrival reduce_text",
        "kinds": "body_start detect_kind",
        "lines": "Signs plain without_spaces",
        "markdown": "fenced render_result",
        "reduced": "KINDS Kind Reduced TextReducer plural",
        "signals": "TestCounts error_lines exit_status failing_tests has_diagnostics test_counts",
    },
)
