"""The id of a call is one that the provider takes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.dialects.dialect import FreshIds
from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import renamed
from holdfast.dialects.shape import shown
from holdfast.transcript import ToolCall, Violation

NAME = "id-legal"


def check(case: Case) -> list[Violation]:
    """Return the calls whose id the profile's pattern refuses; positional ids are no ids."""
    return [
        case.fault(
            NAME, at, call.at, f"the call id {shown(call.id)} is not allowed",
            f"use an id that matches {case.profile.id_pattern}, and the same for its result",
        )
        for _, at, call in _illegal(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Put `_` for illegal characters and cut to length, in the call and in its result."""
    del violations
    illegal = _illegal(case)
    fresh = FreshIds(call.id for _, call in case.index.calls)
    ids = {
        ordinal: fresh.make(re.sub(r"[^a-zA-Z0-9_-]", "_", call.id)[:40])
        for ordinal, _, call in illegal
    }
    actions = tuple(
        case.action(NAME, at, f"the call {shown(call.id)} is now {ids[ordinal]!r}")
        for ordinal, at, call in illegal
    )
    return Mended(renamed(case, ids).applied(case.messages), actions)


def _illegal(case: Case) -> list[tuple[int, int, ToolCall]]:
    pattern = case.profile.id_pattern
    if not pattern:
        return []
    is_legal = re.compile(pattern).fullmatch
    return [
        (ordinal, at, call)
        for ordinal, (at, call) in enumerate(case.index.calls)
        if is_legal(call.id) is None and not call.id.startswith("~")
    ]


RULE = Rule(
    name=NAME,
    states="The id of a call is one that the provider takes.",
    check=check,
    mend=mend,
    mends="puts `_` for illegal characters and cuts to length, in the call and in its result",
)
