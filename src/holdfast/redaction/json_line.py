"""Lines that are hidden as a whole, so that JSON stays JSON: its strings and numbers go."""

from __future__ import annotations

import re

MARK = b"[redacted:line]"

_STRING = rb'"(?:[^"\\\n]|\\[^\n])*+"'
_SCALAR = _STRING + rb"|-?[0-9][0-9.eE+-]*+|true|false|null"
_WHOLE = re.compile(
    rb'(?:[\s{}\[\],:]++|' + _SCALAR + rb')*+("(?:[^"\\\n]|\\[^\n])*+\\?)?'
)  # fmt: skip
_ADJACENT = re.compile(rb"[^\s{}\[\],:][ \t]++[^\s{}\[\],:]")
"""Two values with nothing but a blank between them: numbers in a log, and no JSON."""
_STRINGS = re.compile(_STRING)
_NUMBERS = re.compile(rb"-?[0-9][0-9.eE+-]*+")
_REST = re.compile(rb'(?:[^"\\\n]|\\[^\n])*+\\?')
_ESCAPES = re.compile(rb"\\.", re.DOTALL)


def hidden_lines(data: bytes, *, inside: bool) -> bytes:
    """Return what stands in place of lines that are hidden; `inside` a JSON string at their start.

    One placeholder for all of them, but of lines of JSON the structure stays, with a placeholder
    in each. The first may start and the last may end in the middle of a string.
    """
    lines = data.split(b"\n")
    kept = [_structure(line, inside=inside and number == 0) for number, line in enumerate(lines)]
    if not any(kept):
        return MARK
    return b"\n".join([MARK if one is None else one for one in kept])


def is_inside_string(data: bytes, *, inside: bool = False) -> bool:
    """Whether a line of JSON is within a string after `data`, given whether it was before."""
    plain = _ESCAPES.sub(b"", data) if b"\\" in data else data
    return inside != bool(plain.count(b'"') & 1)


def _structure(line: bytes, *, inside: bool) -> bytes | None:
    """Return a line of JSON with nothing in its strings; `None` where it is no JSON."""
    if not line.strip():
        return line
    before = b""
    if inside:
        end = _match(_REST, line).end()
        if end == len(line):
            return MARK
        before, line = MARK + b'"', line[end + 1 :]
    whole = _match(_WHOLE, line)
    if whole.end() < len(line):
        return None
    closed = line if whole[1] is None else line[: whole.start(1)]
    empty = _STRINGS.sub(b'""', closed)
    if _ADJACENT.search(empty.replace(b'""', b"0")):
        return None
    empty = _NUMBERS.sub(b"0", empty)
    if not before:
        mark = b'"' + MARK + b'"'
        if b'""' in empty:
            empty = empty.replace(b'""', mark, 1)
        elif b"0" in empty:
            empty = empty.replace(b"0", mark, 1)
    return before + empty + (b"" if whole[1] is None else b'"' + MARK)


def _match(pattern: re.Pattern[bytes], text: bytes) -> re.Match[bytes]:
    found = pattern.match(text)
    assert found is not None  # both can be empty
    return found
