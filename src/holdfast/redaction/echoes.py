"""The same secret once more: what was hidden in one place stands nearby without its name.

A test gives a URL and then the password that it expects of it, a document an assignment and then
what it printed. A value that says nothing by itself counts only as a whole string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from holdfast.redaction.chosen import is_about
from holdfast.redaction.gates import mixed
from holdfast.redaction.randomness import is_named
from holdfast.redaction.span import LINE, PRIVATE_KEY, Span

REACH = 1_024
"""So many bytes before and after the secret are looked through."""
SHORTEST, LONGEST = 4, 256
PLAIN = 6
"""So long a value of letters and digits must be to count within a string or without quotes."""
MOST = 8
"""So many of one secret are looked for; each has others of its own."""
_LATE = 1 << 20
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
_WORD = re.compile(rb"[A-Za-z0-9_\x80-\xff]")


def echoes(data: bytes, secrets: Sequence[Span], kinds: frozenset[str]) -> list[Span]:
    """Return where secrets of other than these kinds stand again."""
    found: list[Span] = []
    known = {span.start for span in secrets}
    searched: dict[bytes, int] = {}
    for span in secrets:
        size = span.end - span.start
        if not SHORTEST <= size <= LONGEST or span.kind in kinds or span.kind in _NEVER:
            continue
        value = data[span.start : span.end]
        for written in (value, _decoded(value)) if b"%" in value else (value,):
            if not _counts(span, written):
                continue
            low = max(span.start - REACH, searched.get(written, 0))
            high = span.end + REACH
            searched[written] = high - len(written) + 1
            for at in _places(data, written, low, high, known):
                end = at + len(written)
                if _stands_alone(data, at, end, written):
                    found.append(Span(at, end, span.kind, _LATE))
    return found


def _places(data: bytes, value: bytes, low: int, high: int, known: set[int]) -> Iterator[int]:
    """Yield where a value stands, other than as a secret that is known."""
    at = data.find(value, low, high)
    for _ in range(MOST if len(value) >= SHORTEST else 0):
        while at in known:
            at = data.find(value, at + len(value), high)
        if at < 0:
            return
        yield at
        at = data.find(value, at + len(value), high)


def _decoded(value: bytes) -> bytes:
    """Return a value as it was before it became part of a URL."""
    return _PERCENT.sub(lambda sign: bytes((int(sign[1], 16),)), value)


def _counts(span: Span, value: bytes) -> bool:
    """Whether what stands again can be more than a word by chance, and is no code."""
    if b"\x00" in value or not value.isascii() or _CODE.search(value):
        return False
    return span.kind in _IN_URLS or not _NAME.match(value)


_IN_URLS = frozenset(("url-password", "connection-password", "jdbc-password", "curl-user"))
_CODE = re.compile(rb"://|[(){}\[\];]|===|\?\.")
_NAME = re.compile(rb"[A-Za-z]+(?:[-_.:/ ][A-Za-z]+)*$")
"""Words: outside of a URL they may be a label that was taken for a password."""
_NEVER = frozenset((LINE, PRIVATE_KEY, "credential-id"))


def _stands_alone(data: bytes, start: int, end: int, value: bytes) -> bool:
    """Whether it is all of a string, or of a word where the value is one of a kind."""
    before = data[start - 1 : start]
    if before and before in _BEFORE and _STRING_END.match(data, end):
        return mixed(value) or not is_about(value)
    if _WORD.match(data, end) or (
        _WORD.match(before) and not _ESCAPE.search(data, start - 2, start)
    ):
        return False
    if _NUMBER.match(value) and (before in _SIGNS or data[end : end + 1] in _SIGNS):
        return False  # a piece of a longer number, which would be none without it
    return len(value) >= PLAIN and mixed(value) and not is_about(value) and not is_named(value)


_BEFORE = b"\"'`:"
_STRING_END = re.compile(rb"""(?:\\{1,2}[nr])?\\{0,6}["'`]""")
_ESCAPE = re.compile(rb"\\[nrt]$")
_NUMBER = re.compile(rb"[0-9.]+[eE][-+]?[0-9]*$")
_SIGNS = (b"-", b"+", b".")
