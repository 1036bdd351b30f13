"""A request carries no more cache markers than allowed, longer-lived ones first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.dialects.rule import Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.transcript import Part, ToolResult, Violation

NAME = "cache-markers"
KEY = "cache_control"
_Block: TypeAlias = dict[str, Any]


class _Marker(Struct, frozen=True, gc=False):
    """One marker: in message `at`, or under `key` of the body where `at` is -1."""

    at: int
    place: str
    is_long: bool
    key: str = ""
    ordinal: int = -1
    part: Part | None = None
    inner: Part | None = None


def check(case: Case) -> list[Violation]:
    """Return the markers beyond the limit, and long-lived ones after short-lived ones."""
    surplus, late = _wrong(case)
    limit = case.profile.cache_markers
    return [
        case.fault(NAME, each.at, each.place, f"more than {limit} cache markers in the request",
                   "remove the oldest ones from the messages")
        for each in surplus
    ] + [
        case.fault(NAME, each.at, each.place, "a marker of 1h follows one of 5m",
                   "put longer-lived markers first, or shorten this one")
        for each in late
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Remove the surplus, oldest in the messages first; shorten the long-lived that come late."""
    del violations
    surplus, late = _wrong(case)
    edits = Edits()
    body = dict(case.transcript.frame.body or {})
    for each, gone in [(each, True) for each in surplus] + [(each, False) for each in late]:
        if each.part is None:
            body[each.key] = _without(body[each.key], each, gone)
        else:
            _edit_part(edits, each, gone)
    actions = tuple(
        case.action(NAME, each.at, f"removed the cache marker at {case.path(each.at, each.place)}")
        for each in surplus
    ) + tuple(
        case.action(NAME, each.at, f"shortened the marker at {case.path(each.at, each.place)}")
        for each in late
    )
    touched = any(each.part is None for each in (*surplus, *late))
    return Mended(edits.applied(case.messages), actions, body if touched else None)


def _wrong(case: Case) -> tuple[list[_Marker], list[_Marker]]:
    found = _markers(case)
    top = case.transcript.frame.setting(KEY)
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
        for ordinal, block in enumerate(blocks if isinstance(blocks, list) else ()):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            if _is_marked(block):
                place = f"{key}[{ordinal}].{KEY}"
                found.append(_Marker(-1, place, _is_long(block), key, ordinal))  # pyright: ignore[reportUnknownArgumentType]
    for at, message in enumerate(case.messages):
        for part in message.parts:
            wire = part.wire
            if type(wire) is not dict:
                continue
            if type(part) is ToolResult:
                found.extend(
                    _Marker(at, f"{inner.at}.{KEY}", _is_long(inner.wire), part=part, inner=inner)
                    for inner in part.parts
                    if inner.wire is not None and _is_marked(inner.wire)
                )
            if KEY in wire and _is_marked(wire):
                found.append(_Marker(at, f"{part.at}.{KEY}", _is_long(wire), part=part))  # pyright: ignore[reportUnknownArgumentType]
    return found


def _is_marked(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get(KEY), dict)  # pyright: ignore[reportUnknownMemberType]


def _is_long(block: _Block) -> bool:
    return block[KEY].get("ttl") == "1h"


def _without(blocks: list[Any], marker: _Marker, gone: bool) -> list[Any]:
    return [
        _unmarked(block, gone) if at == marker.ordinal else block for at, block in enumerate(blocks)
    ]


def _unmarked(block: _Block, gone: bool) -> _Block:
    if gone:
        return {key: value for key, value in block.items() if key != KEY}
    short = {key: value for key, value in block[KEY].items() if key != "ttl"}
    return {key: short if key == KEY else value for key, value in block.items()}


def _edit_part(edits: Edits, marker: _Marker, gone: bool) -> None:
    assert marker.part is not None
    now = edits.now(marker.at, marker.part)
    assert now is not None
    if marker.inner is None:
        edits.put(marker.at, marker.part, replace(now, wire=_unmarked(now.wire, gone)))  # pyright: ignore[reportArgumentType]
        return
    assert isinstance(now, ToolResult)
    assert isinstance(marker.part, ToolResult)
    parts = tuple(
        replace(each, wire=_unmarked(each.wire, gone)) if own is marker.inner else each  # pyright: ignore[reportArgumentType]
        for own, each in zip(marker.part.parts, now.parts, strict=True)
    )
    edits.put(marker.at, marker.part, replace(now, parts=parts, intact=False))


RULE = Rule(
    name=NAME,
    states="A request carries at most the allowed number of cache markers, longer-lived first.",
    check=check,
    mend=mend,
    mends="removes the surplus, oldest in the messages first; shortens a long-lived one that "
    "comes late",
)
