"""A message carries no private keys and none that belong elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import changed
from holdfast.transcript import Message, Violation

NAME = "keys-foreign"
_USUAL = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "refusal",
     "type", "id", "call_id", "arguments", "output", "status", "summary", "encrypted_content",
     "parts"}
)  # fmt: skip
_HOLDS_CONTENT = frozenset({"tool_calls", "tool_call_id", "function_call", "parts"})


def check(case: Case) -> list[Violation]:
    """Return keys that begin with `_`, and those that the profile names as foreign."""
    foreign = case.profile.foreign_keys
    usual = _USUAL - foreign
    found: list[Violation] = []
    for at, message in enumerate(case.messages):
        wire = message.wire
        if type(wire) is dict and not wire.keys() <= usual:  # pyright: ignore[reportUnknownMemberType]
            found.extend(
                case.fault(
                    NAME, at, key, f"{key!r} does not belong on the wire", _remedy(key, wire[key]),
                    mendable=not _is_content(key, wire[key]),
                )
                for key in _foreign(wire, foreign)  # pyright: ignore[reportUnknownArgumentType]
            )  # fmt: skip
    return found


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Strip the keys."""
    at_fault = {violation.index for violation in violations}
    messages = tuple(
        _stripped(message, case.profile.foreign_keys) if at in at_fault else message
        for at, message in enumerate(case.messages)
    )
    actions = tuple(
        case.action(NAME, found.index, f"removed the key at {found.path}") for found in violations
    )
    return Mended(messages, actions)


def _foreign(wire: dict[Any, Any], foreign: frozenset[str]) -> list[str]:
    return [key for key in wire if isinstance(key, str) and (key.startswith("_") or key in foreign)]


def _is_content(key: str, value: Any) -> bool:
    """Return whether a key holds something that would be lost with it."""
    return key in _HOLDS_CONTENT and bool(value)


def _remedy(key: str, value: Any) -> str:
    return "convert the list to this dialect first" if _is_content(key, value) else "remove it"


def _stripped(message: Message, foreign: frozenset[str]) -> Message:
    unwanted = set(_foreign(message.wire, foreign))
    wire = {key: value for key, value in message.wire.items() if key not in unwanted}
    parts = tuple(
        replace(part, wire=wire) if part.wire is message.wire else part for part in message.parts
    )
    return replace(changed(message, parts), wire=wire)


RULE = Rule(
    name=NAME,
    states="A message carries no private keys and none that belong elsewhere.",
    check=check,
    mend=mend,
    mends="removes the keys, unless they hold content",
)
