"""Every call that the conversation went on from has its result."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.pairs import add_stubs, before_last_step, can_stub
from holdfast.dialects.shape import shown
from holdfast.transcript import Violation

NAME = "call-answered"


def check(case: Case) -> list[Violation]:
    """Return the calls without a result before the last step."""
    return [
        case.fault(
            NAME, at, call.at, f"the call {shown(call.id)} has no result",
            "add its result, or remove the call", mendable=can_stub(call),
        )
        for at, call in before_last_step(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Add explicit stub results."""
    del violations
    return add_stubs(case, NAME, before_last_step(case))


RULE = Rule(
    name=NAME,
    states="Every call that the conversation went on from has its result.",
    check=check,
    mend=mend,
    mends="adds a stub result that says so",
)
