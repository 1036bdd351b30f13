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
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec
from msgspec import Raw

from holdfast.dialects.jsontext import dump_text, is_object_text
from holdfast.dialects.shape import object_text
from holdfast.transcript import Part, Payload, Text, Thinking, ToolCall, ToolResult

_AT = "value"
_THOUGHT = re.compile(r"\s*<(think|thinking|REASONING_SCRATCHPAD)>")
_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_ELEMENTS = msgspec.json.Decoder(list[Raw])
_RESULT_KEYS = frozenset({"tool_call_id", "name", "content", "is_error"})
_LONGEST_LITERAL_CHARS = 1_000_000
"""Python quoting beyond this stays text: `ast` takes some hundred bytes a character."""


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
            body = _inner(value[opening.end() : close])
            wire = {"source": value[:start], "tag": tag}
            parts.append(Thinking(body, "", False, _AT, wire))
    segments = _Segments(value, start, parts)
    for at, end, body in _tagged(value, "<tool_call>", "</tool_call>", start):
        call = read_call(body)
        if call is not None:
            segments.add(at, end, call)
    return segments.finish()


def read_results(value: str) -> list[Part]:
    """Return the results in a tool turn; one that holds the whole text where there are no tags."""
    parts: list[Part] = []
    if "<tool_response>" in value:
        segments = _Segments(value, 0, parts)
        for at, end, body in _tagged(value, "<tool_response>", "</tool_response>", 0):
            segments.add(at, end, _result(_inner(body)))
        segments.finish()
    if not any(isinstance(part, ToolResult) for part in parts):
        return [_with_source(_result(value), value, bare=True)]
    return parts


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


def read_call(text: str) -> ToolCall | None:
    """Return the call in the text of a tag, without an id unless it gives one; None where the
    text is no call.
    """
    fields = _exact_fields(text)
    if fields is not None:
        name, arguments = _string(fields.get("name")), fields.get("arguments")
        given = _arguments_text(arguments)
        own_id = _string(fields.get("id"))
    else:
        loose = _loose_object(text)
        if loose is None:
            return None
        name, arguments, own_id = loose.get("name"), loose.get("arguments"), loose.get("id")
        given = arguments if isinstance(arguments, str) else object_text(arguments)
    if not isinstance(name, str) or not name:
        return None
    own_id = own_id if isinstance(own_id, str) else ""
    return ToolCall(own_id, name, given, at=_AT, wire={"source": text, "has_id": bool(own_id)})


def write_call(call: ToolCall) -> str:
    """Return the JSON of a call; its id stands in it only where it was read from there."""
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


def _tagged(value: str, opens: str, closes: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield where each tag begins and ends, and what is in it; linear in the text."""
    while (at := value.find(opens, start)) >= 0:
        inner = at + len(opens)
        close = value.find(closes, inner)
        if close < 0:
            return
        start = close + len(closes)
        yield at, start, value[inner:close]


class _Segments:
    """Cuts a text at its tags; what stands between them is text, or goes with the next tag."""

    __slots__ = ("_at", "_parts", "_value")

    def __init__(self, value: str, at: int, parts: list[Part]) -> None:
        self._value = value
        self._at = at
        self._parts = parts

    def add(self, start: int, end: int, part: ToolCall | ToolResult) -> None:
        """Take a tag from `start` to `end`."""
        lead = self._between(start)
        self._parts.append(_with_source(part, lead + self._value[start:end]))
        self._at = end

    def finish(self) -> list[Part]:
        """Take what is left after the last tag."""
        rest = self._between(len(self._value))
        if rest and self._parts:
            last = self._parts[-1]
            assert isinstance(last, (Text, Thinking, ToolCall, ToolResult))
            source = last.wire["source"] if last.wire is not None else ""
            self._parts[-1] = _with_source(last, source + rest)
        elif rest:
            self._parts.append(Text(rest, _AT))
        return self._parts

    def _between(self, end: int) -> str:
        """Add the words up to `end` as text; return them instead where they are blank."""
        gap = self._value[self._at : end]
        if not gap or gap.isspace():
            return gap
        text = gap
        if self._parts:
            after_thought = isinstance(self._parts[-1], Thinking)
            text = text.lstrip("\n") if after_thought else text.removeprefix("\n")
        if end < len(self._value):
            text = text.removesuffix("\n")
        whole = gap == self._value
        self._parts.append(Text(text, _AT, None if whole else {"source": gap}))
        return ""


def _with_source(part: Any, source: str, *, bare: bool = False) -> Any:
    wire: Payload = {**(part.wire or {}), "source": source}
    if bare:
        wire["untagged"] = True
    return msgspec.structs.replace(part, wire=wire)


def _inner(body: str) -> str:
    return body.removeprefix("\n").removesuffix("\n")


def _result(text: str) -> ToolResult:
    """Return a result without an id unless the text gives one."""
    found = _loose_json(text) if text.lstrip()[:1] == "{" else None
    if not isinstance(found, dict) or not _is_result(found):
        return ToolResult("", (Text(text, _AT),) if text else (), at=_AT, wire={"plain": True})
    content = found["content"]
    words = content if isinstance(content, str) else dump_text(content)
    call, name = found.get("tool_call_id"), found.get("name")
    return ToolResult(
        call if isinstance(call, str) else "", (Text(words, _AT),) if words else (),
        found.get("is_error") is True, name if isinstance(name, str) else "", "function", _AT, {},
    )  # fmt: skip


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
    return msgspec.json.decode(piece) if text.startswith('"') else object_text(_loose_json(text))


def _loose_object(text: str) -> Payload | None:
    found = _loose_json(text)
    if found is None and len(text) <= _LONGEST_LITERAL_CHARS:
        found = _python_literal(text.strip())
    return found if isinstance(found, dict) else None


def _loose_json(text: str) -> Any:
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
