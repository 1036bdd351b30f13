"""Structured data that is not quite JSON: as models write it, and as tools print it.

Both readers are linear, whatever they are given: a server or a file may send anything.
"""

from __future__ import annotations

import re
from typing import TypeAlias

import msgspec
from msgspec import Struct

from foldaway._core.regex import Regex

Value: TypeAlias = str | list["Value"] | dict[str, "Value"]
"""Numbers, booleans and null are read as their letters: only words are wanted."""

_START = Regex(r"[{\[]\s*(?:[\"'“{\[]|\w{1,64}\s*:)")
"""A bracket and what may follow it: a string, another bracket, or a key without quotes."""
_STOP = Regex(r"[\"\\]")
_BARE = Regex(r"[^,:{}\[\]\"\n]+")
_BLANK = Regex(r"[\s,]*")
_SPACE = Regex(r"\s*")
_NEXT_KEY = Regex(r"\s*+\"[^\"\\\n]{1,64}\"\s*+:")
"""After the quote that ends a value, if the comma was forgotten."""
_NEXT_ITEM = Regex(r"[^\S\n]*+\n\s*+[\"{\[]")
"""The same in a list: the next item is on a line of its own."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\n", "b": " ", "f": " ", "/": "/", '"': '"', "\\": "\\"}
_HALF = Regex("[\ud800-\udfff]")
_DEEPEST = 12
"""Brackets within each other; a note has four."""
_MOST_STARTS = 4
"""Brackets in the words before the answer that are tried as its beginning."""
_STRICT = msgspec.json.Decoder()
_TOKEN = Regex(
    r"""\s*+(?:(?P<open>[\[{(])|(?P<close>[\]})])|(?P<comma>,)|(?P<colon>:)|"""
    r"""[bru]?"(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)"?+|"""
    r"""[bru]?'(?P<single>[^'\\]*+(?:\\.[^'\\]*+)*+)'?+|"""
    r"""(?P<bare>[^\s,:\[\]{}()"']++)|.|\Z)""",
    re.S,
)
_LITERAL = Regex(r"-?\d[\d.eE+-]*|None|True|False|null|true|false|NaN|nan|inf|\.{3}|…")
_MOST_DEPTH = 64
"""Of a value of a tool result; deeper ones are left out."""


def read_json(text: str) -> Value | None:
    """Return the first JSON object or list in a text, as far as it goes; None if none begins.

    Commas may be missing or too many, keys may have no quotes, brackets may be missing at the end,
    and a string may contain line breaks and quotes.
    """
    strict = _parse_strictly(text)
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


def read_loose_value(text: str) -> Value:
    """Return the data that a text begins with, as far as it can be told; "" if it is a text.

    For results of tools: Python's own form of data, rows of a table, JSON that was cut off. Reading
    ends at the first word that no such value could hold: then it is a text after all.
    """
    root: list[Value] = []
    levels: list[_Level] = [_Level(root)]
    pending: str | None = None
    for match in _TOKEN.finditer(text):
        kind, here = match.lastgroup, levels[-1]
        if kind in ("double", "single", "bare"):
            if kind == "bare" and not _LITERAL.fullmatch(match["bare"]):
                if text[match.end() : match.end() + 1] != "(":
                    break
                continue
            if pending is not None or here.values is root:
                break
            pending = match[kind]
        elif kind == "colon" and isinstance(here.values, dict):
            here.key, pending = pending or "", None
        elif kind in ("comma", "close") and here.values is not root:
            if pending is not None:
                here.put(pending)
            pending = None
            if kind == "close":
                levels.pop()
        elif kind == "open" and len(levels) <= _MOST_DEPTH:
            below: Value = {} if match["open"] == "{" else []
            here.put(below)
            levels.append(_Level(below))
            pending = None
    else:
        if pending is not None:
            levels[-1].put(pending)
    return root[0] if root else ""


def _parse_strictly(text: str) -> Value | None:
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

    def value(self, depth: int, *, in_list: bool = False) -> Value:
        match self._skip_blanks(_SPACE):
            case "{" if depth < _DEEPEST:
                return self._object(depth)
            case "[" if depth < _DEEPEST:
                return self._list(depth)
            case '"' | "“" | "'":
                return self._string(in_list=in_list)
            case _:
                return self._read_bare()

    def _object(self, depth: int) -> Value:
        self.at += 1
        found: dict[str, Value] = {}
        while True:
            mark = self._skip_blanks(_BLANK)
            if mark in ("", "]"):
                return found
            if mark == "}":
                self.at += 1
                return found
            key = self._string() if mark in ('"', "“", "'") else self._read_bare()
            if self._skip_blanks(_SPACE) == ":":
                self.at += 1
                self._add_pair(found, key, self.value(depth + 1))

    def _add_pair(self, found: dict[str, Value], key: str, value: Value) -> None:
        before = found.get(key)
        if isinstance(before, list) and isinstance(value, list):
            before.extend(value)
        else:
            found[key] = value

    def _list(self, depth: int) -> Value:
        self.at += 1
        found: list[Value] = []
        while True:
            mark = self._skip_blanks(_BLANK)
            if mark in ("", "}"):
                return found
            if mark == "]":
                self.at += 1
                return found
            found.append(self.value(depth + 1, in_list=True))

    def _skip_blanks(self, blank: Regex[str]) -> str:
        found = blank.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def _string(self, *, in_list: bool = False) -> str:
        """Read a string; a quote ends it if a sign of JSON follows, the next key, or nothing."""
        mark = self.text[self.at]
        self.at += 1
        if mark != '"':
            return self._read_until("”" if mark == "“" else mark)
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
                pieces.append(self._read_escape())
                start = self.at
            elif self._ends(in_list=in_list):
                pieces.append(self.text[start : found.start()])
                return _with_pairs("".join(pieces))

    def _read_until(self, mark: str) -> str:
        end = self.text.find(mark, self.at)
        stop = end if end >= 0 else len(self.text)
        words = self.text[self.at : stop]
        self.at = stop + 1
        return words

    def _read_escape(self) -> str:
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

    def _ends(self, *, in_list: bool) -> bool:
        found = _SPACE.match(self.text, self.at)
        after = found.end() if found else self.at
        if self.text[after : after + 1] in ("", ",", ":", "}", "]"):
            return True
        pattern = _NEXT_ITEM if in_list else _NEXT_KEY
        return pattern.match(self.text, self.at) is not None

    def _read_bare(self) -> str:
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


class _Level(Struct):
    """An open bracket, and the key of what comes next in it."""

    values: list[Value] | dict[str, Value]
    key: str = ""

    def put(self, value: Value) -> None:
        """Add the next value."""
        if isinstance(self.values, dict):
            self.values[self.key] = value
        else:
            self.values.append(value)
