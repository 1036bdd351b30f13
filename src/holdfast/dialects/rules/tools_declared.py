"""A request with tool blocks defines its tools."""

from __future__ import annotations

from holdfast.dialects.rule import Case, Rule
from holdfast.transcript import Violation

NAME = "tools-declared"


def check(case: Case) -> list[Violation]:
    """Return the first tool block of a whole request that defines no tools."""
    frame = case.transcript.frame
    if not frame.is_request or frame.setting("tools") or not case.index.calls:
        return []
    at, call = case.index.calls[0]
    return [
        case.fault(
            NAME, at, call.at, "the request has tool blocks and defines no tools",
            "add the tool definitions, or send the tool blocks as text", mendable=False,
        )
    ]  # fmt: skip


RULE = Rule(
    name=NAME,
    states="A request with tool blocks defines its tools.",
    check=check,
)
