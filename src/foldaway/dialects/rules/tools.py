"""Rules about tools: definitions, names, arguments, and what a result may hold."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from foldaway.dialects.jsontext import dump_text, is_object_text, parse
from foldaway.dialects.rule import Action, Case, Mended, Rule
from foldaway.dialects.rules.edits import Edits, cure, flaws_of, insert_messages
from foldaway.dialects.shape import quote
from foldaway.errors import NotReadable
from foldaway.transcript import Media, Message, Part, Text, ToolCall, ToolResult, Violation

TOOLS_DECLARED = "tools-declared"
NAME_LEGAL = "name-legal"
ARGUMENTS_OBJECT = "arguments-object"
TOOL_TEXT_ONLY = "tool-text-only"

_NAMED_BY_CLIENTS = ("function", "custom")
_LONGEST_NAME_CHARS = 64
"""What is kept of an illegal name: the strictest provider (OpenAI chat) takes no more."""
_TRAILING_COMMA = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z))|,(?=\s*+[}\]])', re.DOTALL)
"""Texts are matched whole, also one that is cut off, so that each character is read once."""
_LITERAL_CHARS = 100_000
"""Longer texts are not read as Python: its parser needs some hundred bytes a character."""

_find_nameless = flaws_of(NAME_LEGAL)
_find_no_text = flaws_of(ARGUMENTS_OBJECT)


def check_declared(case: Case) -> list[Violation]:
    """Return the first tool block of a whole request that defines no tools."""
    frame = case.transcript.frame
    if not frame.is_request or frame.setting("tools") or not case.index.calls:
        return []
    at, call = case.index.calls[0]
    return [
        case.fault(
            TOOLS_DECLARED,
            at,
            call.at,
            "the request has tool blocks and defines no tools",
            "add the tool definitions, or send the tool blocks as text",
            mendable=False,
        )
    ]


def check_name(case: Case) -> list[Violation]:
    """Return the calls without a name, or with one that the profile's pattern refuses."""
    return _find_nameless(case) + [
        case.fault(
            NAME_LEGAL,
            at,
            call.at,
            f"the tool name {quote(call.name)} is not allowed",
            f"use a name that matches {case.profile.name_pattern}",
        )
        for _, at, call in _illegal_names(case)
    ]


def mend_name(case: Case, _: Sequence[Violation]) -> Mended:
    """Put `_` for illegal characters and cut to length; results follow their calls."""
    edits = Edits()
    actions: list[Action] = []
    for ordinal, at, call in _illegal_names(case):
        name = _make_legal(call.name, case.profile.name_pattern)
        edits.put(at, call, replace(call, name=name, intact=False))
        actions.append(
            case.action(NAME_LEGAL, at, f"the tool name {quote(call.name)} is now {name!r}")
        )
        answer = case.index.answer_of[ordinal]
        if answer >= 0 and (found := case.index.results[answer])[1].name == call.name:
            edits.put(*found, replace(found[1], name=name, intact=False))
    for found in _find_nameless(case):
        actions.append(case.action(NAME_LEGAL, found.index, f"{found.path}: named 'unknown_tool'"))
    return Mended(cure(edits.apply(case.messages), NAME_LEGAL), tuple(actions))


def _illegal_names(case: Case) -> list[tuple[int, int, ToolCall]]:
    return [
        (ordinal, at, call)
        for ordinal, (at, call) in enumerate(case.index.calls)
        if call.kind in _NAMED_BY_CLIENTS
        and not _is_legal_name(call.name, case.profile.name_pattern)
    ]


@lru_cache(1024)
def _is_legal_name(name: str, pattern: str) -> bool:
    return re.fullmatch(pattern, name) is not None


def _make_legal(name: str, pattern: str) -> str:
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_LONGEST_NAME_CHARS]
    return plain if _is_legal_name(plain, pattern) else f"_{plain}"[:_LONGEST_NAME_CHARS]


def check_arguments(case: Case) -> list[Violation]:
    """Return the function calls whose arguments are not the JSON of an object."""
    return _find_no_text(case) + [
        case.fault(
            ARGUMENTS_OBJECT,
            at,
            call.at,
            f"the arguments ({len(call.arguments):,} characters) are not a JSON object",
            "write the arguments as the JSON of an object, '{}' where there are none",
        )
        for at, call in _broken_arguments(case)
    ]


def mend_arguments(case: Case, _: Sequence[Violation]) -> Mended:
    """Read the arguments tolerantly; what cannot be read is kept whole under `value`."""
    edits = Edits()
    actions: list[Action] = []
    for at, call in _broken_arguments(case):
        text, how = _object_text(call.arguments)
        edits.put(at, call, replace(call, arguments=text, intact=False))
        actions.append(
            case.action(ARGUMENTS_OBJECT, at, f"the arguments of {call.id!r} were {how}")
        )
    for found in _find_no_text(case):
        what = f"{found.path} {found.message}: written as an object"
        actions.append(case.action(ARGUMENTS_OBJECT, found.index, what))
    return Mended(cure(edits.apply(case.messages), ARGUMENTS_OBJECT), tuple(actions))


def _broken_arguments(case: Case) -> list[tuple[int, ToolCall]]:
    if case.profile.arguments == "object":
        return []
    return [
        (at, call)
        for at, call in case.index.calls
        if call.kind == "function" and not is_object_text(call.arguments)
    ]


def _object_text(text: str) -> tuple[str, str]:
    """Return the arguments as the JSON of an object, and how they were read."""
    if not text.strip() or text.strip() in ("null", "None"):
        return "{}", "empty, and are now '{}'"
    for read, how in (
        (_read_json, "cleaned of trailing commas"),
        (_read_literal, "read as Python"),
    ):
        value = read(text)
        if isinstance(value, str) and is_object_text(value):
            return value, "encoded twice, and are now encoded once"
        if isinstance(value, dict):
            written = _write_object(value)
            if written:
                return written, how
    return dump_text({"value": text}), "not readable, and are kept whole under 'value'"


def _read_json(text: str) -> Any:
    try:
        return parse(_TRAILING_COMMA.sub(lambda found: found[1] or "", text).encode())
    except (NotReadable, UnicodeEncodeError):
        return None


def _read_literal(text: str) -> Any:
    if len(text) > _LITERAL_CHARS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None


def _write_object(value: Any) -> str:
    try:
        text = dump_text(value)
    except (TypeError, ValueError, NotReadable):
        return ""
    return text if is_object_text(text) else ""


def check_text_only(case: Case) -> list[Violation]:
    """Return the media in tool messages."""
    return [
        case.fault(
            TOOL_TEXT_ONLY,
            at,
            part.at,
            f"{part.kind} content in the result for {quote(result.call_id)}",
            "move it to a user message after the tool messages",
        )
        for at, result in case.index.results
        for part in result.parts
        if type(part) is Media
    ]


def mend_text_only(case: Case, _: Sequence[Violation]) -> Mended:
    """Move the media to a user message after the run of tool messages."""
    edits = Edits()
    after: dict[int, list[Part]] = {}
    actions: list[Action] = []
    for at, result in case.index.results:
        media = [part for part in result.parts if type(part) is Media]
        if not media:
            continue
        left = tuple(part for part in result.parts if type(part) is not Media)
        edits.put(at, result, _without_media(result, left, media[0]))
        moved = after.setdefault(_run_end(case.messages, at), [])
        moved += [Text(f"[{media[0].kind} from the result for {result.call_id}]"), *media]
        what = f"moved {len(media)} {media[0].kind} to a user message"
        actions.append(case.action(TOOL_TEXT_ONLY, at, what))
    notes = {at: [Message("user", tuple(parts), origin="note")] for at, parts in after.items()}
    return Mended(insert_messages(edits.apply(case.messages), notes), tuple(actions))


def _without_media(result: ToolResult, left: tuple[Part, ...], first: Media) -> ToolResult:
    parts = left or (Text(f"[{first.kind}: see the next user message]"),)
    return replace(result, parts=parts, intact=False)


def _run_end(messages: Sequence[Message], at: int) -> int:
    while at + 1 < len(messages) and messages[at + 1].role == "tool":
        at += 1
    return at


RULES = (
    Rule(
        name=TOOLS_DECLARED,
        states="A request with tool blocks defines its tools.",
        check=check_declared,
    ),
    Rule(
        name=NAME_LEGAL,
        states="The name of a tool is one that the provider takes.",
        check=check_name,
        mend=mend_name,
        mends="puts `_` for illegal characters and cuts to length; a call without a name calls "
        "`unknown_tool`",
    ),
    Rule(
        name=ARGUMENTS_OBJECT,
        states="The arguments of a function call are a JSON object.",
        check=check_arguments,
        mend=mend_arguments,
        mends="reads Python literals, trailing commas and empty text; anything else is kept whole "
        "under `value`",
    ),
    Rule(
        name=TOOL_TEXT_ONLY,
        states="A tool message holds text only.",
        check=check_text_only,
        mend=mend_text_only,
        mends="moves media to a user message after the tool messages",
    ),
)
