"""What of a message a search finds it by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec import Struct

from foldaway.transcript import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

MOST_CHARS = 400_000
"""Of one message. What is longer is found by its first three quarters and its end: errors stand
last in a log."""
_TAIL_CHARS = MOST_CHARS // 4
_MOST_DEPTH = 64
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)?)"
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ue000-\uf8ff\U000f0000-\U0010ffff]+")
"""Signs of icon fonts too: an index takes them for letters of the word beside them."""
_SURROGATE = re.compile("[\ud800-\udfff]+")
_LONG_RUN = 200
_BASE64 = re.compile(rf"[A-Za-z0-9+/\-_]{{{_LONG_RUN},}}+={{0,2}}")
_RUN_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_STEP = 8
_RUN_OF_STEPS = b"\1" * (_LONG_RUN // _STEP)
"""A long run shows also in every eighth character; words hardly ever do."""
_AS_RUN = bytes(1 if code in _RUN_BYTES else 0 for code in range(256))
_CONTROL_BYTES = bytes(
    [*(code for code in range(128) if _CONTROL.match(chr(code))), 0xEE, 0xEF, 0xF3, 0xF4]
)
"""What `_CONTROL` may have to do with, found in a fraction of its time. The last four begin the
signs of icon fonts in UTF-8, and few others."""


class Searchable(Struct, frozen=True, gc=False):
    """The text that is indexed, and the names of the tools that are called or answered for."""

    text: str
    tools: tuple[str, ...]


def extract_searchable(message: Message) -> Searchable:
    """Return what a message is found by: its words, calls, results and reasoning.

    Of a call its name and the values of its arguments, not the syntax of JSON. Neither media nor
    signatures nor what looks like base64. The text is clean and at most `MOST_CHARS` long.
    """
    pieces: list[str] = []
    tools: dict[str, None] = {}
    for part in message.parts:
        _take(part, pieces, tools)
    return Searchable(shorten_text(clean("\n".join(pieces))), tuple(tools))


def clean(text: str) -> str:
    """Return a text without terminal codes; control characters are a blank, halves of surrogate
    pairs are the mark for an unknown character. Doing it twice is doing it once.
    """
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        text = _SURROGATE.sub("\ufffd", text)
        data = text.encode()
    if len(data.translate(None, _CONTROL_BYTES)) < len(data):
        text = _CONTROL.sub(" ", text)
    return text


def shorten_text(text: str) -> str:
    """Return a text of at most `MOST_CHARS` characters: its beginning and its end."""
    if len(text) <= MOST_CHARS:
        return text
    return f"{text[: MOST_CHARS - _TAIL_CHARS - 1]}\n{text[len(text) - _TAIL_CHARS :]}"


def _take(part: Part, pieces: list[str], tools: dict[str, None]) -> None:
    match part:
        case Text(text=text) | Thinking(text=text):
            _add(text, pieces)
        case ToolCall(name=name, arguments=arguments):
            tools[clean(name)] = None
            pieces.append(name)
            for leaf in _leaves(_argument_value(arguments)):
                _add(leaf, pieces)
        case ToolResult(name=name, parts=parts):
            if name:
                tools[clean(name)] = None
            for inner in parts:
                _take(inner, pieces, tools)
        case Media(url=url):
            if url and not url.startswith("data:"):
                pieces.append(url)
        case Opaque():
            pass


def _add(text: str, pieces: list[str]) -> None:
    if text:
        pieces.append(_BASE64.sub(_keep_run, text) if _has_run(text) else text)


def _has_run(text: str) -> bool:
    """Return what `_BASE64` would find, in a fraction of its time."""
    if len(text) < _LONG_RUN:
        return False
    some = text[::_STEP].encode("utf-8", "surrogatepass").translate(_AS_RUN)
    if _RUN_OF_STEPS not in some:
        return False
    data = text.encode("utf-8", "surrogatepass")
    return b"\1" * _LONG_RUN in data.translate(_AS_RUN)


def _keep_run(found: re.Match[str]) -> str:
    """A long run is base64 if it mixes small letters, capitals and digits throughout."""
    run = found[0]
    sample = run[:200]
    mixed = (
        any(char.isdigit() for char in sample)
        and any(char.isupper() for char in sample)
        and any(char.islower() for char in sample)
        and sample.count("/") + sample.count("-") + sample.count("_") < 12
    )
    return " " if mixed else run


def _argument_value(arguments: str) -> object:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return arguments


def _leaves(value: object) -> Iterator[str]:
    """Yield texts and numbers of a JSON value in their order, and the rest of what is too deep."""
    stack: list[tuple[object, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict) and depth < _MOST_DEPTH:
            values = list(cast("dict[str, Any]", item).values())
            stack.extend((inner, depth + 1) for inner in reversed(values))
        elif isinstance(item, list) and depth < _MOST_DEPTH:
            stack.extend((inner, depth + 1) for inner in reversed(cast("list[object]", item)))
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            yield str(item)
