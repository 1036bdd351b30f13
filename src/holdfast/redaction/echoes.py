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
PLAIN = 8
"""So long a value of letters and digits must be to count within a string or without quotes."""
MOST = 8
"""So many of one secret are looked for; each has others of its own."""
_LATE = 1 << 20
_QUOTES = b"\"'`"
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
_WORD = re.compile(rb"[A-Za-z0-9_\x80-\xff]")


def echoes(data: bytes, secrets: Sequence[Span], kinds: frozenset[str]) -> list[Span]:
    """Return where secrets of other than these kinds stand again."""
    found: list[Span] = []
    for span in secrets:
        if span.kind in kinds or span.kind in _NEVER:
            continue
        if not SHORTEST <= span.end - span.start <= LONGEST:
            continue
        value = data[span.start : span.end]
        if _CODE.search(value) or (span.kind not in _IN_URLS and _NAME.match(value)):
            continue
        for written in _spellings(value):
            found += _elsewhere(data, span, written)
    return found


_IN_URLS = frozenset(("url-password", "connection-password", "jdbc-password", "curl-user"))
_CODE = re.compile(rb"://|[(){}\[\];]")
_NAME = re.compile(rb"[A-Za-z]+(?:[-_.:/ ][A-Za-z]+)*$")
"""Words: outside of a URL they may be a label that was taken for a password."""
_NEVER = frozenset((LINE, PRIVATE_KEY, "credential-id"))


def _spellings(value: bytes) -> Iterator[bytes]:
    """Yield a value as it is, and as it was before it became part of a URL."""
    if b"\x00" not in value:
        yield value
        if b"%" in value:
            plain = _PERCENT.sub(lambda sign: bytes((int(sign[1], 16),)), value)
            if plain != value and len(plain) >= SHORTEST and plain.isascii():
                yield plain


def _elsewhere(data: bytes, span: Span, value: bytes) -> Iterator[Span]:
    low, high = max(0, span.start - REACH), span.end + REACH
    at = data.find(value, low, high)
    told = None
    for _ in range(MOST):
        if at < 0:
            return
        end = at + len(value)
        if end <= span.start or at >= span.end:
            told = _tells_itself(value) if told is None else told
            if _stands_alone(data, at, end, told=told):
                yield Span(at, end, span.kind, _LATE)
        at = data.find(value, end, high)


def _tells_itself(value: bytes) -> bool:
    return len(value) >= PLAIN and mixed(value) and not is_about(value) and not is_named(value)


def _stands_alone(data: bytes, start: int, end: int, *, told: bool) -> bool:
    """Whether it is all of a string, or of a word where the value is one of a kind."""
    before, after = data[start - 1 : start], data[end : end + 1]
    if before and before in _QUOTES and after == before:
        return not is_about(data[start:end])
    return told and not _WORD.match(before) and not _WORD.match(after)
