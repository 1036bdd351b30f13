"""A tool result answers a call that stands before it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.dialects.rules.pairs import holds_only_results
from holdfast.dialects.shape import shown
from holdfast.transcript import ToolResult, Violation

NAME = "result-has-call"


def check(case: Case) -> list[Violation]:
    """Return the results that answer no call; in a chained request the call may be stored.

    Not mendable where nothing would be left of the list.
    """
    frame = case.transcript.frame
    if frame.setting("previous_response_id") or frame.setting("conversation"):
        return []
    orphans = _orphans(case)
    something_stays = len({at for at, _ in orphans}) < len(case.messages) or any(
        not holds_only_results(message) for message in case.messages
    )
    return [
        case.fault(
            NAME, at, result.at,
            f"the result for {shown(result.call_id)} answers no call before it",
            "remove it, or put back the call that it answers", mendable=something_stays,
        )
        for at, result in orphans
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Drop the orphans, and messages that held nothing else."""
    del violations
    edits = Edits()
    orphans = _orphans(case)
    for at, result in orphans:
        edits.drop(at, result)
    actions = tuple(
        case.action(NAME, at, f"dropped the result for {shown(result.call_id)}: no call before it")
        for at, result in orphans
    )
    return Mended(edits.applied(case.messages), actions)


def _orphans(case: Case) -> list[tuple[int, ToolResult]]:
    return [
        (at, result)
        for (at, result), call in zip(case.index.results, case.index.call_of, strict=True)
        if call < 0 and result.kind != "server" and result.call_id
    ]


RULE = Rule(
    name=NAME,
    states="A tool result answers a call that stands before it.",
    check=check,
    mend=mend,
    mends="drops the orphan",
)
