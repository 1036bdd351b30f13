"""What of a message a search finds it by, and the piece of it that shows why."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, cast

import msgspec
from msgspec import Struct

from foldaway.search.values import Term
from foldaway.search.words import MOST_PLACES, flatten, places
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


_BLANKS = re.compile(r"\s+")
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\x80-\x9f]")
"""Marks that turn the direction of writing, with which a text could show as another."""
_JOINER = "\u200d"
_WORD_CHARS = 24
"""How far a cut moves to fall between words."""
_CLUSTER_CHARS = 32
_FLAG_CHARS = 4_096
"""How long a row of flags is looked at, to tell which two letters are one."""


class Snippet(Struct, frozen=True, gc=False):
    """A piece of a text. `marks` are the places of the terms in it, first and one past the last."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()
    starts: bool = True
    """Whether it is the beginning of the text."""
    ends: bool = True


def snippet(
    text: str, terms: Sequence[Term], most: int = 240, *, keeps_lines: bool = False
) -> Snippet:
    """Return at most `most` characters of a text around the place with most of the terms.

    Blanks are single blanks, and line ends are too unless `keeps_lines`; terminal codes and control
    characters are gone. What a reader sees as one character is not parted.
    """
    text = _DIRECTIONS.sub("", clean(text))
    start = _begin(text, _find_best_window(text, terms, most), most)
    stop = _boundary(text, min(start + most, len(text)), forward=False)
    if stop <= start:
        stop = min(start + most, len(text))
    lines = text[start:stop].split("\n") if keeps_lines else [text[start:stop]]
    piece = "\n".join(filter(None, (_BLANKS.sub(" ", line).strip() for line in lines)))
    return Snippet(piece, _marks(piece, terms), start == 0, stop >= len(text))


def _find_best_window(text: str, terms: Sequence[Term], most: int) -> tuple[int, int]:
    """Return the first and last place of the window that holds the most different terms."""
    flattened = flatten(text)
    spans = sorted(
        (start, stop, number)
        for number, term in enumerate(terms)
        for start, stop in islice(places(text, flattened, term), MOST_PLACES)
    )
    best, best_value = (0, 0), (0, 0)
    left = 0
    inside: dict[int, int] = {}
    for start, stop, number in spans:
        inside[number] = inside.get(number, 0) + 1
        while stop - spans[left][0] > most * 2 // 3 and spans[left][0] < start:
            gone = spans[left][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            left += 1
        value = (len(inside), sum(inside.values()))
        if value > best_value:
            best, best_value = (spans[left][0], stop), value
    return best


def _begin(text: str, best: tuple[int, int], most: int) -> int:
    """Return where to start, so that the place stands in the middle and a word is whole."""
    if len(text) <= most:
        return 0
    start = best[0] - max((most - (best[1] - best[0])) // 2, 0)
    start = min(max(start, 0), len(text) - most)
    if start == 0:
        return 0
    found = _BLANKS.search(text, start, min(start + _WORD_CHARS, best[0]))
    return _boundary(text, found.end() if found else start, forward=True)


def _boundary(text: str, at: int, *, forward: bool) -> int:
    """Return the next place where no cluster of characters is parted."""
    if not forward and at < len(text):
        blank = text.rfind(" ", max(at - _WORD_CHARS, 0), at)
        at = blank if blank > 0 else at
    for _ in range(_CLUSTER_CHARS):
        if at <= 0 or at >= len(text) or not _parts(text, at):
            break
        at += 1 if forward else -1
    return at


def _parts(text: str, at: int) -> bool:
    """Whether a cut before `at` parts a letter from its accents or an emoji from its rest."""
    char, before = text[at], text[at - 1]
    if char == _JOINER or before == _JOINER or "\U0001f3fb" <= char <= "\U0001f3ff":
        return True
    if _is_flag(char) and _is_flag(before):
        run = 0
        while run < min(at, _FLAG_CHARS) and _is_flag(text[at - 1 - run]):
            run += 1
        return run % 2 == 1
    return unicodedata.category(char)[0] == "M"


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _marks(piece: str, terms: Sequence[Term]) -> tuple[tuple[int, int], ...]:
    """Return the places of all terms, those that touch or overlap as one."""
    flattened = flatten(piece)
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(
        span for term in terms if not term.small for span in places(piece, flattened, term)
    ):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return tuple(merged)
