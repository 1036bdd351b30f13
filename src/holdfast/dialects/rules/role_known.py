"""Every message has a role that the provider knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.flaws import encode_anew, flaws_of
from holdfast.dialects.shape import shown
from holdfast.transcript import Payload, Violation

NAME = "role-known"


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Write the role that an alias stands for."""
    actions = tuple(
        case.action(
            NAME, found.index,
            f"role {_was(case, found.index)} is now {found.remedy.removeprefix('use ')}",
        )
        for found in violations
    )  # fmt: skip
    return Mended(encode_anew(case, violations).messages, actions)


def _was(case: Case, at: int) -> str:
    wire: Any = case.messages[at].wire
    return shown(cast("Payload", wire).get("role")) if isinstance(wire, dict) else "(none)"


RULE = Rule(
    name=NAME,
    states="Every message has a role that the provider knows.",
    check=flaws_of(NAME),
    mend=mend,
    mends="writes the role that an alias stands for; any other is refused",
)
