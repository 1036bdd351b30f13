"""Rules about content: its shape, that there is some, its characters, compaction blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from foldaway.dialects.jsontext import clean_value, dump_text, parse
from foldaway.dialects.rule import Action, Case, Mended, Rule
from foldaway.dialects.rules.edits import flaws_of, replace_parts, rewrite
from foldaway.transcript import (
    Message,
    Opaque,
    Part,
    Payload,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Violation,
)

MESSAGE_OBJECT = "message-object"
CONTENT_SHAPE = "content-shape"
CONTENT_PRESENT = "content-present"
COMPACTION_BLOCK = "compaction-block"
TEXT_CLEAN = "text-clean"

_LONE = re.compile(r"[\ud800-\udfff]")
_encode = msgspec.json.Encoder().encode
_TOGETHER = 32
"""Messages that are looked through at once: one call for many short texts costs less."""
_USUAL = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", "id", "type"})
"""Keys of a message that need no look themselves."""
_AROUND = ("system", "instructions", "systemInstruction", "system_instruction", "tools")
"""What a request says to the model outside of its messages."""

_find_empty = flaws_of(CONTENT_PRESENT)


def check_present(case: Case) -> list[Violation]:
    """Return what is empty; not mendable if nothing would be left of the list."""
    found = _find_empty(case)
    at_fault = {violation.index for violation in found}
    if len(at_fault) < len(case.messages) or any(message.parts for message in case.messages):
        return found
    return [replace(violation, mendable=False) for violation in found]


def mend_present(case: Case, violations: Sequence[Violation]) -> Mended:
    """Drop the empty parts, and the messages of which nothing is left."""
    at_fault = {violation.index for violation in violations}
    left: list[Message] = []
    for index, message in enumerate(case.messages):
        if index not in at_fault:
            left.append(message)
            continue
        parts = tuple(part for part in message.parts if not _is_empty(part))
        if parts:
            flaws = tuple(flaw for flaw in message.flaws if flaw.rule != CONTENT_PRESENT)
            left.append(replace(message, parts=parts, intact=False, flaws=flaws))
    actions = tuple(
        case.action(CONTENT_PRESENT, found.index, f"dropped what was empty at {found.path}")
        for found in violations
    )
    return Mended(tuple(left), actions)


def _is_empty(part: Part) -> bool:
    return type(part) is Text and not part.text.strip()


def check_compaction_block(case: Case) -> list[Violation]:
    """Return further compaction blocks, and one that other blocks stand before."""
    found: list[Violation] = []
    seen = False
    for at, message in enumerate(case.messages):
        for part in message.parts:
            if type(part) is not Opaque or not _is_compaction(part):
                continue
            if seen or part is not message.parts[0] or not _is_allowed_at(message.role, at):
                what = "a second compaction block" if seen else "the compaction block is not first"
                found.append(
                    case.fault(
                        COMPACTION_BLOCK,
                        at,
                        part.at,
                        what,
                        "keep only the latest, as it came, before all messages or first in "
                        "its assistant message",
                        mendable=False,
                    )
                )
            seen = True
    return found


def begins_with_compaction(message: Message) -> bool:
    """Return whether a message begins with a compaction block that has content."""
    first = message.parts[0] if message.parts else None
    return isinstance(first, Opaque) and _is_compaction(first)


def _is_allowed_at(role: str, at: int) -> bool:
    """Return whether a block may stand in the message `at`: one made on demand stands before all,
    one made at a threshold in an answer, after what it tells of.
    """
    return role == "assistant" or (at == 0 and role == "user")


def _is_compaction(part: Opaque) -> bool:
    wire: Any = part.wire
    return part.kind == "compaction" and isinstance(wire, dict) and bool(wire.get("content"))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def check_clean(case: Case) -> list[Violation]:
    """Return the places with text that cannot be sent, or that stores refuse."""
    found = [_fault(case, -1, key) for key in _list_unclean(case)]
    messages = case.messages
    for start in range(0, len(messages), _TOGETHER):
        some = messages[start : start + _TOGETHER]
        if _are_surely_clean(some):
            continue
        for at, message in enumerate(some, start):
            if not _are_surely_clean((message,)):
                found += [_fault(case, at, place) for place in _places(message, case)]
    return found


def mend_clean(case: Case, violations: Sequence[Violation]) -> Mended:
    """Remove NUL and put U+FFFD for half pairs; signed thinking goes as a whole."""
    at_fault = {violation.index for violation in violations}
    actions: list[Action] = []
    messages: list[Message] = []
    for at, message in enumerate(case.messages):
        if at not in at_fault:
            messages.append(message)
            continue
        signed = {part.at for part in message.parts if _is_irreparable(part, case, message.intact)}
        actions += [_note(case, at, place, place in signed) for place in _places(message, case)]
        new = _clean_message(message, case)
        if new.parts or not message.parts:
            messages.append(new)
    return Mended(tuple(messages), *_clean_around(case, actions))


def _list_unclean(case: Case) -> list[str]:
    body = case.transcript.frame.body
    if body is None:
        return []
    return [key for key in _AROUND if key in body and not _is_clean_json(body[key])]


def _clean_around(
    case: Case, actions: Sequence[Action]
) -> tuple[tuple[Action, ...], Payload | None]:
    """Return all actions and the request body, None if it is clean."""
    keys = _list_unclean(case)
    if not keys:
        return tuple(actions), None
    body = {**(case.transcript.frame.body or {})}
    body.update({key: clean_value(body[key]) for key in keys})
    return (*(_note(case, -1, key) for key in keys), *actions), body


def _fault(case: Case, at: int, place: str) -> Violation:
    return case.fault(
        TEXT_CLEAN,
        at,
        place,
        "the text holds NUL or half of a surrogate pair",
        "remove NUL; replace the half pair by U+FFFD",
    )


def _note(case: Case, at: int, place: str, dropped: bool = False) -> Action:
    what = "dropped signed thinking with" if dropped else "took out"
    where = case.path(at, place)
    return case.action(TEXT_CLEAN, at, f"{what} NUL or half surrogate pairs: {where}")


def _places(message: Message, case: Case) -> list[str]:
    """Return where a message is unclean: its parts first, then fields that belong to no part."""
    places = [
        _place(part) for part in message.parts if not _is_clean_part(part, case, message.intact)
    ]
    wire: Any = message.wire
    if not message.intact or type(wire) is not dict or "" in places:
        return places
    held = {re.split(r"[.\[]", place, maxsplit=1)[0] for place in places}
    fields = cast("Payload", wire)
    return places + [
        key if _is_clean(key) else ""
        for key, value in fields.items()
        if key not in held and not (_is_clean(key) and _is_clean_json(value))
    ]


def _place(part: Part) -> str:
    if type(part) is ToolResult:
        unclean = (each for each in part.parts if type(each) is Text and not _is_clean(each.text))
        return next((each.at for each in unclean), part.at)
    return part.at


def _is_clean_part(part: Part, case: Case, as_given: bool) -> bool:
    """Return whether the words of a part are clean and, if it is as given, its payload."""
    if as_given and part.intact and part.wire is not None and not _is_clean_json(part.wire):
        return False
    match part:
        case Text(text=text) | Thinking(text=text):
            return _is_clean(text)
        case ToolResult(parts=parts):
            return all(_is_clean_part(each, case, as_given) for each in parts)
        case ToolCall(arguments=arguments):
            return _are_clean_arguments(arguments, case)
        case Opaque(wire=wire):
            return _is_clean_json(wire)
        case _:
            return True


def _are_clean_arguments(text: str, case: Case) -> bool:
    if not _is_clean(text):
        return False
    if case.profile.arguments == "text" or "\\u" not in text:
        return True
    return _is_clean_json(parse(text.encode()))


def _is_clean(text: str) -> bool:
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _are_surely_clean(messages: Sequence[Message]) -> bool:
    """Return whether messages, written as they were given, are clean; looked through together."""
    rest: list[Any] = []
    for message in messages:
        wire: Any = message.wire
        if not message.intact or wire is None:
            return False
        fields: Payload = wire
        if type(wire) is not dict or not _USUAL.issuperset(fields):
            rest.append(wire)
            continue
        for value in fields.values():
            if type(value) is str and value.isascii():
                if "\0" in value:
                    return False
            elif value is not None:
                rest.append(value)
    return not rest or _is_surely_clean(rest)


def _is_surely_clean(value: Any) -> bool:
    try:
        return b"\\u0000" not in _encode(value)
    except UnicodeEncodeError:
        return False


def _is_clean_json(value: Any) -> bool:
    return _is_surely_clean(value) or clean_value(value) == value


def _clean_message(message: Message, case: Case) -> Message:
    wire = message.wire if _is_clean_json(message.wire) else clean_value(message.wire)
    parts: list[Part] = []
    for part in message.parts:
        new = _clean_part(part, case, message.intact)
        if new is not None:
            parts.append(replace(new, wire=wire) if new.wire is message.wire else new)
    return replace(replace_parts(message, tuple(parts)), wire=wire)


def _is_irreparable(part: Part, case: Case, as_given: bool) -> bool:
    """Return whether a part is unclean and, being signed, cannot be altered."""
    if not isinstance(part, Thinking) or not part.signature:
        return False
    return not _is_clean_part(part, case, as_given)


def _clean_part(part: Part, case: Case, as_given: bool) -> Part | None:
    """Return the part with clean text, itself if it is clean, None if it must go."""
    if _is_clean_part(part, case, as_given):
        return part
    if _is_irreparable(part, case, as_given):
        return None
    wire: Any = part.wire if _is_clean_json(part.wire) else clean_value(part.wire)
    match part:
        case Text(text=text) | Thinking(text=text):
            return replace(part, text=_clean(text), wire=wire, intact=False)
        case ToolCall(arguments=arguments):
            if not _are_clean_arguments(arguments, case):
                arguments = _clean_arguments(arguments, case)
            return replace(
                part,
                id=_clean(part.id),
                name=_clean(part.name),
                arguments=arguments,
                wire=wire,
                intact=False,
            )
        case ToolResult():
            inner = [_clean_part(each, case, as_given) for each in part.parts]
            left = tuple(each for each in inner if each is not None)
            call_id = _clean(part.call_id)
            return replace(part, call_id=call_id, parts=left, wire=wire, intact=False)
        case _:
            return replace(part, wire=wire)


def _clean(text: str) -> str:
    return _LONE.sub("\ufffd", text.replace("\0", ""))


def _clean_arguments(text: str, case: Case) -> str:
    if case.profile.arguments == "text":
        return _clean(text)
    return dump_text(clean_value(parse(text.encode("utf-8", "surrogatepass"))))


RULES = (
    Rule(
        name=MESSAGE_OBJECT,
        states="Every element of the list is a message object.",
        check=flaws_of(MESSAGE_OBJECT),
    ),
    Rule(
        name=CONTENT_SHAPE,
        states="Content has the shape that its place asks for.",
        check=flaws_of(CONTENT_SHAPE),
        mend=rewrite,
        mends="writes the content in its legal shape",
    ),
    Rule(
        name=CONTENT_PRESENT,
        states="Messages and text blocks hold content.",
        check=check_present,
        mend=mend_present,
        mends="drops the empty block, and the message where nothing is left",
    ),
    Rule(
        name=COMPACTION_BLOCK,
        states="There is at most one compaction block with content, first in its message.",
        check=check_compaction_block,
    ),
    Rule(
        name=TEXT_CLEAN,
        states="Text holds no NUL and no half of a surrogate pair.",
        check=check_clean,
        mend=mend_clean,
        mends="removes NUL, puts U+FFFD for half pairs; signed thinking is dropped whole",
    ),
)
