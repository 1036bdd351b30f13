"""A message has no keys but those that the gateway knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import changed
from holdfast.transcript import Message, Opaque, Part, Text, Thinking, ToolCall, Violation

NAME = "keys-known"
_NONE: frozenset[str] = frozenset()


def check(case: Case) -> list[Violation]:
    """Return the keys of messages, and of the calls in them, that are not on the profile's list."""
    known = case.profile.message_keys
    found: list[Violation] = []
    for at, message in enumerate(case.messages):
        wire = message.wire
        if type(wire) is not dict:
            continue
        allowed = known.get(message.role)
        if allowed is not None and not wire.keys() <= allowed:  # pyright: ignore[reportUnknownMemberType]
            for key in wire:  # pyright: ignore[reportUnknownVariableType]
                if key not in allowed:
                    found.append(_fault(case, at, str(key), key != "function_call"))  # pyright: ignore[reportUnknownArgumentType]
    for at, call in case.index.calls:
        found.extend(_fault(case, at, f"{call.at}.{key}", True)
                     for key in _extra_keys(call, case.profile.call_keys))  # fmt: skip
    return found


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Strip the keys; the words of a refusal become the content."""
    at_fault = {violation.index for violation in violations}
    messages = tuple(
        _stripped(message, case) if at in at_fault else message
        for at, message in enumerate(case.messages)
    )
    actions = tuple(
        case.action(NAME, found.index, f"removed the key at {found.path}") for found in violations
    )
    return Mended(messages, actions)


def _fault(case: Case, at: int, place: str, mendable: bool) -> Violation:
    return case.fault(
        NAME, at, place, f"{place.rpartition('.')[2]!r} is not a known key here", "remove it",
        mendable=mendable,
    )  # fmt: skip


def _extra_keys(call: ToolCall, known: Mapping[str, frozenset[str]]) -> Iterator[str]:
    if call.wire is None or not known:
        return
    for key, value in call.wire.items():
        if key not in known[""]:
            yield key
        elif key in known and type(value) is dict:
            yield from (f"{key}.{inner}" for inner in value if inner not in known[key])  # pyright: ignore[reportUnknownVariableType]


def _stripped(message: Message, case: Case) -> Message:
    allowed = case.profile.message_keys.get(message.role, _NONE)
    wire: Any = message.wire
    if isinstance(wire, dict):
        wire = {key: value for key, value in wire.items() if key in allowed}  # pyright: ignore[reportUnknownVariableType]
    parts = tuple(
        _plain(part, case.profile.call_keys)
        for part in message.parts
        if not (type(part) is Thinking and part.at not in allowed)
    )
    return replace(changed(message, parts), wire=wire)


def _plain(part: Part, known: Mapping[str, frozenset[str]]) -> Part:
    if type(part) is Opaque and part.kind == "refusal" and isinstance(part.wire, str):
        return Text(part.wire)
    if type(part) is not ToolCall or part.wire is None or not known:
        return part
    wire = {
        key: _only(value, known[key]) if key in known else value
        for key, value in part.wire.items()
        if key in known[""]
    }
    return replace(part, wire=wire)


def _only(value: Any, allowed: frozenset[str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: kept for key, kept in value.items() if key in allowed}  # pyright: ignore[reportUnknownVariableType]


RULE = Rule(
    name=NAME,
    states="A message has no keys but those that the gateway knows.",
    check=check,
    mend=mend,
    mends="removes the keys; the words of a refusal become content",
)
