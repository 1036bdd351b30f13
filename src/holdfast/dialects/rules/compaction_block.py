"""There is at most one compaction block with content, first in its message or first of all."""

from __future__ import annotations

from typing import Any

from holdfast.dialects.rule import Case, Rule
from holdfast.transcript import Message, Opaque, Violation

NAME = "compaction-block"


def check(case: Case) -> list[Violation]:
    """Return further compaction blocks, and one that other blocks stand before."""
    found: list[Violation] = []
    seen = False
    for at, message in enumerate(case.messages):
        for part in message.parts:
            if type(part) is not Opaque or not _has_content(part):
                continue
            if seen or part is not message.parts[0] or not _may_stand(part, message.role, at):
                what = "a second compaction block" if seen else "the compaction block is not first"
                found.append(
                    case.fault(NAME, at, part.at, what,
                               "keep only the latest, first in its assistant message, as it came; "
                               "a signed one takes the place of all messages before it",
                               mendable=False)
                )  # fmt: skip
            seen = True
    return found


def leads(message: Message) -> bool:
    """Return whether a message begins with a compaction block that has content."""
    first = message.parts[0] if message.parts else None
    return isinstance(first, Opaque) and _has_content(first)


def _may_stand(part: Opaque, role: str, at: int) -> bool:
    """Return whether a block may stand in the message `at`: one made on demand is signed, and
    then only the first message may hold it; one made at a threshold follows what it tells of.
    """
    if at == 0:
        return role in ("assistant", "user")
    return role == "assistant" and not part.wire.get("signature")


def _has_content(part: Opaque) -> bool:
    wire: Any = part.wire
    return part.kind == "compaction" and isinstance(wire, dict) and bool(wire.get("content"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


RULE = Rule(
    name=NAME,
    states="There is at most one compaction block with content, first in its message; a signed one "
    "is the first block of all.",
    check=check,
)
