"""The name of a tool is one that the provider takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec.structs import replace

from holdfast.dialects.rule import Action, Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.dialects.rules.flaws import cured, flaws_of
from holdfast.dialects.shape import shown
from holdfast.transcript import ToolCall, Violation

NAME = "name-legal"
_flawed = flaws_of(NAME)
_NAMED_BY_CLIENTS = ("function", "custom")


def check(case: Case) -> list[Violation]:
    """Return the calls without a name, or with one that the profile's pattern refuses."""
    return _flawed(case) + [
        case.fault(
            NAME, at, call.at, f"the tool name {shown(call.name)} is not allowed",
            f"use a name that matches {case.profile.name_pattern}",
        )
        for _, at, call in _illegal(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Put `_` for illegal characters and cut to length; results follow their calls."""
    del violations
    edits = Edits()
    actions: list[Action] = []
    for ordinal, at, call in _illegal(case):
        name = _legal(call.name, case.profile.name_pattern)
        edits.put(at, call, replace(call, name=name, intact=False))
        actions.append(case.action(NAME, at, f"the tool name {shown(call.name)} is now {name!r}"))
        answer = case.index.answer_of[ordinal]
        if answer >= 0 and (found := case.index.results[answer])[1].name == call.name:
            edits.put(*found, replace(found[1], name=name, intact=False))
    for found in _flawed(case):
        actions.append(case.action(NAME, found.index, f"{found.path}: named 'unknown_tool'"))
    messages = tuple(
        cured(message, {NAME}) if any(flaw.rule == NAME for flaw in message.flaws) else message
        for message in edits.applied(case.messages)
    )
    return Mended(messages, tuple(actions))


def _illegal(case: Case) -> list[tuple[int, int, ToolCall]]:
    return [
        (ordinal, at, call)
        for ordinal, (at, call) in enumerate(case.index.calls)
        if call.kind in _NAMED_BY_CLIENTS and not _is_legal(call.name, case.profile.name_pattern)
    ]


@lru_cache(1024)
def _is_legal(name: str, pattern: str) -> bool:
    return re.fullmatch(pattern, name) is not None


def _legal(name: str, pattern: str) -> str:
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]
    return plain if _is_legal(plain, pattern) else f"_{plain}"[:64]


RULE = Rule(
    name=NAME,
    states="The name of a tool is one that the provider takes.",
    check=check,
    mend=mend,
    mends="puts `_` for illegal characters and cuts to length; a call without a name calls "
    "`unknown_tool`",
)
