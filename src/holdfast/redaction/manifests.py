"""The values of Kubernetes Secrets: what stands under `stringData:` and `data:` in a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_QUOTES = ('"', "'", r"\"", r"\\\"")
SECRETS = (
    *(f"{q}kind{q}:{blank}{q}secret{q}" for q in _QUOTES for blank in (" ", "")),
    "kind: secret", 'kind: "secret"', "kind: 'secret'",
)  # fmt: skip
"""How a manifest says that it is a Secret, in JSON and in YAML."""
NEAR = 512
REACH = 8192
"""So far before and after its kind a manifest is read: no more than a stream looks back."""


def values_of_secret(data: bytes, at: int) -> tuple[list[tuple[int, int]], int]:
    """Return the values of the Secret whose kind stands at `at`, and how many bytes were read.

    All of `stringData` counts, except for variables of templates, and of `data` what is base64.
    """
    kind = _KIND.match(data, at)
    if kind is None:
        return [], 0
    low, high = max(0, at - REACH), min(len(data), at + REACH)
    if _SECTION.search(data, low, high) is None:
        return [], A_LOOK
    found = _in_object(data, at, kind[1], low, high) if kind[1] else _in_lines(data, at, low, high)
    values, first, last = found
    return [(v.start, v.end) for v in values if _is_secret(v, data[v.start : v.end])], last - first


A_LOOK = 256
"""What the search for a section costs, in bytes that are read with care."""
_SECTION = re.compile(rb"""(?:stringD|d)ata\\*+["']?:""")
_KIND = re.compile(rb"""(\\*+["'])?kind(?:\1)?: ?(\\*+["'])?Secret(?(2)\2|[ \t\r]*+(?:[\n#]|\Z))""")


class _Value(NamedTuple):
    section: bytes
    start: int
    end: int


_Found = tuple[list[_Value], int, int]
"""The values, and from where to where they were looked for."""


def _is_secret(one: _Value, value: bytes) -> bool:
    if not value or b"\x00" in value:
        return False
    if one.section == b"data":
        body = _BLANKS.sub(b"", value)
        return len(body) % 4 == 0 and _BASE64.fullmatch(body) is not None
    return _TEMPLATE.fullmatch(value) is None


_TEMPLATE = re.compile(rb"\$\{[^{}\n]*\}|\$\([^()\n]*\)|\$\w+|\{\{[^\n]*\}\}|<[^<>\n]*>")
_BLANKS = re.compile(rb"\s|\\n")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")
_SECTIONS = (b"data", b"stringData")


def _in_object(data: bytes, at: int, quote: bytes, low: int, high: int) -> _Found:
    """Return the values of the object of JSON that has its kind at `at`."""
    near = max(low, at - NEAR)  # most objects start there
    start = _object_start(data, at, quote, near) or _object_start(data, at, quote, low)
    if start is None:
        return [], low, at
    found: list[_Value] = []
    depth = 0
    tokens, opened, entry = _patterns(quote)
    end = high
    for token in tokens.finditer(data, start, high):
        end = token.end()
        if token[1] is None:
            depth += 1 if token[0] in b"{[" else -1
            if depth < 0:
                break
        elif not depth and token[1] in _SECTIONS and (brace := opened.match(data, end, high)):
            last = brace.end()
            while (pair := entry.match(data, last, high)) is not None:
                last = pair.end()
                found.append(_Value(token[1], *pair.span(2)))
    return found, start, end


@lru_cache(maxsize=len(_QUOTES))
def _patterns(quote: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes], re.Pattern[bytes]]:
    """Return what reads JSON with such quotes: a token, the start of an object, an entry of it.

    A quote with as many backslashes as the first one closes a string; pairs of escaped backslashes
    may stand before them, and other quotes with more belong to the value.
    """
    depth = len(quote) - 1
    parts = {
        b"quote": quote[-1:],
        b"first": rb"\\{%d}" % depth + quote[-1:],
        b"more": rb"\\{%d,}+" % (depth + 1) + quote[-1:],
        b"pairs": rb"(?:\\{%d})*+" % (2 * depth + 2),
    }
    string = (
        rb"%(first)b((?:[^\\%(quote)b\r\n]++|(?!%(pairs)b%(first)b)(?:\\++(?!%(quote)b)|%(more)b))*+"
        rb"%(pairs)b)%(first)b" % parts
    )
    blank = rb"(?:\s|\\+[nrt])*+"
    colon = blank + rb":" + blank
    return (
        re.compile(string + rb"|[{}\[\]]"),
        re.compile(colon + rb"\{"),
        re.compile(blank + string + colon + string + blank + rb",?"),
    )


def _object_start(data: bytes, at: int, quote: bytes, low: int) -> int | None:
    """Return where the object starts that has a key at `at`, reading backwards."""
    level, depth, inside = len(quote) - 1, 0, False
    backwards = data[low:at][::-1]
    for sign in _BACKWARDS[quote[-1:]].finditer(backwards):
        slashes = len(sign[0]) - 1
        if sign[0].startswith(quote[-1:]):
            inside ^= slashes % (2 * level + 2) == level
        elif not inside:
            depth += 1 if sign[0] == b"}" else -1
            if depth < 0:
                return at - sign.start()
    return None


_BACKWARDS = {quote: re.compile(rb"[{}]|%b\\*+" % quote) for quote in (b'"', b"'")}


class _Line(NamedTuple):
    start: int
    end: int
    first: int
    """Where it begins after the number of a listing, the sign of a diff and its blanks."""
    column: int
    key: bytes
    rest: int
    """Where the value of its key starts."""
    is_item: bool
    """Whether it starts an item of a list."""
    is_blank: bool


def _in_lines(data: bytes, at: int, low: int, high: int) -> _Found:
    """Return the values of the YAML map that has its kind at `at`."""
    kind = _line_at(data, data.rfind(b"\n", low, at) + 1, high)
    if kind.key != b"kind":
        return [], low, low
    lines = [*reversed(list(_above(data, kind, low))), kind, *_below(data, kind, high)]
    return list(_values(data, lines, kind.column)), lines[0].start, lines[-1].end


def _above(data: bytes, kind: _Line, low: int) -> Iterator[_Line]:
    line = kind
    while line.start > low and not (line.is_item and line.column == kind.column):
        start = data.rfind(b"\n", low, line.start - 1) + 1
        line = _line_at(data, max(low, start), line.start)
        if _is_other(line, kind):
            return
        yield line


def _below(data: bytes, kind: _Line, high: int) -> Iterator[_Line]:
    start = kind.end + 1
    while start < high:
        line = _line_at(data, start, high)
        if _is_other(line, kind) or (line.is_item and line.column == kind.column):
            return
        yield line
        start = line.end + 1


def _is_other(line: _Line, kind: _Line) -> bool:
    """Whether a line is of another map than the one of `kind`; a map has one kind."""
    is_kind = line.column == kind.column and line.key == kind.key
    return not line.is_blank and (line.column < kind.column or is_kind)


def _line_at(data: bytes, start: int, high: int) -> _Line:
    end = data.find(b"\n", start, high)
    end = high if end < 0 else end
    parts = _PARTS.match(data, start, end)
    assert parts is not None  # all of it is optional
    column, first = len(parts[1]), parts.end(1)
    if data.startswith(b"---", first):  # another document
        column = -1
    blank = not data[first:end].strip() or data.startswith(b"#", first)
    key = (parts[2] or b"").strip(b"\"'")
    return _Line(start, end, first, column, key, parts.end(), b"-" in parts[1], blank)


_PARTS = re.compile(
    rb"(?:[ ]{0,8}[0-9]{1,6}(?:\t|\xe2\x86\x92|[:|][ ]?))?\+?"
    rb"""([ ]*+(?:-[ ]++)*+)(?:(["']?[\w./-]++["']?):(?:[ \t]++|(?=\r?\Z)))?"""
)


def _values(data: bytes, lines: list[_Line], column: int) -> Iterator[_Value]:
    """Yield the values of both sections, each with the lines on which it goes on."""
    section, inner = b"", 0
    entry: list[_Line] = []
    for line in lines:
        if line.is_blank:
            continue
        is_key = bool(section and line.key) and inner in (0, line.column)
        if line.column > column and not is_key:
            entry += [line] if entry else []
            continue
        if entry:
            yield _value_of(data, section, entry)
        entry = [line] if line.column > column else []
        inner = line.column if entry else 0
        if not entry:
            section = line.key if line.key in _SECTIONS else b""
    if entry:
        yield _value_of(data, section, entry)


def _value_of(data: bytes, section: bytes, entry: list[_Line]) -> _Value:
    """Return the value of a key: on its line, in quotes or not, or in a block below it."""
    start, end = entry[0].rest, entry[-1].end
    if len(entry) > 1 and _BLOCK.match(data, start, entry[0].end):
        start = entry[1].first
    text = data[start:end].rstrip()
    quote = text[:1]
    closed = text.rfind(quote, 1) if quote in (b'"', b"'") else -1
    if closed > 0:
        return _Value(section, start + 1, start + closed)
    comment = text.find(b" #") if len(entry) == 1 else -1
    return _Value(section, start, start + len(text[:comment].rstrip() if comment >= 0 else text))


_BLOCK = re.compile(rb"(?:!!?\w*[ ]?)?(?:[|>][+-]?[0-9]?[+-]?)?[ \t\r]*+\Z")
