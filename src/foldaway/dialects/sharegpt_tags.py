"""What ShareGPT writes inside a turn's text: calls, results and thoughts in tags.

A tag that does not parse is no error: it stays text. Every part keeps the exact text that it was
read from under `source`, so that the turn's text is the join of its sources.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec
from msgspec import Raw

from foldaway.dialects.jsontext import dump_text, is_object_text
from foldaway.dialects.shape import object_text
from foldaway.transcript import Part, Payload, Text, Thinking, ToolCall, ToolResult

_AT = "value"
_THOUGHT = re.compile(r"\s*<(think|thinking|REASONING_SCRATCHPAD)>")
_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ELEMENTS = msgspec.json.Decoder(list[Raw])
_RESULT_KEYS = frozenset({"tool_call_id", "name", "content", "is_error"})
_LONGEST_LITERAL_CHARS = 1_000_000
"""Python quoting beyond this stays text: `ast` takes some hundred bytes a character."""


class _Call(msgspec.Struct, gc=False):
    """A call as it is usually written; anything else is read loosely."""

    name: str
    arguments: Raw = Raw(b"{}")
    id: str = ""


class _Answer(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A result as it is usually written; anything else is read loosely."""

    content: str
    name: str = ""
    tool_call_id: str = ""
    is_error: bool = False


_CALL = msgspec.json.Decoder(_Call)
_ANSWER = msgspec.json.Decoder(_Answer)


def read_speech(value: str) -> list[Part]:
    """Return the parts of an assistant turn: thoughts at the start, words and calls in order."""
    if "<" not in value:
        return [Text(value, _AT)] if value else []
    parts: list[Part] = []
    start = 0
    opening = _THOUGHT.match(value)
    if opening is not None:
        tag = opening.group(1)
        close = value.find(f"</{tag}>", opening.end())
        if close >= 0:
            start = close + len(tag) + 3
            body = _read_inner(value, opening.end(), close)
            wire = {"source": value[:start], "tag": tag}
            parts.append(Thinking(body, "", False, _AT, wire))
    return _cut(value, start, parts, "<tool_call>", "</tool_call>", read_call)


def read_results(value: str) -> list[Part]:
    """Return the results in a tool turn; one that holds the whole text if there are no tags."""
    if "<tool_response>" in value:
        parts = _cut(value, 0, [], "<tool_response>", "</tool_response>", _result)
        if any(type(part) is ToolResult for part in parts):
            return parts
    found = _result(value, value)
    assert found.wire is not None
    found.wire["untagged"] = True
    return [found]


def _cut(
    value: str,
    start: int,
    parts: list[Part],
    opens: str,
    closes: str,
    read: Callable[[str, str], ToolCall | ToolResult | None],
) -> list[Part]:
    """Cut a text at its tags, from `start` on; linear in the text.

    What stands between two tags is text, or goes with the next one if it is blank. A tag that
    `read` makes nothing of stays text.
    """
    done = start
    at = value.find(opens, start)
    while at >= 0:
        inner = at + len(opens)
        close = value.find(closes, inner)
        if close < 0:
            break
        end = close + len(closes)
        gap = value[done:at]
        blank = not gap or gap.isspace()
        part = read(_read_inner(value, inner, close), value[done if blank else at : end])
        if part is not None:
            if not blank:
                parts.append(_words(gap, parts, value, last=False))
            parts.append(part)
            done = end
        at = value.find(opens, end)
    rest = value[done:]
    if rest and not rest.isspace():
        parts.append(_words(rest, parts, value, last=True))
    elif rest and parts:
        parts[-1] = _with_tail(parts[-1], rest)
    elif rest:
        parts.append(Text(rest, _AT))
    return parts


def _words(gap: str, parts: list[Part], value: str, *, last: bool) -> Text:
    """Return the text between two tags, without the line breaks that set it apart from them."""
    text = gap
    if parts:
        after_thought = type(parts[-1]) is Thinking
        text = text.lstrip("\n") if after_thought else text.removeprefix("\n")
    if not last:
        text = text.removesuffix("\n")
    return Text(text, _AT, None if len(gap) == len(value) else {"source": gap})


def _with_tail(part: Any, tail: str) -> Any:
    source: str = part.wire["source"] if part.wire is not None else ""
    return msgspec.structs.replace(part, wire={**(part.wire or {}), "source": source + tail})


def read_call_turn(value: str) -> list[Part]:
    """Return the calls of a `function_call` turn: one JSON object, or a list of them."""
    text = value.strip()
    if text.startswith("["):
        try:
            pieces = [bytes(piece).decode() for piece in _ELEMENTS.decode(text)]
        except (msgspec.DecodeError, UnicodeEncodeError):
            pieces = []
    else:
        pieces = [text]
    calls = [read_call(piece) for piece in pieces]
    found = [call for call in calls if call is not None]
    if not found or len(found) < len(calls):
        return [Text(value, _AT)] if value else []
    return list[Part](found)


def read_call(text: str, source: str = "") -> ToolCall | None:
    """Return the call in the text of a tag, without an id unless it gives one; None where the
    text is no call. `source` is the text with its tag.
    """
    try:
        call = _CALL.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return _read_loose_call(text, source or text)
    if not call.name:
        return None
    wire = {"source": source or text, "has_id": bool(call.id)}
    arguments = _arguments_text(call.arguments)
    return ToolCall(call.id, call.name, arguments, "function", "", _AT, wire)


def _read_loose_call(text: str, source: str) -> ToolCall | None:
    fields = _exact_fields(text)
    if fields is not None:
        name, arguments = _string(fields.get("name")), fields.get("arguments")
        given = _arguments_text(arguments)
        own_id = _string(fields.get("id"))
    else:
        loose = _read_loose_object(text)
        if loose is None:
            return None
        name, arguments, own_id = loose.get("name"), loose.get("arguments"), loose.get("id")
        given = arguments if isinstance(arguments, str) else object_text(arguments)
    if not isinstance(name, str) or not name:
        return None
    own_id = own_id if isinstance(own_id, str) else ""
    return ToolCall(own_id, name, given, at=_AT, wire={"source": source, "has_id": bool(own_id)})


def write_call(call: ToolCall) -> str:
    """Return the JSON of a call; it has an id only if the id was read from there."""
    own_id = f'"id":{dump_text(call.id)},' if call.wire and call.wire.get("has_id") else ""
    exact = is_object_text(call.arguments) and call.kind != "custom"
    arguments = call.arguments if exact else dump_text(call.arguments)
    text = f'{{{own_id}"name":{dump_text(call.name)},"arguments":{arguments}}}'
    return text.replace("</", "<\\/")


def write_result(result: ToolResult) -> str:
    """Return the text of a result: as plain as it was read, otherwise a JSON object."""
    content = "\n".join(part.text for part in result.parts if isinstance(part, Text))
    if result.wire is not None and result.wire.get("plain"):
        return content
    fields: dict[str, Any] = {}
    if not result.call_id.startswith("~"):
        fields["tool_call_id"] = result.call_id
    fields["name"] = result.name
    fields["content"] = content
    if result.is_error:
        fields["is_error"] = True
    return dump_text(fields).replace("</", "<\\/")


def _read_inner(value: str, start: int, stop: int) -> str:
    """Return what is in a tag, without the line breaks that set it apart; copied only once."""
    if value.startswith("\n", start, stop):
        start += 1
    if value.endswith("\n", start, stop):
        stop -= 1
    return value[start:stop]


def _result(text: str, source: str) -> ToolResult:
    """Return a result without an id unless the text gives one."""
    if text[:1] == "{" and (usual := _read_usual_result(text, source)) is not None:
        return usual
    found = _read_loose_json(text) if text.lstrip()[:1] == "{" else None
    if not isinstance(found, dict) or not _is_result(found):
        wire: Payload = {"plain": True, "source": source}
        parts = (Text(text, _AT),) if text else ()
        return ToolResult("", parts, False, "", "function", _AT, wire)
    content = found["content"]
    words = content if isinstance(content, str) else dump_text(content)
    call, name = found.get("tool_call_id"), found.get("name")
    return ToolResult(
        call if isinstance(call, str) else "",
        (Text(words, _AT),) if words else (),
        found.get("is_error") is True,
        name if isinstance(name, str) else "",
        "function",
        _AT,
        {"source": source},
    )


def _read_usual_result(text: str, source: str) -> ToolResult | None:
    try:
        found = _ANSWER.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    if not found.name and not found.tool_call_id:
        return None
    parts = (Text(found.content, _AT),) if found.content else ()
    return ToolResult(
        found.tool_call_id, parts, found.is_error, found.name, "function", _AT, {"source": source}
    )


def _is_result(found: Payload) -> bool:
    return (
        "content" in found
        and ("tool_call_id" in found or "name" in found)
        and _RESULT_KEYS.issuperset(found)
    )


def _exact_fields(text: str) -> dict[str, Raw] | None:
    """Return the fields of a JSON object as slices, so that numbers stay as they were written."""
    try:
        return _FIELDS.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _string(piece: Raw | None) -> str | None:
    if piece is None or bytes(piece)[:1] != b'"':
        return None
    return msgspec.json.decode(piece)


def _arguments_text(piece: Raw | None) -> str:
    if piece is None:
        return "{}"
    text = bytes(piece).decode()
    if text.startswith("{"):
        return text
    return (
        msgspec.json.decode(piece) if text.startswith('"') else object_text(_read_loose_json(text))
    )


def _read_loose_object(text: str) -> Payload | None:
    found = _read_loose_json(text)
    if found is None and len(text) <= _LONGEST_LITERAL_CHARS:
        found = _python_literal(text.strip())
    return found if isinstance(found, dict) else None


def _read_loose_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _python_literal(text: str) -> Any:
    """Return what a Python literal says, if JSON can say it too."""
    if not text.startswith("{"):
        return None
    try:
        found = ast.literal_eval(text)
        return json.loads(json.dumps(found, allow_nan=False)) if isinstance(found, dict) else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
