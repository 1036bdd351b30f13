"""The conversation begins with a message of the user."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.compaction_block import leads
from holdfast.dialects.rules.edit import START, inserted
from holdfast.transcript import Message, Text, Violation

NAME = "user-first"


def check(case: Case) -> list[Violation]:
    """Return the first message after the system messages where it is the assistant's.

    A compaction block stands for the messages before it, the user's first one among them.
    """
    at = _first(case)
    if at < 0 or case.messages[at].role != "assistant" or leads(case.messages[at]):
        return []
    return [
        case.fault(
            NAME, at, "", "the conversation begins with the assistant",
            "begin with the message of the user that it answers",
        )
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Put a placeholder before it that says that the start is missing."""
    del violations
    at = _first(case)
    start = Message("user", (Text(START),), origin="placeholder")
    action = case.action(NAME, at, "put a placeholder of the user before the assistant's message")
    return Mended(inserted(case.messages, {at - 1: [start]}), (action,))


def _first(case: Case) -> int:
    for at, message in enumerate(case.messages):
        if message.role not in ("system", "developer"):
            return at
    return -1


RULE = Rule(
    name=NAME,
    states="The conversation begins with a message of the user.",
    check=check,
    mend=mend,
    mends="puts a placeholder first that says that the start is missing",
)
