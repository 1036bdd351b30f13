"""The assistant calls tools; results come from the other side."""

from __future__ import annotations

from holdfast.dialects.rule import Case, Rule
from holdfast.dialects.shape import shown
from holdfast.transcript import Violation

NAME = "tool-speaker"


def check(case: Case) -> list[Violation]:
    """Return the calls that are not the assistant's, and the client's results that are."""
    messages = case.messages
    found = [
        case.fault(
            NAME, at, call.at, f"the call {shown(call.id)} is not in an assistant message",
            "give the message the role of who wrote it", mendable=False,
        )
        for at, call in case.index.calls
        if messages[at].role != "assistant"
    ]  # fmt: skip
    found += [
        case.fault(
            NAME, at, result.at,
            f"the result for {shown(result.call_id)} is in an assistant message",
            "give the message the role of who wrote it", mendable=False,
        )
        for at, result in case.index.results
        if result.kind != "server" and messages[at].role == "assistant"
    ]  # fmt: skip
    return found


RULE = Rule(
    name=NAME,
    states="The assistant calls tools; results come from the other side.",
    check=check,
)
