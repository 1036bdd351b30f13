"""Rules that the decoder has already looked at: its flaws become violations.

A decoder reads a payload of the wrong shape with its nearest legal meaning, so that encoding the
message anew is the repair.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.dialects.rule import Action, Case, Check, Mended
from holdfast.transcript import Message, Part, Thinking, ToolResult, Violation


def flaws_of(rule: str) -> Check:
    """Return the check that reports the flaws noted under `rule`."""

    def check(case: Case) -> list[Violation]:
        return [
            case.fault(rule, index, flaw.at, flaw.message, flaw.remedy, mendable=flaw.mendable)
            for index in case.index.flawed
            for flaw in case.messages[index].flaws
            if flaw.rule == rule
        ]

    return check


def encode_anew(case: Case, violations: Sequence[Violation]) -> Mended:
    """Mark the messages at fault, and the parts in them, to be encoded anew."""
    rules = {violation.rule for violation in violations}
    at_fault = {violation.index for violation in violations}
    messages = tuple(
        cured(message, rules) if index in at_fault else message
        for index, message in enumerate(case.messages)
    )
    return Mended(messages, written_anew(case, violations))


def written_anew(case: Case, violations: Sequence[Violation]) -> tuple[Action, ...]:
    """Return the notes for messages that are encoded anew, and for sealed parts that go."""
    return tuple(
        case.action(found.rule, found.index, f"{found.path} {found.message}: {_fate(case, found)}")
        for found in violations
    )


def _fate(case: Case, found: Violation) -> str:
    place = found.path.removeprefix(case.path(found.index)).removeprefix(".")
    sealed = any(_is_sealed(part, [place]) for part in case.messages[found.index].parts)
    return "dropped, as it is signed" if sealed else "written anew"


def cured(message: Message, rules: set[str]) -> Message:
    """Return the message to be encoded anew where it has flaws of `rules`; other flaws stay.

    Signed thinking cannot be written anew: where it is at fault it goes.
    """
    places = [flaw.at for flaw in message.flaws if flaw.rule in rules]
    left = tuple(flaw for flaw in message.flaws if flaw.rule not in rules)
    parts = tuple(_touched(part, places) for part in message.parts if not _is_sealed(part, places))
    return replace(message, parts=parts, intact=False, flaws=left)


def _touched(part: Part, places: Sequence[str]) -> Part:
    touched = any(_within(place, part.at) for place in places)
    if isinstance(part, ToolResult):
        inner = tuple(_touched(each, places) for each in part.parts)
        if touched or any(not each.intact for each in inner):
            return replace(part, parts=inner, intact=False)
        return part
    return replace(part, intact=False) if touched else part


def _is_sealed(part: Part, places: Sequence[str]) -> bool:
    if not isinstance(part, Thinking) or not part.signature:
        return False
    return any(_within(place, part.at) for place in places)


def _within(place: str, at: str) -> bool:
    if not at:
        return True
    return place.startswith(at) and place[len(at) : len(at) + 1] in ("", ".", "[")
