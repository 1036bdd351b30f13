"""Where a cut may fall: the intersection of cut rules, one a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from holdfast.pipeline.cuts import group_edges, pending_calls
from holdfast.transcript import Group, Message

CutRule: TypeAlias = Callable[[Sequence[Message], Sequence[Group]], set[int]]
"""From the log and its groups, the positions before which a cut keeps the rule."""

CUT_RULES: tuple[CutRule, ...] = (group_edges.allowed, pending_calls.allowed)


def allowed_cuts(log: Sequence[Message], parts: Sequence[Group]) -> list[int]:
    """Return the positions where a cut keeps every rule, in order; 0 is always among them."""
    first, *others = (rule(log, parts) for rule in CUT_RULES)
    return sorted(first.intersection(*others))
