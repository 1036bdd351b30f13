"""Every call and every result carries the id that pairs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.dialects.rule import Action, Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.dialects.rules.flaws import cured, flaws_of, written_anew
from holdfast.dialects.rules.pairs import steps
from holdfast.transcript import Violation

NAME = "id-present"


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Give a result the id of the only open call of its step, otherwise drop it.

    A call without an id keeps the one that was made for it.
    """
    numbers = steps(case)
    waiting = _waiting(case, numbers)
    nameless = [(at, result) for at, result in case.index.results if not result.call_id]
    rivals = Counter(numbers[at] for at, _ in nameless)
    edits = Edits()
    actions = _new_ids(case)
    for at, result in nameless:
        ids = waiting.get(numbers[at], [])
        if len(ids) == 1 and rivals[numbers[at]] == 1:
            edits.put(at, result, replace(result, call_id=ids[0], intact=False))
            what = f"the result takes the id {ids[0]!r} of the only open call of its step"
        else:
            edits.drop(at, result)
            what = "dropped a result without an id: no single call is open in its step"
        actions.append(case.action(NAME, at, what))
    noted = {action.index for action in actions}
    rest = [each for each in violations if case.messages[each.index].position not in noted]
    actions += written_anew(case, rest)
    messages = tuple(
        cured(message, {NAME}) if any(flaw.rule == NAME for flaw in message.flaws) else message
        for message in edits.applied(case.messages)
    )
    return Mended(messages, tuple(actions))


def _waiting(case: Case, numbers: Sequence[int]) -> dict[int, list[str]]:
    """Return the ids of the calls that have no result, by step."""
    found: dict[int, list[str]] = {}
    for (at, call), answer in zip(case.index.calls, case.index.answer_of, strict=True):
        if answer < 0 and call.kind != "server":
            found.setdefault(numbers[at], []).append(call.id)
    return found


def _new_ids(case: Case) -> list[Action]:
    flawed = {
        (at, flaw.at.rpartition(".")[0])
        for at in case.index.flawed
        for flaw in case.messages[at].flaws
        if flaw.rule == NAME
    }
    return [
        case.action(NAME, at, f"the call gets the id {call.id!r}")
        for at, call in case.index.calls
        if (at, call.at) in flawed
    ]


RULE = Rule(
    name=NAME,
    states="Every call and every result carries the id that pairs them.",
    check=flaws_of(NAME),
    mend=mend,
    mends="makes an id for the call; a result takes the id of the only open call of its step, "
    "or is dropped",
)
