"""Rules about what is next to the content: keys of a message or call, and cache markers."""

# Wire values are `Any`, and so is whatever is taken out of one.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldaway.dialects.rule import Action, Case, Mended, Rule
from foldaway.dialects.rules.edits import Edits, replace_parts
from foldaway.transcript import (
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Violation,
)

KEYS_FOREIGN = "keys-foreign"
KEYS_KNOWN = "keys-known"
CACHE_MARKERS = "cache-markers"

_USUAL = frozenset(
    {
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "name",
        "reasoning_content",
        "refusal",
        "type",
        "id",
        "call_id",
        "arguments",
        "output",
        "status",
        "summary",
        "encrypted_content",
        "parts",
    }
)
"""Keys that need no second look, unless the profile names them as foreign."""
_HOLDS_CONTENT = frozenset(
    {"tool_calls", "tool_call_id", "function_call", "parts", "content", "refusal"}
)
_CACHE_KEY = "cache_control"
_Block: TypeAlias = dict[str, Any]


def check_foreign(case: Case) -> list[Violation]:
    """Return keys that begin with `_`, and those that the profile names as foreign."""
    foreign = case.profile.foreign_keys
    usual = _USUAL - foreign
    found: list[Violation] = []
    for at, message in enumerate(case.messages):
        wire = message.wire
        if type(wire) is dict and not wire.keys() <= usual:
            found.extend(
                case.fault(
                    KEYS_FOREIGN,
                    at,
                    key,
                    f"{key!r} does not belong on the wire",
                    _remedy(key, wire[key]),
                    mendable=not _is_content(key, wire[key]),
                )
                for key in _foreign_keys(wire, foreign)
            )
    return found


def mend_foreign(case: Case, violations: Sequence[Violation]) -> Mended:
    """Strip the keys."""
    at_fault = {violation.index for violation in violations}
    messages = tuple(
        _strip_foreign(message, case.profile.foreign_keys) if at in at_fault else message
        for at, message in enumerate(case.messages)
    )
    return Mended(messages, _note_removed(case, violations))


def _foreign_keys(wire: dict[Any, Any], foreign: frozenset[str]) -> list[str]:
    return [key for key in wire if isinstance(key, str) and (key.startswith("_") or key in foreign)]


def _is_content(key: str, value: Any) -> bool:
    """Return whether a key holds something that would be lost with it."""
    return key in _HOLDS_CONTENT and bool(value)


def _remedy(key: str, value: Any) -> str:
    return "convert the list to this dialect first" if _is_content(key, value) else "remove it"


def _strip_foreign(message: Message, foreign: frozenset[str]) -> Message:
    unwanted = set(_foreign_keys(message.wire, foreign))
    wire = {key: value for key, value in message.wire.items() if key not in unwanted}
    parts = tuple(
        replace(part, wire=wire) if part.wire is message.wire else part for part in message.parts
    )
    return replace(replace_parts(message, parts), wire=wire)


def check_known(case: Case) -> list[Violation]:
    """Return the keys of messages, and of the calls in them, that are not on the profile's list."""
    known = case.profile.message_keys
    found: list[Violation] = []
    for at, message in enumerate(case.messages):
        wire = message.wire
        if type(wire) is not dict:
            continue
        allowed = known.get(message.role)
        if allowed is not None and not wire.keys() <= allowed:
            for key in wire:
                if key not in allowed:
                    found.append(_unknown_key(case, at, str(key), key != "function_call"))
    for at, call in case.index.calls:
        found.extend(
            _unknown_key(case, at, f"{call.at}.{key}", True)
            for key in _extra_keys(call, case.profile.call_keys)
        )
    return found


def mend_known(case: Case, violations: Sequence[Violation]) -> Mended:
    """Strip the keys; the words of a refusal become the content."""
    at_fault = {violation.index for violation in violations}
    messages = tuple(
        _strip_unknown(message, case) if at in at_fault else message
        for at, message in enumerate(case.messages)
    )
    return Mended(messages, _note_removed(case, violations))


def _unknown_key(case: Case, at: int, place: str, mendable: bool) -> Violation:
    return case.fault(
        KEYS_KNOWN,
        at,
        place,
        f"{place.rpartition('.')[2]!r} is not a known key here",
        "remove it",
        mendable=mendable,
    )


def _extra_keys(call: ToolCall, known: Mapping[str, frozenset[str]]) -> Iterator[str]:
    if call.wire is None or not known:
        return
    for key, value in call.wire.items():
        if key not in known[""]:
            yield key
        elif key in known and type(value) is dict:
            yield from (f"{key}.{inner}" for inner in value if inner not in known[key])


def _strip_unknown(message: Message, case: Case) -> Message:
    allowed = case.profile.message_keys.get(message.role, frozenset())
    wire: Any = message.wire
    if isinstance(wire, dict):
        wire = {key: value for key, value in wire.items() if key in allowed}
    parts = tuple(
        _strip_part(part, case.profile.call_keys)
        for part in message.parts
        if not (type(part) is Thinking and part.at not in allowed)
    )
    return replace(replace_parts(message, parts), wire=wire)


def _strip_part(part: Part, known: Mapping[str, frozenset[str]]) -> Part:
    if type(part) is Opaque and part.kind == "refusal" and isinstance(part.wire, str):
        return Text(part.wire)
    if type(part) is not ToolCall or part.wire is None or not known:
        return part
    wire = {
        key: _keep_only(value, known[key]) if key in known else value
        for key, value in part.wire.items()
        if key in known[""]
    }
    return replace(part, wire=wire)


def _keep_only(value: Any, allowed: frozenset[str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: kept for key, kept in value.items() if key in allowed}


def _note_removed(case: Case, violations: Sequence[Violation]) -> tuple[Action, ...]:
    return tuple(
        case.action(found.rule, found.index, f"removed the key at {found.path}")
        for found in violations
    )


class _Marker(Struct, frozen=True, gc=False):
    """One marker: in message `at`, or under `key` of the body if `at` is -1."""

    at: int
    place: str
    is_long: bool
    key: str = ""
    ordinal: int = -1
    part: Part | None = None
    inner: Part | None = None


def check_markers(case: Case) -> list[Violation]:
    """Return the markers beyond the limit, and long-lived ones after short-lived ones."""
    surplus, late = _wrong_markers(case)
    limit = case.profile.cache_markers
    return [
        case.fault(
            CACHE_MARKERS,
            each.at,
            each.place,
            f"more than {limit} cache markers in the request",
            "remove the oldest ones from the messages",
        )
        for each in surplus
    ] + [
        case.fault(
            CACHE_MARKERS,
            each.at,
            each.place,
            "a marker of 1h follows one of 5m",
            "put longer-lived markers first, or shorten this one",
        )
        for each in late
    ]


def mend_markers(case: Case, _: Sequence[Violation]) -> Mended:
    """Remove the surplus, oldest in the messages first; shorten the long-lived that come late."""
    surplus, late = _wrong_markers(case)
    edits = Edits()
    body = dict(case.transcript.frame.body or {})
    for each, gone in [(each, True) for each in surplus] + [(each, False) for each in late]:
        if each.part is None:
            body[each.key] = _unmark_at(body[each.key], each, gone)
        else:
            _unmark_part(edits, each, gone)
    actions = tuple(
        case.action(
            CACHE_MARKERS, each.at, f"removed the cache marker at {case.path(each.at, each.place)}"
        )
        for each in surplus
    ) + tuple(
        case.action(
            CACHE_MARKERS, each.at, f"shortened the marker at {case.path(each.at, each.place)}"
        )
        for each in late
    )
    touched = any(each.part is None for each in (*surplus, *late))
    return Mended(edits.apply(case.messages), actions, body if touched else None)


def _wrong_markers(case: Case) -> tuple[list[_Marker], list[_Marker]]:
    found = _markers(case)
    top = case.transcript.frame.setting(_CACHE_KEY)
    over = len(found) + (1 if isinstance(top, dict) else 0) - case.profile.cache_markers
    surplus: list[_Marker] = []
    if over > 0:
        oldest = [each for each in found if each.at >= 0] + [each for each in found if each.at < 0]
        surplus = oldest[:over]
    gone = {id(each) for each in surplus}
    short = False
    late: list[_Marker] = []
    for each in found:
        if id(each) in gone:
            continue
        if each.is_long and short:
            late.append(each)
        short = short or not each.is_long
    return surplus, late


def _markers(case: Case) -> list[_Marker]:
    """Return all markers in the order of the prefix: tools, system, messages."""
    found: list[_Marker] = []
    for key in ("tools", "system"):
        blocks = case.transcript.frame.setting(key)
        for ordinal, block in enumerate(blocks if isinstance(blocks, list) else ()):
            if _is_marked(block):
                place = f"{key}[{ordinal}].{_CACHE_KEY}"
                found.append(_Marker(-1, place, _is_long(block), key, ordinal))
    for at, message in enumerate(case.messages):
        for part in message.parts:
            wire = part.wire
            if type(wire) is not dict:
                continue
            if type(part) is ToolResult:
                found.extend(
                    _Marker(
                        at, f"{inner.at}.{_CACHE_KEY}", _is_long(inner.wire), part=part, inner=inner
                    )
                    for inner in part.parts
                    if inner.wire is not None and _is_marked(inner.wire)
                )
            if _CACHE_KEY in wire and _is_marked(wire):
                found.append(_Marker(at, f"{part.at}.{_CACHE_KEY}", _is_long(wire), part=part))
    return found


def _is_marked(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get(_CACHE_KEY), dict)


def _is_long(block: _Block) -> bool:
    return block[_CACHE_KEY].get("ttl") == "1h"


def _unmark_at(blocks: list[Any], marker: _Marker, gone: bool) -> list[Any]:
    return [
        _unmark(block, gone) if at == marker.ordinal else block for at, block in enumerate(blocks)
    ]


def _unmark(block: _Block, gone: bool) -> _Block:
    if gone:
        return {key: value for key, value in block.items() if key != _CACHE_KEY}
    short = {key: value for key, value in block[_CACHE_KEY].items() if key != "ttl"}
    return {key: short if key == _CACHE_KEY else value for key, value in block.items()}


def _unmark_part(edits: Edits, marker: _Marker, gone: bool) -> None:
    assert marker.part is not None
    now = edits.now(marker.at, marker.part)
    assert now is not None
    if marker.inner is None:
        edits.put(marker.at, marker.part, replace(now, wire=_unmark(now.wire, gone)))  # pyright: ignore[reportArgumentType]
        return
    assert isinstance(now, ToolResult)
    assert isinstance(marker.part, ToolResult)
    parts = tuple(
        replace(each, wire=_unmark(each.wire, gone)) if own is marker.inner else each  # pyright: ignore[reportArgumentType]
        for own, each in zip(marker.part.parts, now.parts, strict=True)
    )
    edits.put(marker.at, marker.part, replace(now, parts=parts, intact=False))


RULES = (
    Rule(
        name=KEYS_FOREIGN,
        states="A message carries no private keys and none that belong elsewhere.",
        check=check_foreign,
        mend=mend_foreign,
        mends="removes the keys, unless they hold content",
    ),
    Rule(
        name=KEYS_KNOWN,
        states="A message has no keys but those that the gateway knows.",
        check=check_known,
        mend=mend_known,
        mends="removes the keys; the words of a refusal become content",
    ),
    Rule(
        name=CACHE_MARKERS,
        states="A request carries at most the allowed number of cache markers, longer-lived first.",
        check=check_markers,
        mend=mend_markers,
        mends="removes the surplus, oldest in the messages first; shortens a long-lived one that "
        "comes late",
    ),
)
