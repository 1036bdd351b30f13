"""JSON as models write it: with commas too many, quotes too few, words around it, no end."""

from __future__ import annotations

import re
from typing import TypeAlias

import msgspec

Value: TypeAlias = str | list["Value"] | dict[str, "Value"]
"""Numbers, booleans and null are read as their letters: only words are wanted."""

_START = re.compile(r"[{\[]\s*[\"'“{\[]")
_STOP = re.compile(r"[\"\\]")
_BARE = re.compile(r"[^,:{}\[\]\"\n]+")
_BLANK = re.compile(r"[\s,]*")
_SPACE = re.compile(r"\s*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\n", "b": " ", "f": " ", "/": "/", '"': '"', "\\": "\\"}
_HALF = re.compile("[\ud800-\udfff]")
_DEEPEST = 12
_MOST_STARTS = 4
_STRICT = msgspec.json.Decoder()


def read_json(text: str) -> Value | None:
    """Return the first JSON object or list in a text, as far as it goes; None where none begins.

    Commas may be missing or too many, a bracket may be missing at the end, a string may hold line
    breaks and quotes. Linear in the text.
    """
    strict = _strictly(text)
    if strict is not None:
        return strict
    best: Value | None = None
    at = 0
    for _ in range(_MOST_STARTS):
        found = _START.search(text, at)
        if found is None:
            break
        reader = _Reader(text, found.start())
        value = reader.value(0)
        if best is None or _size(value) > _size(best):
            best = value
        at = reader.at
    return best


def _strictly(text: str) -> Value | None:
    body = text.strip()
    if body[:1] not in ("{", "["):
        return None
    try:
        return _as_value(_STRICT.decode(body), 0)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _as_value(value: object, depth: int) -> Value:
    if depth > _DEEPEST:
        return ""
    if isinstance(value, dict):
        pairs: dict[object, object] = value  # pyright: ignore[reportUnknownVariableType]
        return {str(key): _as_value(one, depth + 1) for key, one in pairs.items()}
    if isinstance(value, list):
        rows: list[object] = value  # pyright: ignore[reportUnknownVariableType]
        return [_as_value(one, depth + 1) for one in rows]
    return "" if value is None else str(value)


def _size(value: Value) -> int:
    return 1 if isinstance(value, str) else len(value) + 1


class _Reader:
    """A text and how far it is read; every step reads on."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def value(self, depth: int) -> Value:
        match self._next(_SPACE):
            case "{" if depth < _DEEPEST:
                return self._object(depth)
            case "[" if depth < _DEEPEST:
                return self._list(depth)
            case '"' | "“" | "'":
                return self._string()
            case _:
                return self._bare()

    def _object(self, depth: int) -> Value:
        self.at += 1
        found: dict[str, Value] = {}
        while True:
            mark = self._next(_BLANK)
            if mark in ("", "]"):
                return found
            if mark == "}":
                self.at += 1
                return found
            key = self._string() if mark in ('"', "“", "'") else self._bare()
            if self._next(_SPACE) == ":":
                self.at += 1
                self._put(found, key, self.value(depth + 1))

    def _put(self, found: dict[str, Value], key: str, value: Value) -> None:
        before = found.get(key)
        if isinstance(before, list) and isinstance(value, list):
            before.extend(value)
        else:
            found[key] = value

    def _list(self, depth: int) -> Value:
        self.at += 1
        found: list[Value] = []
        while True:
            mark = self._next(_BLANK)
            if mark in ("", "}"):
                return found
            if mark == "]":
                self.at += 1
                return found
            found.append(self.value(depth + 1))

    def _next(self, blank: re.Pattern[str]) -> str:
        found = blank.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def _string(self) -> str:
        """Read a string; a quote ends it where a sign of JSON follows, or nothing."""
        mark = self.text[self.at]
        self.at += 1
        if mark != '"':
            return self._until("”" if mark == "“" else mark)
        pieces: list[str] = []
        start = self.at
        while True:
            found = _STOP.search(self.text, self.at)
            if found is None:
                pieces.append(self.text[start:])
                self.at = len(self.text)
                return _with_pairs("".join(pieces))
            self.at = found.end()
            if found.group() == "\\":
                pieces.append(self.text[start : found.start()])
                pieces.append(self._escaped())
                start = self.at
            elif self._ends():
                pieces.append(self.text[start : found.start()])
                return _with_pairs("".join(pieces))

    def _until(self, mark: str) -> str:
        end = self.text.find(mark, self.at)
        stop = end if end >= 0 else len(self.text)
        words = self.text[self.at : stop]
        self.at = stop + 1
        return words

    def _escaped(self) -> str:
        sign = self.text[self.at : self.at + 1]
        self.at += 1
        if sign != "u":
            return _ESCAPES.get(sign, sign)
        digits = self.text[self.at : self.at + 4]
        try:
            code = int(digits, 16)
        except ValueError:
            return ""
        self.at += 4
        return chr(code)

    def _ends(self) -> bool:
        found = _SPACE.match(self.text, self.at)
        after = found.end() if found else self.at
        return self.text[after : after + 1] in ("", ",", ":", "}", "]")

    def _bare(self) -> str:
        found = _BARE.match(self.text, self.at)
        if found is None:
            self.at += 1
            return ""
        self.at = found.end()
        return found.group().strip()


def _with_pairs(text: str) -> str:
    """Return a text in which two escapes that are halves of one sign are that sign."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
