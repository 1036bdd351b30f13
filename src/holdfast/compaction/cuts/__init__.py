"""Where a cut may fall: the intersection of cut rules, one a file."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

from holdfast.compaction.cuts import group_edges, pending_calls
from holdfast.transcript import Groups

CutRule: TypeAlias = Callable[[Groups], Collection[int]]
"""From the groups of a log, the positions before which a cut keeps the rule."""

CUT_RULES: tuple[CutRule, ...] = (group_edges.allowed, pending_calls.allowed)
"""The first gives its positions in order; the others need only tell what is among theirs."""


def allowed_cuts(parts: Groups) -> list[int]:
    """Return the positions where a cut keeps every rule, in order; 0 is always among them."""
    first, *others = (rule(parts) for rule in CUT_RULES)
    found = list(first)
    for other in others:
        found = [cut for cut in found if cut in other]
    return found
