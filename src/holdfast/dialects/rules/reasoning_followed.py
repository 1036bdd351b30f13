"""A reasoning item is followed by the item that it led to."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.transcript import Thinking, Violation

NAME = "reasoning-followed"


def check(case: Case) -> list[Violation]:
    """Return the reasoning items after which the assistant neither speaks nor calls."""
    return [
        case.fault(
            NAME, at, part.at, "the reasoning is not followed by what it led to",
            "put back the message or call that followed it, or remove it",
        )
        for at, part in _loose(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Drop the reasoning items."""
    del violations
    edits = Edits()
    loose = _loose(case)
    for at, part in loose:
        edits.drop(at, part)
    actions = tuple(
        case.action(NAME, at, "dropped reasoning without the item that it led to")
        for at, _ in loose
    )
    return Mended(edits.applied(case.messages), actions)


def _loose(case: Case) -> list[tuple[int, Thinking]]:
    messages = case.messages
    found: list[tuple[int, Thinking]] = []
    followed: dict[int, bool] = {}
    for at, part in reversed(case.index.thinking):
        after = messages[at + 1] if at + 1 < len(messages) else None
        if after is not None and len(after.parts) == 1 and type(after.parts[0]) is Thinking:
            followed[at] = followed.get(at + 1, False)
        else:
            followed[at] = after is not None and after.role == "assistant"
        if not followed[at]:
            found.append((at, part))
    return found[::-1]


RULE = Rule(
    name=NAME,
    states="A reasoning item is followed by the item that it led to.",
    check=check,
    mend=mend,
    mends="drops the reasoning",
)
