"""Thinking stands before what it led to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.dialects.rules.pairs import holds_only_results, last_ask
from holdfast.transcript import Thinking, ToolCall, Violation

NAME = "thinking-first"


def check(case: Case) -> list[Violation]:
    """Return thinking after a call or at the end of a turn, and a tool loop begun without it."""
    found = [
        case.fault(
            NAME, at, part.at, "thinking stands after what it led to",
            "put it back before the call that it led to, or remove it",
        )
        for at, part in _late(case)
    ]  # fmt: skip
    return found + _open_loop(case)


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Drop the blocks that are out of place: a moved one would be an altered one."""
    edits = Edits()
    for at, part in _late(case):
        edits.drop(at, part)
    actions = tuple(
        case.action(NAME, found.index, f"dropped {found.path}: {found.message}")
        for found in violations
    )
    return Mended(edits.applied(case.messages), actions)


def _late(case: Case) -> list[tuple[int, Thinking]]:
    found: list[tuple[int, Thinking]] = []
    for at in dict.fromkeys(at for at, _ in case.index.thinking):
        parts = case.messages[at].parts
        called = False
        end = len(parts) - _trailing(case, at)
        for place, part in enumerate(parts):
            if type(part) is Thinking:
                if called or place >= end:
                    found.append((at, part))
            elif type(part) is ToolCall and part.kind != "server":
                called = True
    return found


def _trailing(case: Case, at: int) -> int:
    """Return how many thinking blocks a turn ends with."""
    following = case.messages[at + 1] if at + 1 < len(case.messages) else None
    if following is not None and following.role == "assistant":
        return 0
    count = 0
    for part in reversed(case.messages[at].parts):
        if type(part) is not Thinking:
            break
        count += 1
    return count


def _open_loop(case: Case) -> list[Violation]:
    """Return the first message of a tool loop in progress that has no thinking at all."""
    thinking: Any = case.transcript.frame.setting("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":  # pyright: ignore[reportUnknownMemberType]
        return []
    if not holds_only_results(case.messages[-1]):
        return []
    start = last_ask(case.messages) + 1
    if any(at >= start for at, _ in case.index.thinking) or start >= len(case.messages):
        return []
    return [
        case.fault(
            NAME, start, "", "thinking is enabled, but the tool loop in progress has none",
            "disable thinking for this request", mendable=False,
        )
    ]  # fmt: skip


RULE = Rule(
    name=NAME,
    states="Thinking stands before what it led to, never at the end of a turn.",
    check=check,
    mend=mend,
    mends="drops the block; a tool loop without thinking where it is enabled is refused",
)
