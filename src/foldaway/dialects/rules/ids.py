"""Rules about the ids that pair calls and results: there is one, of one call only, and legal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from foldaway.dialects.dialect import FreshIds
from foldaway.dialects.rule import Action, Case, Mended, Rule
from foldaway.dialects.rules.edits import Edits, cure, flaws_of, note_rewrites
from foldaway.dialects.rules.pairs import number_steps
from foldaway.dialects.shape import quote
from foldaway.transcript import ToolCall, Violation

ID_PRESENT = "id-present"
ID_UNIQUE = "id-unique"
ID_LEGAL = "id-legal"
_LONGEST_STEM_CHARS = 40
"""What is kept of an illegal id: with a number after it, it is shorter than the 64 of OpenAI."""


def mend_present(case: Case, violations: Sequence[Violation]) -> Mended:
    """Give a result the id of the only open call of its step, otherwise drop it.

    A call without an id keeps the one that was made for it.
    """
    numbers = number_steps(case)
    waiting = _list_unanswered(case, numbers)
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
        actions.append(case.action(ID_PRESENT, at, what))
    noted = {action.index for action in actions}
    rest = [each for each in violations if case.messages[each.index].position not in noted]
    actions += note_rewrites(case, rest)
    return Mended(cure(edits.apply(case.messages), ID_PRESENT), tuple(actions))


def _list_unanswered(case: Case, numbers: Sequence[int]) -> dict[int, list[str]]:
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
        if flaw.rule == ID_PRESENT
    }
    return [
        case.action(ID_PRESENT, at, f"the call gets the id {call.id!r}")
        for at, call in case.index.calls
        if (at, call.at) in flawed
    ]


def check_unique(case: Case) -> list[Violation]:
    """Return the calls whose id stands before already; positional ids are no ids."""
    calls = case.index.calls
    if len({call.id for _, call in calls}) == len(calls):
        return []
    return [
        case.fault(
            ID_UNIQUE,
            at,
            call.at,
            f"the call id {quote(call.id)} is used before",
            "give each call an id of its own, and its result the same",
        )
        for at, call, _ in _repeats(case)
    ]


def mend_unique(case: Case, _: Sequence[Violation]) -> Mended:
    """Rename the later ones, and their results with them."""
    fresh = FreshIds(
        [call.id for _, call in case.index.calls]
        + [result.call_id for _, result in case.index.results]
    )
    answers = _answers(case)
    edits = Edits()
    actions: list[Action] = []
    for at, call, ordinal in _repeats(case):
        new = fresh.make(call.id)
        _rename(edits, case, ordinal, answers[ordinal], new)
        actions.append(case.action(ID_UNIQUE, at, f"the second call {call.id!r} is now {new!r}"))
    return Mended(edits.apply(case.messages), tuple(actions))


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


def check_legal(case: Case) -> list[Violation]:
    """Return the calls whose id the profile's pattern refuses; positional ids are no ids."""
    return [
        case.fault(
            ID_LEGAL,
            at,
            call.at,
            f"the call id {quote(call.id)} is not allowed",
            f"use an id that matches {case.profile.id_pattern}, and the same for its result",
        )
        for _, at, call in _illegal(case)
    ]


def mend_legal(case: Case, _: Sequence[Violation]) -> Mended:
    """Put `_` for illegal characters and cut to length, in the call and in its result."""
    illegal = _illegal(case)
    fresh = FreshIds(call.id for _, call in case.index.calls)
    ids = {
        ordinal: fresh.make(re.sub(r"[^a-zA-Z0-9_-]", "_", call.id)[:_LONGEST_STEM_CHARS])
        for ordinal, _, call in illegal
    }
    actions = tuple(
        case.action(ID_LEGAL, at, f"the call {quote(call.id)} is now {ids[ordinal]!r}")
        for ordinal, at, call in illegal
    )
    edits = Edits()
    for ordinal, new in ids.items():
        _rename(edits, case, ordinal, case.index.answer_of[ordinal], new)
    return Mended(edits.apply(case.messages), actions)


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


def _rename(edits: Edits, case: Case, ordinal: int, answer: int, new: str) -> None:
    """Give a call another id, and its result (the one at `answer`, -1 for none) the same."""
    at, call = case.index.calls[ordinal]
    edits.put(at, call, replace(call, id=new, intact=False))
    if answer >= 0:
        result_at, result = case.index.results[answer]
        edits.put(result_at, result, replace(result, call_id=new, intact=False))


RULES = (
    Rule(
        name=ID_PRESENT,
        states="Every call and every result carries the id that pairs them.",
        check=flaws_of(ID_PRESENT),
        mend=mend_present,
        mends="makes an id for the call; a result takes the id of the only open call of its step, "
        "or is dropped",
    ),
    Rule(
        name=ID_UNIQUE,
        states="No two calls have the same id.",
        check=check_unique,
        mend=mend_unique,
        mends="renames the later calls, and their results with them",
    ),
    Rule(
        name=ID_LEGAL,
        states="The id of a call is one that the provider takes.",
        check=check_legal,
        mend=mend_legal,
        mends="puts `_` for illegal characters and cuts to length, in the call and in its result",
    ),
)
