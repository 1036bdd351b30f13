"""Secrets in text of a known structure: headers of cookies, tables, Kubernetes manifests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from foldaway._core import Regex
from foldaway.redaction.gates import is_mixed, is_password, is_unnamed
from foldaway.redaction.matching import Pattern, Range
from foldaway.redaction.names import kind_of, strength_of
from foldaway.redaction.text import MatchResult, Span
from foldaway.redaction.values import is_real, looks_random

COOKIES = (
    "cookie:",
    'cookie":',
    "cookie':",
    'cookie\\":',
    "cookie=",
    'cookie",',
    "--cookie ",
    "-b ",
)
"""Where a `Cookie` or `Set-Cookie` header may start, in lower case."""
_COOKIE = Pattern(r"(?i)-{0,2}(?:cookie|b)[\\\"']{0,7}[ \t]{0,2}[:=, ][ \t]{0,4}[\\\"']{0,7}")
_PAIR = Pattern(r"[ \t]{0,4}([A-Za-z0-9_.%-]{1,80})=([^\s;,\"'\\\x00]*);?")
_COOKIE_NAMES = (
    "sess",
    "sid",
    "token",
    "auth",
    "jwt",
    "csrf",
    "xsrf",
    "remember",
    "login",
    "secret",
    "key",
)
_ATTRIBUTES = frozenset(("path", "domain", "expires", "max-age", "samesite", "priority", "version"))
MAX_PAIRS = 100
MAX_COOKIE = 4096
"""Most cookies of a header and bytes of a cookie that are read; RFC 6265 asks for 50 and 4096."""


_HIDDEN_COOKIE = Regex(
    rb"""(?i)-{0,2}(?:cookie|b)[\\"']{0,7}[ \t]{0,2}[:=, ]"""
    rb"(?:[^=;\r\n\x00]{0,80}=[^=;\r\n\x00]{0,80};){0,4}[^=;\r\n\x00]{1,80}=\x00"
)


def match_cookies(data: bytes, start: int, end: int, covered: int) -> MatchResult | None:
    """Match the secret values of a header of cookies.

    `None` if one of its first values is hidden: then it was redacted before.
    """
    if _HIDDEN_COOKIE.match(data, start):
        return None
    header = _COOKIE.at(data, start)
    if header is None:
        return MatchResult([], 0)
    found: list[Span] = []
    at = header[0][1]
    for _ in range(MAX_PAIRS):
        pair = _PAIR.at(data, at, at + MAX_COOKIE)
        if pair is None:
            break
        name = data[slice(*pair[1])].decode().lower()
        if name not in _ATTRIBUTES and _is_secret_cookie(name, data[slice(*pair[2])]):
            found.append(Span(*pair[2], "cookie"))
        at = pair[0][1]
    return MatchResult(found, at - start)


def _is_secret_cookie(name: str, value: bytes) -> bool:
    if len(value) < 8 or not is_real(value):
        return False
    return any(word in name for word in _COOKIE_NAMES) or (len(value) >= 16 and looks_random(value))


_NAMES = (
    "password",
    "passwd",
    "pwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "access key",
    "api_token",
    "access_token",
    "auth_token",
    "refresh_token",
    "secret_key",
    "private_key",
    "db_password",
    "user_password",
)
_BESIDE = (",{}", ',"{}', "{},", '{}",', "{};", ";{}", ';"{}', "| {}", "{} |", "\t{}", "{}\t")
HEADINGS = tuple(beside.format(name) for name in _NAMES for beside in _BESIDE)
"""Where a column of secrets may begin: a name next to a separator of cells."""
MAX_HEADING = 400
"""Longest heading in bytes."""
MAX_ROWS = 8192
"""How many bytes of rows are read: no more than a stream looks back."""
SHORTEST_CELL = 6
"""Shortest secret of a table."""


def match_table(data: bytes, at: int, stop: int, covered: int) -> MatchResult | None:
    """Match the secret cells below the heading that has a name at `at`; other columns may have
    others.

    Rows have as many cells as the heading. A row in which something is hidden ends the table: so
    redacting a table again reads only rows that were read, and left alone, before.
    """
    start = data.rfind(b"\n", max(0, at - MAX_HEADING), at) + 1
    end = data.find(b"\n", at, at + MAX_HEADING)
    if end < 0 or at - start >= MAX_HEADING:
        return MatchResult([], 0)
    line = data[start:end]
    if b"\x00" in line:
        return MatchResult([], 0)
    if line.translate(None, _IN_HEADING):  # most are code
        return MatchResult([], end - start)
    sign = _sign_at(data, at)
    names = line.split(sign)
    columns = _secret_columns(names)
    # the first of them finds those of the others too
    if not columns or columns[0] != data.count(sign, start, at + 1):
        return MatchResult([], end - start)
    kinds = [kind_of(names[column].decode("latin-1")) for column in columns]
    found: list[Span] = []
    last = end
    for first, last in _lines(data, end + 1, end + MAX_ROWS):
        row = data[first:last]
        if b"\x00" in row or (sign not in row and not _RULER.match(row)):
            break
        cells = row.split(sign) if b'"' not in row else _QUOTED[sign].findall(row)
        if len(cells) != len(names):
            continue
        if _secret_columns(cells):
            break
        for column, kind in zip(columns, kinds, strict=True):
            value = cells[column].strip(_AROUND)
            if _is_secret_cell(value):
                begin = first + sum(map(len, cells[:column])) + column + cells[column].index(value)
                found.append(Span(begin, begin + len(value), kind))
    return MatchResult(found, last - start, covers=False)


def _sign_at(data: bytes, at: int) -> bytes:
    """Return the separator of cells: the one before the name or after it."""
    sign = _SIGN.search(data, at)
    return b"," if sign is None else sign[0]


def _secret_columns(names: list[bytes]) -> list[int]:
    """Return the columns of secrets, if all cells are names as in a heading."""
    framed = not names[0].strip() and not names[-1].strip()
    if len(names) < 2 or not all(map(_NAME.match, names[1:-1] if framed else names)):
        return []
    return [
        column
        for column, name in enumerate(names)
        if strength_of(name.strip(_AROUND).decode("latin-1")) == "strong"
    ]


def _lines(data: bytes, start: int, stop: int) -> Iterator[Range]:
    """Yield the ranges of a table's lines that end before `stop`; a blank line ends it."""
    while start < len(data):
        end = data.find(b"\n", start, stop)
        end = len(data) if end < 0 and len(data) <= stop else end
        if end < 0 or not data[start:end].strip():
            return
        yield start, end
        start = end + 1


def _is_secret_cell(value: bytes) -> bool:
    if len(value) < SHORTEST_CELL or b" " in value:
        return False
    return (is_mixed(value) and is_password(value)) or is_unnamed(value)


_SIGN = Regex(rb"[,;|\t]")
_AROUND = b" \t\r\"'`"
_IN_HEADING = b'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.- \t\r\v\f"`,;|'
"""The characters of names and of separators."""
_NAME = Regex(
    rb"^(?!import |from |select |return )"
    rb'[ \t]*+["`]?[A-Za-z][\w.-]{0,31}(?: [\w.-]{1,16}){0,3}["`]?[ \t\r]*+$'
)
_RULER = Regex(rb"^[\s|+:=-]*+$")
_QUOTED = {
    sign: Regex(rb'(?:^|(?<=\%b))(?:[^\%b"]|"[^"]*")*+' % (sign, sign))
    for sign in (b",", b";", b"|", b"\t")
}
"""The cells of a row in which some are in quotes, by separator."""


_QUOTES = ('"', "'", r"\"", r"\\\"")
MANIFESTS = (
    *(f"{q}kind{q}:{blank}{q}secret{q}" for q in _QUOTES for blank in (" ", "")),
    "kind: secret",
    'kind: "secret"',
    "kind: 'secret'",
)
"""How a Kubernetes manifest says that it is a Secret, in JSON and in YAML."""
NEAR = 512
"""How far before its kind most objects start."""
REACH = 8192
"""How far before and after its kind a manifest is read: no more than a stream looks back."""


def match_manifest(data: bytes, at: int, end: int, covered: int) -> MatchResult | None:
    """Match the values of the Kubernetes Secret whose kind is at `at`; they may be before it.

    These are all values of `stringData` except variables of templates, and those of `data` that
    are base64.
    """
    kind = _KIND.match(data, at)
    if kind is None:
        return MatchResult([], 0)
    low, high = max(0, at - REACH), min(len(data), at + REACH)
    if _SECTION.search(data, low, high) is None:
        return MatchResult([], A_LOOK)
    found = _in_object(data, at, kind[1], low, high) if kind[1] else _in_lines(data, at, low, high)
    values, first, last = found
    spans = [
        Span(v.start, v.end, "secret") for v in values if _is_secret_entry(v, data[v.start : v.end])
    ]
    return MatchResult(spans, last - first, covers=False)


A_LOOK = 256
"""What the search for a section costs, in bytes of a careful reading."""
_SECTION = Regex(rb"""(?:stringD|d)ata\\*+["']?:""")
_KIND = Regex(rb"""(\\*+["'])?kind(?:\1)?: ?(\\*+["'])?Secret(?(2)\2|[ \t\r]*+(?:[\n#]|\Z))""")


class _Value(NamedTuple):
    section: bytes
    start: int
    end: int


_Found = tuple[list[_Value], int, int]
"""The values, and the range that was searched."""


def _is_secret_entry(one: _Value, value: bytes) -> bool:
    if not value or b"\x00" in value:
        return False
    if one.section == b"data":
        body = _BLANKS.sub(b"", value)
        return len(body) % 4 == 0 and _BASE64.fullmatch(body) is not None
    return _TEMPLATE.fullmatch(value) is None


_TEMPLATE = Regex(rb"\$\{[^{}\n]*\}|\$\([^()\n]*\)|\$\w+|\{\{[^\n]*\}\}|<[^<>\n]*>")
_BLANKS = Regex(rb"\s|\\n")
_BASE64 = Regex(rb"[A-Za-z0-9+/_-]+={0,2}")
_SECTIONS = (b"data", b"stringData")


def _in_object(data: bytes, at: int, quote: bytes, low: int, high: int) -> _Found:
    """Return the values of the object of JSON that has its kind at `at`."""
    near = max(low, at - NEAR)
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


_BACKWARDS = {quote: Regex(rb"[{}]|%b\\*+" % quote) for quote in (b'"', b"'")}


class _Line(NamedTuple):
    start: int
    end: int
    first: int
    """Its start after the number of a listing, the sign of a diff and its blanks."""
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


_PARTS = Regex(
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


_BLOCK = Regex(rb"(?:!!?\w*[ ]?)?(?:[|>][+-]?[0-9]?[+-]?)?[ \t\r]*+\Z")
