"""Server tool calls and their results stand in the same assistant turn."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.dialects.rules.pairs import holds_only_results
from holdfast.dialects.shape import shown
from holdfast.transcript import Message, ToolCall, ToolResult, Violation

NAME = "server-tools-paired"


def check(case: Case) -> list[Violation]:
    """Return server calls whose turn ended without a result, and results without their call."""
    return [
        case.fault(
            NAME, at, part.at, f"the server tool block {shown(_id(part))} has no counterpart",
            "remove it, or put back its counterpart in the same turn",
        )
        for at, part in _loose(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Drop the block that is alone."""
    del violations
    edits = Edits()
    loose = _loose(case)
    for at, part in loose:
        edits.drop(at, part)
    actions = tuple(
        case.action(NAME, at, f"dropped the server tool block {shown(_id(part))}: no counterpart")
        for at, part in loose
    )
    return Mended(edits.applied(case.messages), actions)


def _loose(case: Case) -> list[tuple[int, ToolCall | ToolResult]]:
    index = case.index
    if not any(part.kind == "server" for _, part in (*index.calls, *index.results)):
        return []
    over = _turns_over(case.messages)
    last = len(case.messages) - 1
    found: list[tuple[int, ToolCall | ToolResult]] = []
    for (at, call), answer in zip(index.calls, index.answer_of, strict=True):
        until = index.results[answer][0] if answer >= 0 else last
        if call.kind == "server" and over[at] <= until:
            found.append((at, call))
    for (at, result), call in zip(index.results, index.call_of, strict=True):
        if result.kind == "server" and (call < 0 or over[index.calls[call][0]] <= at):
            found.append((at, result))
    return sorted(found, key=lambda each: each[0])


def _turns_over(messages: Sequence[Message]) -> list[int]:
    """Return, for each message, the next one in which someone else takes a turn."""
    over = [len(messages)] * len(messages)
    for at in range(len(messages) - 2, -1, -1):
        after = messages[at + 1]
        goes_on = after.role == "assistant" or holds_only_results(after)
        over[at] = over[at + 1] if goes_on else at + 1
    return over


def _id(part: ToolCall | ToolResult) -> str:
    return part.id if isinstance(part, ToolCall) else part.call_id


RULE = Rule(
    name=NAME,
    states="Server tool calls and their results stand in the same assistant turn.",
    check=check,
    mend=mend,
    mends="drops the block that is alone",
)
