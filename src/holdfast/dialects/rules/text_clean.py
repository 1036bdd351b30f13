"""Text holds no NUL and no half of a surrogate pair."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.dialects.jsontext import clean_value, dump, dump_text, parse
from holdfast.dialects.rule import Action, Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.transcript import Opaque, Part, Text, Thinking, ToolCall, ToolResult, Violation

NAME = "text-clean"
_LONE = re.compile(r"[\ud800-\udfff]")
_SUSPECT = re.compile(rb"\\u0000|\\u[dD][89a-fA-F]")


def check(case: Case) -> list[Violation]:
    """Return the parts with text that cannot be sent, or that stores refuse."""
    found: list[Violation] = []
    for at, message in enumerate(case.messages):
        for part in message.parts:
            kind = type(part)
            if kind is Text or kind is Thinking:
                text = part.text  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
                if "\0" not in text and (text.isascii() or _encodes(text)):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
                    continue
            elif kind is ToolResult:
                if _is_clean_result(part):
                    continue
            elif kind is Opaque:
                if _is_clean_json(part.wire):
                    continue
            elif kind is not ToolCall or _is_clean_call(part, case):
                continue
            found.append(_fault(case, at, part))
    return found


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Remove NUL and put U+FFFD for half pairs; signed thinking goes as a whole."""
    edits = Edits()
    actions: list[Action] = []
    for at in sorted({violation.index for violation in violations}):
        for part in case.messages[at].parts:
            new = _cleaned(part, case)
            if new is part:
                continue
            if new is None:
                edits.drop(at, part)
            else:
                edits.put(at, part, new)
            what = "dropped signed thinking with" if new is None else "took out"
            place = case.path(at, part.at)
            actions.append(case.action(NAME, at, f"{what} NUL or half surrogate pairs: {place}"))
    return Mended(edits.applied(case.messages), tuple(actions))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_clean(text: str) -> bool:
    return "\0" not in text and (text.isascii() or _encodes(text))


def _is_clean_result(result: Part) -> bool:
    assert isinstance(result, ToolResult)
    return all(type(part) is not Text or _is_clean(part.text) for part in result.parts)


def _is_clean_call(call: Part, case: Case) -> bool:
    assert isinstance(call, ToolCall)
    text = call.arguments
    if not _is_clean(text):
        return False
    if case.profile.arguments == "text" or "\\u" not in text:
        return True
    return _is_clean_json(parse(text.encode()))


def _fault(case: Case, at: int, part: Part) -> Violation:
    place = part.at
    if type(part) is ToolResult:
        unclean = (each for each in part.parts if type(each) is Text and not _is_clean(each.text))
        place = next((each.at for each in unclean), place)
    return case.fault(
        NAME, at, place, "the text holds NUL or half of a surrogate pair",
        "remove NUL; replace the half pair by U+FFFD",
    )  # fmt: skip


def _cleaned(part: Part, case: Case) -> Part | None:
    """Return the part with clean text, itself where it is clean, None where it must go."""
    match part:
        case Text(text=text):
            return part if _is_clean(text) else replace(part, text=_clean(text), intact=False)
        case Thinking(text=text):
            if _is_clean(text):
                return part
            return None if part.signature else replace(part, text=_clean(text), intact=False)
        case ToolCall(arguments=arguments):
            if _is_clean_call(part, case):
                return part
            return replace(part, arguments=_clean_arguments(arguments, case), intact=False)
        case ToolResult():
            if _is_clean_result(part):
                return part
            inner = [_cleaned(each, case) for each in part.parts]
            left = tuple(each for each in inner if each is not None)
            return replace(part, parts=left, intact=False)
        case Opaque(wire=wire):
            return part if _is_clean_json(wire) else replace(part, wire=clean_value(wire))
        case _:
            return part


def _clean(text: str) -> str:
    return _LONE.sub("\ufffd", text.replace("\0", ""))


def _is_clean_json(value: Any) -> bool:
    return _SUSPECT.search(dump(value)) is None or clean_value(value) == value


def _clean_arguments(text: str, case: Case) -> str:
    if case.profile.arguments == "text":
        return _clean(text)
    return dump_text(clean_value(parse(text.encode("utf-8", "surrogatepass"))))


RULE = Rule(
    name=NAME,
    states="Text holds no NUL and no half of a surrogate pair.",
    check=check,
    mend=mend,
    mends="removes NUL, puts U+FFFD for half pairs; signed thinking is dropped whole",
)
