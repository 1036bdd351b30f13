"""A thinking block carries its signature, a redacted one its data."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.transcript import Violation

NAME = "thinking-signed"


def check(case: Case) -> list[Violation]:
    """Return the thinking blocks without a signature or without data."""
    return [
        case.fault(
            NAME, at, part.at,
            "redacted thinking has no data" if part.redacted else "thinking has no signature",
            "remove the block, or put back what the provider sent",
        )
        for at, part in case.index.thinking
        if not part.signature
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Drop the blocks, and messages that held nothing else."""
    edits = Edits()
    for at, part in case.index.thinking:
        if not part.signature:
            edits.drop(at, part)
    actions = tuple(
        case.action(NAME, found.index, f"dropped {found.path}: {found.message}")
        for found in violations
    )
    return Mended(edits.applied(case.messages), actions)


RULE = Rule(
    name=NAME,
    states="A thinking block carries its signature, a redacted one its data.",
    check=check,
    mend=mend,
    mends="drops the block",
)
