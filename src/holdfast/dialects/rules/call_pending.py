"""The calls of the last step have their results before the list is sent."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.pairs import add_stubs, can_stub, of_last_step
from holdfast.dialects.shape import shown
from holdfast.transcript import Violation

NAME = "call-pending"


def check(case: Case) -> list[Violation]:
    """Return the calls of the last step that have no result yet."""
    return [
        case.fault(
            NAME, at, call.at, f"the call {shown(call.id)} has no result yet",
            "send the list when all results are there, or add a result that says why not",
            mendable=can_stub(call),
        )
        for at, call in of_last_step(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Add explicit stub results."""
    del violations
    return add_stubs(case, NAME, of_last_step(case))


RULE = Rule(
    name=NAME,
    states="The calls of the last step have their results before the list is sent.",
    check=check,
    mend=mend,
    mends="adds a stub result that says so",
)
