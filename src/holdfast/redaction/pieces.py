"""A token that goes on in further strings or lines: `"eyJ…" + ".eyJ…" + ".sig"`.

JSON Web Tokens are long, so people break them: into strings that are put together, into lines of a
comment or of a document.
"""

from __future__ import annotations

import re

from holdfast.redaction.gates import unnamed
from holdfast.redaction.randomness import is_unspeakable

MAX_PIECES = 64
REACH = 4_096
"""So long one piece may be, with what parts it from the one before."""
DOTS = 2
"""A token has so many at least."""


def pieces_after(data: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Return the token that starts at `start`, and what belongs to it beyond `end`."""
    quote = _OPENED.search(data, max(0, start - 8), start)
    end = _own_end(data, end)
    found = [(start, end)]
    dots = data.count(b".", start, end)
    while len(found) <= MAX_PIECES:
        piece = _STRING.match(data, end, end + REACH) if quote else None
        strings = piece is not None
        if piece is None and (quote is None or data[end : end + 1] in (b"\n", b"\r")):
            piece = _LINE.match(data, end, end + REACH)
        if piece is None or not _belongs(data, piece, dots, strings=strings):
            break
        end = piece.end(2)
        dots += piece[0].count(b".")
        found.append(piece.span(2))
    return found


def _own_end(data: bytes, end: int) -> int:
    """Return where the first piece ends: a dot at `end` is its own where nothing is signed, or
    where the token goes on elsewhere; so are the one or two letters that may stand between.
    """
    more = _DOT.match(data, end)
    return end if more is None else more.end()


def _belongs(data: bytes, piece: re.Match[bytes], dots: int, *, strings: bool) -> bool:
    joint, value = piece[1], piece[2]
    if strings and not _PARTS.search(joint):
        return True
    if strings and dots >= DOTS and data[piece.start() - 1] != ord("."):
        return False
    if strings and value == b"." and dots < DOTS:
        return True
    is_dotted = value.startswith(b".") or (dots < DOTS and (b"." in joint or b"." in value))
    return (is_dotted or unnamed(value) or is_unspeakable(value)) and len(value) > 1


_PARTS = re.compile(rb",|\\[nr]$")
"""What may stand between two strings that have nothing to do with each other."""
_OPENED = re.compile(rb"""["'`]$""")
_DOT = re.compile(rb"""\.[A-Za-z0-9_-]{0,2}(?=\\{0,6}["'`]|\\{1,2}[nr]|[ \t]{0,4}\\?\r?\n)""")
_PART = rb"(\.{0,2}[A-Za-z0-9_=-][A-Za-z0-9_=.-]*+|\.)"
_STRING = re.compile(
    rb"""((?:\\{0,6}["'`]\s{0,40}+"""
    rb"""(?:\)?\.append\(|<<|\|\||[+.&,])?[ \t]{0,4}+\\?\s{0,40}+[bruf]?\\{0,6}["'`]"""
    rb"""|\\\r?\n[ \t]{0,40}+|\\{1,2}[nr]))"""
    + _PART
    + rb"""(?=\\{0,6}["'`](?!\s{0,4}:)|\\\r?\n)"""
)
_LINE = re.compile(
    rb"([ \t]{0,4}\\?\r?\n[ \t]{0,40}+(?:(?:\#|//|\*|>|;)[ \t]{1,8})?(?:\.\r?\n[ \t]{0,40}+)?)"
    + _PART
    + rb"""(?=[ \t]{0,4}\\?(?:\r?\n|\Z)|["'`<),])"""
)
