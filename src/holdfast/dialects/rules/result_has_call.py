"""A tool result answers a call that stands before it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Action, Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.dialects.rules.pairs import holds_only_results, may_be_stored
from holdfast.dialects.shape import shown
from holdfast.transcript import Text, ToolResult, Violation

NAME = "result-has-call"


def check(case: Case) -> list[Violation]:
    """Return the results that answer no call, or one that is answered already.

    Silent where the provider may hold the call. Not mendable where nothing would be left of the
    list.
    """
    orphans = _orphans(case)
    if not orphans or may_be_stored(case):
        return []
    something_stays = len({at for at, _ in orphans}) < len(case.messages) or any(
        not holds_only_results(message) for message in case.messages
    )
    called = _called(case)
    return [
        case.fault(
            NAME, at, result.at,
            f"the call {shown(result.call_id)} has its result already"
            if called.get(result.call_id, at) < at
            else f"the result for {shown(result.call_id)} answers no call before it",
            "remove it, or put back the call that it answers", mendable=something_stays,
        )
        for at, result in orphans
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Drop the orphans, and messages that held nothing else."""
    del violations
    edits = Edits()
    orphans = _orphans(case)
    called = _called(case)
    actions: list[Action] = []
    for at, result in orphans:
        edits.drop(at, result)
        again = called.get(result.call_id, at) < at
        which = "a further result" if again else "the result"
        why = "the call has its result already" if again else "no call before it"
        what = f"dropped {which} for {shown(result.call_id)} with {_size(result)}: {why}"
        actions.append(case.action(NAME, at, what))
    return Mended(edits.applied(case.messages), tuple(actions))


def _called(case: Case) -> dict[str, int]:
    """Return the first message that calls, by call id."""
    return {call.id: at for at, call in reversed(case.index.calls)}


def _size(result: ToolResult) -> str:
    """Return what is lost with a result, in words."""
    chars = sum(len(part.text) for part in result.parts if isinstance(part, Text))
    others = sum(not isinstance(part, Text) for part in result.parts)
    text = f"its text ({chars:,} characters)" if chars else "no text"
    return f"{text} and {others:,} other part{'s' if others > 1 else ''}" if others else text


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
