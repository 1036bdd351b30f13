"""Rules that the decoder has already looked at: its flaws become violations.

A decoder reads a payload of the wrong shape with its nearest legal meaning, so that encoding the
message anew is the repair.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Action, Case, Check, Mended
from holdfast.transcript import Violation


def flaws_of(rule: str) -> Check:
    """Return the check that reports the flaws noted under `rule`."""

    def check(case: Case) -> list[Violation]:
        return [
            Violation(rule, index, case.path(index, flaw.at), flaw.message, flaw.remedy,
                      flaw.mendable)
            for index in case.index.flawed
            for flaw in case.messages[index].flaws
            if flaw.rule == rule
        ]  # fmt: skip

    return check


def encode_anew(case: Case, violations: Sequence[Violation]) -> Mended:
    """Mark the messages at fault to be encoded anew from their parts."""
    at_fault = {violation.index for violation in violations}
    messages = tuple(
        message.rewritten() if index in at_fault else message
        for index, message in enumerate(case.messages)
    )
    actions = tuple(
        Action(violation.rule, case.messages[violation.index].position,
               f"{violation.path} {violation.message}: written anew")
        for violation in violations
    )  # fmt: skip
    return Mended(messages, actions)
