"""Every call that the conversation went on from has its result."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.pairs import add_stubs, can_stub, last_step, unanswered
from holdfast.dialects.shape import shown
from holdfast.transcript import ToolCall, Violation

NAME = "call-answered"


def check(case: Case) -> list[Violation]:
    """Return the calls without a result before the last step."""
    return [
        case.fault(
            NAME, at, call.at, f"the call {shown(call.id)} has no result",
            "add its result, or remove the call", mendable=can_stub(call),
        )
        for at, call in _missing(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Add explicit stub results."""
    del violations
    return add_stubs(case, NAME, _missing(case))


def _missing(case: Case) -> list[tuple[int, ToolCall]]:
    missing = unanswered(case)
    if not missing:
        return missing
    last = last_step(case)
    return [(at, call) for at, call in missing if at < last]


RULE = Rule(
    name=NAME,
    states="Every call that the conversation went on from has its result.",
    check=check,
    mend=mend,
    mends="adds a stub result that says so",
)
