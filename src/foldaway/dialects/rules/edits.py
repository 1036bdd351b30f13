"""What the rules share: edits of parts and messages, and the flaws that a decoder has noted.

Messages that are not touched come back as the same objects. A decoder reads a payload of the wrong
shape with its nearest legal meaning, so encoding the message again is the repair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from foldaway.dialects.rule import Action, Case, Check, Mended
from foldaway.transcript import Message, Part, Thinking, ToolResult, Violation


class Edits:
    """Parts to be replaced or dropped, gathered first and then applied in one pass."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        """Start with none."""
        self._changes: dict[int, dict[int, Part | None]] = {}

    def put(self, at: int, old: Part, new: Part) -> None:
        """Put `new` in the place of `old` in message `at`."""
        self._changes.setdefault(at, {})[id(old)] = new

    def drop(self, at: int, old: Part) -> None:
        """Take `old` out of message `at`."""
        self._changes.setdefault(at, {})[id(old)] = None

    def now(self, at: int, old: Part) -> Part | None:
        """Return what stands for `old` so far."""
        return self._changes.get(at, {}).get(id(old), old)

    def apply(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages with the edits; one of which nothing is left is gone."""
        done: list[Message] = []
        for index, message in enumerate(messages):
            changes = self._changes.get(index)
            if changes is None:
                done.append(message)
                continue
            parts = [changes.get(id(part), part) for part in message.parts]
            left = tuple(part for part in parts if part is not None)
            if left:
                done.append(replace_parts(message, left))
        return tuple(done)


def drop_parts(case: Case, rule: str, found: Sequence[tuple[int, Part, str]]) -> Mended:
    """Take parts out of their messages; each comes with its message and what to say about it."""
    edits = Edits()
    for at, part, _ in found:
        edits.drop(at, part)
    actions = tuple(case.action(rule, at, what) for at, _, what in found)
    return Mended(edits.apply(case.messages), actions)


def replace_parts(message: Message, parts: tuple[Part, ...]) -> Message:
    """Return the message with other parts; its flaws stay until their own rule repairs them."""
    return replace(message, parts=parts, intact=False)


def insert_messages(
    messages: Sequence[Message], after: Mapping[int, Sequence[Message]]
) -> tuple[Message, ...]:
    """Return the messages with new ones after those at the keys of `after`; -1 is the start."""
    done: list[Message] = list(after.get(-1, ()))
    for index, message in enumerate(messages):
        done.append(message)
        done.extend(after.get(index, ()))
    return tuple(done)


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


def rewrite(case: Case, violations: Sequence[Violation]) -> Mended:
    """Mark the messages at fault, and the parts in them, to be encoded again."""
    rules = {violation.rule for violation in violations}
    at_fault = {violation.index for violation in violations}
    messages = tuple(
        _cure(message, rules) if index in at_fault else message
        for index, message in enumerate(case.messages)
    )
    return Mended(messages, note_rewrites(case, violations))


def note_rewrites(case: Case, violations: Sequence[Violation]) -> tuple[Action, ...]:
    """Return the notes for messages that are encoded again, and for signed parts that go."""
    return tuple(
        case.action(found.rule, found.index, f"{found.path} {found.message}: {_fate(case, found)}")
        for found in violations
    )


def _fate(case: Case, found: Violation) -> str:
    place = found.path.removeprefix(case.path(found.index)).removeprefix(".")
    signed = any(_is_signed(part, [place]) for part in case.messages[found.index].parts)
    return "dropped, as it is signed" if signed else "written anew"


def cure(messages: Sequence[Message], rule: str) -> tuple[Message, ...]:
    """Return the messages, those with flaws of `rule` to be encoded again without them."""
    return tuple(
        _cure(message, {rule}) if any(flaw.rule == rule for flaw in message.flaws) else message
        for message in messages
    )


def _cure(message: Message, rules: set[str]) -> Message:
    """Return the message to be encoded again without its flaws of `rules`; other flaws stay.

    Signed thinking cannot be written again: if it is at fault, it goes.
    """
    places = [flaw.at for flaw in message.flaws if flaw.rule in rules]
    left = tuple(flaw for flaw in message.flaws if flaw.rule not in rules)
    parts = tuple(_touch(part, places) for part in message.parts if not _is_signed(part, places))
    return replace(message, parts=parts, intact=False, flaws=left)


def _touch(part: Part, places: Sequence[str]) -> Part:
    touched = any(_is_within(place, part.at) for place in places)
    if isinstance(part, ToolResult):
        inner = tuple(_touch(each, places) for each in part.parts)
        if touched or any(not each.intact for each in inner):
            return replace(part, parts=inner, intact=False)
        return part
    return replace(part, intact=False) if touched else part


def _is_signed(part: Part, places: Sequence[str]) -> bool:
    """Return whether a part is signed thinking at one of the places."""
    if not isinstance(part, Thinking) or not part.signature:
        return False
    return any(_is_within(place, part.at) for place in places)


def _is_within(place: str, at: str) -> bool:
    if not at:
        return True
    return place.startswith(at) and place[len(at) : len(at) + 1] in ("", ".", "[")
