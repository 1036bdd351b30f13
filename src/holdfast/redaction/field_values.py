"""Where the value of a field starts and ends: by its quotes, or by what separates it."""

from __future__ import annotations

import re

from holdfast.redaction.strings import is_in_string

MAX_VALUE = 4096
MAX_CLOSERS = 8


def value_at(data: bytes, at: int, *, lines: bool, query: bool) -> tuple[int, int, bool] | None:
    """Return the span of the value after a separator, and whether it is in quotes.

    With `lines` it may stand on the next line; with `query` it ends as a parameter of a URL does.
    """
    first = at + 1 if data.startswith(b" ", at) else at
    if data[first : first + 1] in _STARTS:
        return first, _end_of_bare(data, first, query=query), False
    opened = (_OPEN_LINES if lines else _OPEN).match(data, at)
    if opened is None:
        return None
    start, end = opened.span(1)
    if start < 0:
        start = opened.start(2)
        return start, _end_of_bare(data, start, query=query), False
    if data[end : end + 1] in _NO_VALUE or _OPERATOR.match(data, end):
        return None
    closed = _end_of_quoted(data, end, data[start:end])
    if closed > end:
        return (*_without_blanks(data, end, closed), True)
    return end, _end_of_bare(data, end, query=query), False


def _without_blanks(data: bytes, start: int, end: int) -> tuple[int, int]:
    value = data[start:end]
    if not (value.startswith(b" ") and value.endswith(b" ")) or not value.strip():
        return start, end
    return end - len(value.lstrip()), start + len(value.rstrip())


_OPEN = re.compile(
    rb"""[ \t]{0,16}(?:!!?[a-z]{1,12}[ \t]{1,4}|&[\w-]{1,32}[ \t]{1,4})?"""
    rb"""(?:[|>][+-]?[0-9]?[ \t]{0,4}\r?\n[ \t]{1,32})?"""
    rb"""(?:[brfu@$]{0,2}(\\{0,6}(?:\"\"\"|'''|["'`]))|([^\s\x00]))"""
)
_OPEN_LINES = re.compile(
    rb"""(?:\s|\\{1,3}\r?\n|\\{1,4}[nrt]){0,64}+"""
    rb"""(?:[brfu]{0,2}(\\{0,6}(?:\"\"\"|'''|["'`]))|([^\s\x00]))"""
)
_STARTS = frozenset(bytes((c,)) for c in range(256) if c not in b"\x00\t\n\v\f\r \"'`\\brfu@$!&|>")
"""What can only be the first byte of a value without quotes."""
# Possessive, and no two alternatives start alike: these read each byte once, and no further than
# the value goes.
_ESCAPE = r"""\\(?:[nrtfv0"'`\\u\s\x00]|x(?:0[0aAbBcC]|1[c-fC-F]))"""
"""A quote, or what ends a line, a record or a variable, as strings of JSON and C write it."""
_PLAIN = rf"""(?!{_ESCAPE})\\."""
_OVER = rf"""[\s"'`<\x00]|{_ESCAPE}|\\?\Z"""
_CARET = r"\^(?!@[A-Z_][A-Z0-9_]{0,64}+=)"
"""Not the NUL before the next variable, as a terminal shows it."""
_BARE = re.compile(
    (
        rf"""(?:%26)?(?:[^\s"'`<\\\x00,;&|)\]}}%^]++|%(?!26)|{_PLAIN}|{_CARET}"""
        rf"""|[,;&|](?![\w.%-]{{0,64}}+[=:]|[)\]}}]|{_OVER})|[)\]}}]++(?![.,;]{{0,64}}+(?:{_OVER})|,[\[{{0-9-]))*+"""
    ).encode("ascii")
)
_QUERY = re.compile(rf"""(?:[^\s"'`<\\\x00&#%]++|%(?!26)|{_PLAIN})*+""".encode("ascii"))
_QUOTED = {
    quote: re.compile(rb"(?:[^\\\r\n\x00" + quote + rb"]|\\[^\r\n\x00])*+")
    for quote in (b'"', b"'", b"`")
}


_JOINT = re.compile(rb"""(?<!\\)"[ \t]{0,8}(?:[,:][ \t]{0,8}[\w"\[{-]|[\]}])""")
"""Where a string of JSON ends and another begins: a quote opened before it does not close after."""


_NO_VALUE = (b",", b"]", b"}", b":", b";", b")", b"")
"""What stands after a quote that closes a string and opens no value."""
_OPERATOR = re.compile(rb"[ \t]++(?:&&|\|\||[+.&|<>=*])[ \t]")
"""The same: `"token|" + time.Now()`."""


def _end_of_quoted(data: bytes, start: int, quote: bytes) -> int:
    """Return where the closing quote stands; an escaped quote closes what one has opened."""
    if quote.startswith(b"\\") or len(quote) >= 3:
        end = data.find(quote, start, start + MAX_VALUE)
        if end >= 0 and not (is_in_string(data, start, end) and data.find(0, start, end) < 0):
            return -1
        line = data.find(b"\n", start, end if end >= 0 else start + MAX_VALUE)
        return -1 if end < 0 or (line >= 0 and len(quote) < 3) else end
    run = _QUOTED[quote].match(data, start, start + MAX_VALUE)
    end = start if run is None else run.end()
    if data[end : end + 1] != quote or (quote != b'"' and _JOINT.search(data, start, end)):
        return -1
    return end


def _end_of_bare(data: bytes, start: int, *, query: bool) -> int:
    """Return where a value without quotes ends: before what separates it from the next field."""
    run = (_QUERY if query else _BARE).match(data, start, start + MAX_VALUE)
    end = start if run is None else run.end()
    if query:
        return end
    value = data[start:end]
    if is_unbalanced(value):
        after = data[end : end + MAX_CLOSERS]
        return end + len(after) - len(after.lstrip(b")]}"))
    return start + len(value.rstrip(b",;:"))


def is_unbalanced(value: bytes) -> bool:
    """Whether a bracket closes that none has opened, in the middle of a long value: no code."""
    if len(value) < 12 or not _CLOSES.search(value):
        return False
    opened: list[int] = []
    for at, c in enumerate(value):
        if c in b"([{":
            opened.append(c)
        elif c in b")]}" and (not opened or b"([{".index(opened.pop()) != b")]}".index(c)):
            return value[at + 1 : at + 2].isalnum()
    return False


_CLOSES = re.compile(rb"[)\]}][A-Za-z0-9]")
