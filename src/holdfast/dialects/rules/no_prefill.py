"""A request does not end with a message of the assistant."""

from __future__ import annotations

from holdfast.dialects.rule import Case, Rule
from holdfast.transcript import ToolCall, ToolResult, Violation

NAME = "no-prefill"


def check(case: Case) -> list[Violation]:
    """Return the last message where it is a prefill and the model is known to refuse one.

    A turn that a server tool paused is sent back as it is, and calls are another rule's.
    """
    if not case.messages:
        return []
    last = case.messages[-1]
    if last.role != "assistant" or not case.model_is(case.profile.no_prefill_models):
        return []
    if any(type(part) in (ToolCall, ToolResult) for part in last.parts):
        return []
    return [
        case.fault(
            NAME, len(case.messages) - 1, "",
            f"the request ends with the assistant, which {case.model!r} refuses as a prefill",
            "append the user's next message, or remove this one", mendable=False,
        )
    ]  # fmt: skip


RULE = Rule(
    name=NAME,
    states="A request does not end with a message of the assistant.",
    check=check,
)
