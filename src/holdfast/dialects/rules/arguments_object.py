"""The arguments of a function call are a JSON object."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from holdfast.dialects.jsontext import dump_text, is_object_text, parse
from holdfast.dialects.rule import Action, Case, Mended, Rule
from holdfast.dialects.rules.edit import Edits
from holdfast.dialects.rules.flaws import cured, flaws_of
from holdfast.errors import NotReadable
from holdfast.transcript import ToolCall, Violation

NAME = "arguments-object"
_flawed = flaws_of(NAME)
_TRAILING_COMMA = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z))|,(?=\s*+[}\]])', re.DOTALL)
"""Texts are matched whole, also one that is cut off, so that each character is read once."""
_LITERAL_CHARS = 100_000
"""Longer texts are not read as Python: its parser needs some hundred bytes a character."""


def check(case: Case) -> list[Violation]:
    """Return the function calls whose arguments are not the JSON of an object."""
    return _flawed(case) + [
        case.fault(
            NAME, at, call.at,
            f"the arguments ({len(call.arguments):,} characters) are not a JSON object",
            "write the arguments as the JSON of an object, '{}' where there are none",
        )
        for at, call in _broken(case)
    ]  # fmt: skip


def mend(case: Case, violations: Sequence[Violation]) -> Mended:
    """Read the arguments tolerantly; what cannot be read is kept whole under `value`."""
    del violations
    edits = Edits()
    actions: list[Action] = []
    for at, call in _broken(case):
        text, how = _object_text(call.arguments)
        edits.put(at, call, replace(call, arguments=text, intact=False))
        actions.append(case.action(NAME, at, f"the arguments of {call.id!r} were {how}"))
    for found in _flawed(case):
        what = f"{found.path} {found.message}: written as an object"
        actions.append(case.action(NAME, found.index, what))
    messages = tuple(
        cured(message, {NAME}) if any(flaw.rule == NAME for flaw in message.flaws) else message
        for message in edits.applied(case.messages)
    )
    return Mended(messages, tuple(actions))


def _broken(case: Case) -> list[tuple[int, ToolCall]]:
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
    for read, how in ((_json, "cleaned of trailing commas"), (_literal, "read as Python")):
        value = read(text)
        if isinstance(value, str) and is_object_text(value):
            return value, "encoded twice, and are now encoded once"
        if isinstance(value, dict):
            written = _written(value)
            if written:
                return written, how
    return dump_text({"value": text}), "not readable, and are kept whole under 'value'"


def _json(text: str) -> Any:
    try:
        return parse(_TRAILING_COMMA.sub(lambda found: found[1] or "", text).encode())
    except (NotReadable, UnicodeEncodeError):
        return None


def _literal(text: str) -> Any:
    if len(text) > _LITERAL_CHARS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None


def _written(value: Any) -> str:
    try:
        text = dump_text(value)
    except (TypeError, ValueError, NotReadable):
        return ""
    return text if is_object_text(text) else ""


RULE = Rule(
    name=NAME,
    states="The arguments of a function call are a JSON object.",
    check=check,
    mend=mend,
    mends="reads Python literals, trailing commas and empty text; anything else is kept whole "
    "under `value`",
)
