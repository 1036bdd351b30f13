"""There is at most one compaction block with content, first in its message."""

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
            if seen or part is not message.parts[0] or not _may_stand(message.role, at):
                what = "a second compaction block" if seen else "the compaction block is not first"
                found.append(
                    case.fault(NAME, at, part.at, what,
                               "keep only the latest, as it came, before all messages or first in "
                               "its assistant message",
                               mendable=False)
                )  # fmt: skip
            seen = True
    return found


def leads(message: Message) -> bool:
    """Return whether a message begins with a compaction block that has content."""
    first = message.parts[0] if message.parts else None
    return isinstance(first, Opaque) and _has_content(first)


def _may_stand(role: str, at: int) -> bool:
    """Return whether a block may stand in the message `at`: one made on demand stands before all,
    one made at a threshold in an answer, after what it tells of.
    """
    return role == "assistant" or (at == 0 and role == "user")


def _has_content(part: Opaque) -> bool:
    wire: Any = part.wire
    return part.kind == "compaction" and isinstance(wire, dict) and bool(wire.get("content"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


RULE = Rule(
    name=NAME,
    states="There is at most one compaction block with content, first in its message.",
    check=check,
)
