"""A tool result answers a call that stands before it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Action, Case, Mended, Rule
from holdfast.dialects.rules.edit import drop_parts
from holdfast.transcript import Part, Violation


def check(case: Case) -> list[Violation]:
    """Return the results that answer no call."""
    if case.transcript.frame.setting("previous_response_id"):
        return []
    return [
        Violation(
            "result-has-call", at, case.path(at, result.at),
            f"the result for {result.call_id!r} answers no call before it",
            "remove it, or put back the call that it answers",
        )
        for (at, result), call in zip(case.index.results, case.index.call_of, strict=True)
        if call < 0
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Drop the orphans, and messages that held nothing else."""
    del violations
    orphans = {
        id(result): at
        for (at, result), call in zip(case.index.results, case.index.call_of, strict=True)
        if call < 0
    }

    def unwanted(part: Part) -> bool:
        return id(part) in orphans

    actions = tuple(
        Action("result-has-call", case.messages[at].position,
               f"dropped the result for {result.call_id!r}: no call before it")
        for (at, result), call in zip(case.index.results, case.index.call_of, strict=True)
        if call < 0
    )  # fmt: skip
    return Mended(drop_parts(case.messages, set(orphans.values()), unwanted), actions)


RULE = Rule(
    name="result-has-call",
    states="A tool result answers a call that stands before it.",
    check=check,
    mend=mend,
)

