"""User and assistant take turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.dialects.rule import Action, Case, Mended, Rule
from holdfast.dialects.rules.edit import BRIDGE, changed
from holdfast.transcript import Message, Part, Text, Thinking, Violation

NAME = "roles-alternate"
_TURNS = ("user", "assistant")


def check(case: Case) -> list[Violation]:
    """Return the messages that follow one of the same role, or a user's after a tool's."""
    found: list[Violation] = []
    before = ""
    for at, message in enumerate(case.messages):
        role = message.role
        if role == before and role in _TURNS and _is_same_kind(case, at):
            found.append(
                case.fault(NAME, at, "", f"follows another {role} message",
                           "merge the two, or put the reply between them")
            )  # fmt: skip
        elif role == "user" and before == "tool" and not case.profile.user_after_tool:
            found.append(
                case.fault(NAME, at, "", "a user message follows a tool message directly",
                           "put the assistant's reply between them")
            )  # fmt: skip
        before = role
    return found


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Merge neighbours; where that would lose something, put a placeholder between them."""
    at_fault = {violation.index for violation in violations}
    done: list[Message] = []
    actions: list[Action] = []
    for at, message in enumerate(case.messages):
        if at not in at_fault:
            done.append(message)
        elif done[-1].role == message.role and _can_merge(done[-1], message):
            done[-1] = _merged(done[-1], message)
            actions.append(case.action(NAME, at, f"merged with the {message.role} message before"))
        else:
            role = "user" if message.role == "assistant" else "assistant"
            done += [Message(role, (Text(BRIDGE),), origin="placeholder"), message]
            actions.append(case.action(NAME, at, f"put a placeholder of the {role} before it"))
    return Mended(tuple(done), tuple(actions))


def _is_same_kind(case: Case, at: int) -> bool:
    """Return whether the dialect writes the two with the same speaker."""
    one, other = _fields(case.messages[at - 1]), _fields(case.messages[at])
    return one.get("from") == other.get("from") or not one or not other


def _can_merge(one: Message, other: Message) -> bool:
    """Return whether no field but role and content tells the two apart."""
    ours, theirs = _fields(one), _fields(other)
    return ours.get("name") == theirs.get("name") or not ours or not theirs


def _fields(message: Message) -> dict[str, Any]:
    wire: Any = message.wire
    return wire if isinstance(wire, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _merged(one: Message, other: Message) -> Message:
    parts: list[Part] = list(one.parts)
    for part in other.parts:
        last = parts[-1] if parts else None
        if type(part) is Text and type(last) is Text and part.wire is None and last.wire is None:
            parts[-1] = replace(last, text=f"{last.text}\n\n{part.text}")
        elif type(part) is Thinking and not part.signature and (own := _thought(parts)) >= 0:
            thought = parts[own]
            assert isinstance(thought, Thinking)
            parts[own] = replace(thought, text=f"{thought.text}\n\n{part.text}", intact=False)
        else:
            parts.append(part)
    merged = changed(one, tuple(parts))
    origin = one.origin if one.origin == other.origin else "real"
    return replace(merged, origin=origin, flaws=(*one.flaws, *other.flaws))


def _thought(parts: Sequence[Part]) -> int:
    for at, part in enumerate(parts):
        if type(part) is Thinking and not part.signature:
            return at
    return -1


RULE = Rule(
    name=NAME,
    states="User and assistant take turns.",
    check=check,
    mend=mend,
    mends="merges same-role neighbours; where that would lose something a placeholder goes between",
)
