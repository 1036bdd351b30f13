"""No two calls have the same id."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.dialects.dialect import FreshIds
from holdfast.dialects.rule import Action, Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.dialects.shape import shown
from holdfast.transcript import ToolCall, Violation

NAME = "id-unique"


def check(case: Case) -> list[Violation]:
    """Return the calls whose id stands before already; positional ids are no ids."""
    calls = case.index.calls
    if len({call.id for _, call in calls}) == len(calls):
        return []
    return [
        case.fault(
            NAME, at, call.at, f"the call id {shown(call.id)} is used before",
            "give each call an id of its own, and its result the same",
        )
        for at, call, _ in _repeats(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Rename the later ones, and their results with them."""
    del violations
    fresh = FreshIds(
        [call.id for _, call in case.index.calls]
        + [result.call_id for _, result in case.index.results]
    )
    answers = _answers(case)
    edits = Edits()
    actions: list[Action] = []
    for at, call, ordinal in _repeats(case):
        new = fresh.make(call.id)
        edits.put(at, call, replace(call, id=new, intact=False))
        if answers[ordinal] >= 0:
            result_at, result = case.index.results[answers[ordinal]]
            edits.put(result_at, result, replace(result, call_id=new, intact=False))
        actions.append(case.action(NAME, at, f"the second call {call.id!r} is now {new!r}"))
    return Mended(edits.applied(case.messages), tuple(actions))


def _repeats(case: Case) -> list[tuple[int, ToolCall, int]]:
    seen: set[str] = set()
    found: list[tuple[int, ToolCall, int]] = []
    for ordinal, (at, call) in enumerate(case.index.calls):
        if call.id in seen and not call.id.startswith("~"):
            found.append((at, call, ordinal))
        seen.add(call.id)
    return found


def _answers(case: Case) -> list[int]:
    """Return the answers by call; calls of one message that share an id are answered in order."""
    answers = list(case.index.answer_of)
    twins: dict[tuple[int, str], list[int]] = {}
    for ordinal, (at, call) in enumerate(case.index.calls):
        if answers[ordinal] >= 0:
            twins.setdefault((at, call.id), []).append(ordinal)
    for ordinals in twins.values():
        if len(ordinals) > 1:
            in_order = sorted(answers[ordinal] for ordinal in ordinals)
            for ordinal, answer in zip(ordinals, in_order, strict=True):
                answers[ordinal] = answer
    return answers


RULE = Rule(
    name=NAME,
    states="No two calls have the same id.",
    check=check,
    mend=mend,
    mends="renames the later calls, and their results with them",
)
