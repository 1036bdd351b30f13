"""There is at most one compaction block with content, first in its message."""

from __future__ import annotations

from typing import Any

from holdfast.dialects.rule import Case, Rule
from holdfast.transcript import Opaque, Violation

NAME = "compaction-block"


def check(case: Case) -> list[Violation]:
    """Return further compaction blocks, and one that other blocks stand before."""
    found: list[Violation] = []
    seen = False
    for at, message in enumerate(case.messages):
        for part in message.parts:
            if type(part) is not Opaque or part.kind != "compaction" or not _has_content(part.wire):
                continue
            if seen or part is not message.parts[0] or message.role != "assistant":
                what = "a second compaction block" if seen else "the compaction block is not first"
                found.append(
                    case.fault(NAME, at, part.at, what,
                               "keep only the latest, first in its assistant message, as it came",
                               mendable=False)
                )  # fmt: skip
            seen = True
    return found


def _has_content(wire: Any) -> bool:
    return isinstance(wire, dict) and bool(wire.get("content"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


RULE = Rule(
    name=NAME,
    states="There is at most one compaction block with content, first in its assistant message.",
    check=check,
)
