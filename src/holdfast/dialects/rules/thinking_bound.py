"""Signed thinking follows exactly the messages that it followed when it was written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.transcript import Thinking, Violation

NAME = "thinking-bound"


def check(case: Case) -> list[Violation]:
    """Return signed thinking after a message that Holdfast wrote, changed, moved or removed."""
    return [
        case.fault(
            NAME, at, part.at,
            f"thinking is bound to messages that changed (before message {start})",
            "remove it, or ask the provider to drop such blocks",
        )
        for start, at, part in _unbound(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Drop the thinking of the turns after the first change."""
    del violations
    edits = Edits()
    unbound = _unbound(case)
    for _, at, part in unbound:
        edits.drop(at, part)
    actions = tuple(
        case.action(NAME, at, f"dropped {case.path(at, part.at)}: earlier messages changed")
        for _, at, part in unbound
    )
    return Mended(edits.applied(case.messages), actions)


def _unbound(case: Case) -> list[tuple[int, int, Thinking]]:
    if not case.index.thinking or not case.model_is(case.profile.bound_thinking_models):
        return []
    if _drops_mismatches(case):
        return []
    start = _first_unbound(case)
    return [
        (start, at, part)
        for at, part in case.index.thinking
        if part.signature and (at >= start or (at == start - 1 and not _leads(case, at, part)))
    ]


def _first_unbound(case: Case) -> int:
    """Return the first message before which something changed; one past the last for none.

    A message that moved up has lost one before it. What changed in a message comes after the
    thinking that leads it.
    """
    for at, message in enumerate(case.messages):
        if message.position != at and message.origin in ("real", "arrival"):
            return at
        if message.origin == "arrival":  # it was never shown otherwise
            continue
        if message.origin != "real" or not message.intact:
            return at + 1
    return len(case.messages) + 1


def _leads(case: Case, at: int, part: Thinking) -> bool:
    for each in case.messages[at].parts:
        if each is part:
            return True
        if type(each) is not Thinking:
            break
    return False


def _drops_mismatches(case: Case) -> bool:
    found: Any = case.transcript.frame.setting("thinking")
    for key in ("block_binding", "prefix_mismatch_behavior"):
        if not isinstance(found, dict):
            return False
        found = cast("Any", found.get(key))  # pyright: ignore[reportUnknownMemberType]
    return found == "drop_block"


RULE = Rule(
    name=NAME,
    states="Signed thinking follows exactly the messages that it followed when it was written.",
    check=check,
    mend=mend,
    mends="drops thinking after the first message that changed",
)
