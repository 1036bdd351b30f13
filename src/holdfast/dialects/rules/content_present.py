"""Messages and text blocks hold content."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.flaws import flaws_of
from holdfast.transcript import Message, Part, Text, Violation

NAME = "content-present"
_flawed = flaws_of(NAME)


def check(case: Case) -> list[Violation]:
    """Return what is empty; not mendable where nothing would be left of the list."""
    found = _flawed(case)
    at_fault = {violation.index for violation in found}
    if len(at_fault) < len(case.messages) or any(message.parts for message in case.messages):
        return found
    return [replace(violation, mendable=False) for violation in found]


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Drop the empty parts, and the messages of which nothing is left."""
    at_fault = {violation.index for violation in violations}
    left: list[Message] = []
    for index, message in enumerate(case.messages):
        if index not in at_fault:
            left.append(message)
            continue
        parts = tuple(part for part in message.parts if not _is_empty(part))
        if parts:
            flaws = tuple(flaw for flaw in message.flaws if flaw.rule != NAME)
            left.append(replace(message, parts=parts, intact=False, flaws=flaws))
    actions = tuple(
        case.action(NAME, found.index, f"dropped what was empty at {found.path}")
        for found in violations
    )
    return Mended(tuple(left), actions)


def _is_empty(part: Part) -> bool:
    return type(part) is Text and not part.text.strip()


RULE = Rule(
    name=NAME,
    states="Messages and text blocks hold content.",
    check=check,
    mend=mend,
    mends="drops the empty block, and the message where nothing is left",
)
