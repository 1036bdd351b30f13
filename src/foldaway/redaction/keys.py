"""Private keys: PEM, OpenSSH, PGP and PuTTY, whole, escaped or cut off, and in objects of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from foldaway._core import Regex
from foldaway.redaction.matching import Pattern, Range
from foldaway.redaction.values import is_real

BEGINS = ("-----begin ", "---- begin ", "-----begin+", "-----begin%20", "putty-user-key-file-")
ENDS = ("-----end ", "---- end ")
BODIES = ("b3blbnnzac1rzxktdje", "aibaakc", "ibadanbgkqhkig9w0baqefaas", "mhccaqeei")
"""How the base64 of OpenSSH, RSA, PKCS #8 and EC private keys starts, in lower case."""

_JOINTS = "|".join(rf"{quote}[\s+,]*{quote}" for quote in ('"', r"\\\"", r"\\\\\\\"", "'", "`"))
_GAP = rf"(?:\\{{1,6}}[nrt]|[\s>|#]|{_JOINTS})"
"""Between two lines of a key; if a string ends, another one must begin."""
_BODY = (
    rf"(?:{_GAP}*(?:[A-Za-z][A-Za-z0-9-]{{2,24}}: [^\r\n\\\"]{{1,120}}"
    rf"|[A-Za-z0-9+/]{{16,}}={{0,2}}"
    rf"|[A-Za-z0-9+/]{{1,15}}={{1,2}}|=[A-Za-z0-9+/]{{4}}))"
)
# Three patterns without groups: one with groups takes fifty times as long for a byte.
_BEGIN = Pattern(
    r"(?i)(?:-{4,5} ?BEGIN(?: |\+|%20)(?:[A-Z0-9 +%]{0,40}PRIVATE(?: |\+|%20)KEY"
    r"(?:(?: |\+|%20)BLOCK)?|OpenVPN Static key V\d) ?-{4,5}"
    r"|PuTTY-User-Key-File-\d: [a-z0-9-]{3,40})"
)
_LINES = Pattern(rf"(?i)(?:{_BODY})*")
_CLOSE = Pattern(
    rf"(?i){_GAP}*(?:[A-Za-z0-9+/]{{1,15}}={{0,2}})?{_GAP}*"
    r"-{4,5} ?END(?:[A-Z0-9 ]{0,40}-{4,5}|[A-Z ]{0,40}$)"
)
_END = Pattern(
    r"(?i)-{4,5} ?END(?: |\+|%20)[A-Z0-9 +%]{0,40}PRIVATE(?: |\+|%20)KEY(?:(?: |\+|%20)BLOCK)?"
    r" ?-{4,5}"
)
_RUN = Pattern(r"[A-Za-z0-9+/]{24,}={0,2}(?:" + _BODY + r")*")
_BASE64 = Regex(rb"[A-Za-z0-9+/=]{16,}")
_AROUND = b" \t\"'+,>|#`"
_PIECE = Regex(rb"(?:\\{1,6}[nr]|[\r\n])+")
MAX_BODY = 16_384
"""How far after BEGIN its END is looked for."""
HEAD = 768
"""How many bytes from the first line the body of a key must start in."""
HEAD_COST = 8
"""What a byte of a head costs, in bytes of other patterns."""
A_LINE = 256
"""How many bytes a match that was cut off may leave unread."""
LOOKS_BACK = (96, 1024, 8192)
"""How far before END its body is looked for, one after the other: mostly a line is enough."""
A_PIECE = 4
"""What reading a line before END costs, in bytes of other patterns."""
MAX_BLANKS = 64
"""Most blank lines within a key whose beginning is missing."""
MIN_TAIL = 8
"""Fewest characters of a key whose beginning is missing: the line END alone is not a secret."""


class KeySearch(NamedTuple):
    """The range of a private key, if there is one, and what the search for it costs in bytes."""

    span: Range | None
    read: int = 0


def key_block(data: bytes, at: int, covered: int) -> KeySearch:
    """Return the private key that begins at `at`."""
    found = _block_at(data, at, at + HEAD)
    if found is None:
        return KeySearch(None)
    body, last, close = found
    following = data.find(b"BEGIN ", body, body + MAX_BODY)
    end = _END.after(data, body, following if following >= 0 else body + MAX_BODY)
    if end is not None and (
        _is_mostly_base64(data[body : end[0][0]]) or _is_made_up(data[body : end[0][0]])
    ):
        return KeySearch((at, end[0][1]))
    if _BASE64.search(data, body, last) is None:
        return KeySearch(None, HEAD_COST * (close - at))
    whole = _block_at(data, at, len(data)) if close > at + HEAD - A_LINE else None
    return KeySearch((at, _trim(data, (whole or found)[2])))


def _block_at(data: bytes, at: int, stop: int) -> tuple[int, int, int] | None:
    """Return where the body of a key starts and ends, and where its last line does."""
    begin = _BEGIN.at(data, at, stop)
    if begin is None:
        return None
    body = begin[0][1]
    lines = _LINES.at(data, body, stop)
    last = body if lines is None else lines[0][1]
    close = _CLOSE.at(data, last, stop)
    return body, last, last if close is None else close[0][1]


def key_tail(data: bytes, at: int, covered: int) -> KeySearch:
    """Return a private key whose beginning is missing."""
    found = _END.at(data, at)
    if found is None:
        return KeySearch(None)
    start, read = at, 0
    for reach in LOOKS_BACK:
        floor = max(covered, at - reach)
        start, is_told, count = _tail_start(data, floor, at)
        read += A_PIECE * count
        if is_told:
            break
    body = data[start:at].translate(None, _AROUND)
    is_none = len(body) < MIN_TAIL or len(set(body)) < MIN_TAIL // 2
    return KeySearch(None if is_none else (start, found[0][1]), read)


def _tail_start(data: bytes, floor: int, at: int) -> tuple[int, bool, int]:
    """Return where the lines of base64 before `at` start, whether text before `floor` cannot change
    that, and how many lines were read.
    """
    start = at
    count = blanks = 0
    for piece_start, piece_end in _pieces_backwards(data[floor:at]):
        first = floor + piece_start
        count += 1
        piece = data[first : floor + piece_end].rstrip(_AROUND)
        if not piece.strip(_AROUND):
            blanks += 1
            if blanks > MAX_BLANKS:
                return start, True, count
            continue
        run = _last_run(piece)
        if run == len(piece) or (len(piece) - run < 16 and start != at):
            return start, run > 0 or first > floor, count
        start = first + run
        if piece[:run].strip(_AROUND):
            return start, True, count
    return start, False, count


def key_body(data: bytes, at: int, covered: int) -> KeySearch:
    """Return a private key whose first and last line are missing."""
    start = at
    while (
        start > covered
        and at - start < 16
        and (data[start - 1 : start].isalnum() or data[start - 1] in b"+/")
    ):
        start -= 1
    found = _RUN.at(data, start)
    return KeySearch(None if found is None else (start, _trim(data, found[0][1])))


def _is_mostly_base64(body: bytes) -> bool:
    """Whether the text between BEGIN and END is a key, however it is escaped."""
    if len(body) < 32 or _STRUCTURE.search(body):
        return False
    if _BASE64_RUN.search(body) is None:
        return False
    return len(body.translate(None, _BASE64_BYTES)) < len(body) * 0.4


def _is_made_up(body: bytes) -> bool:
    """Whether the lines between BEGIN and END are a made-up text, as in tests."""
    text = _MADE_UP.fullmatch(body)
    return text is not None and is_real(text[1]) and b"..." not in text[1]


_BASE64_RUN = Regex(rb"[A-Za-z0-9+/=]{12,}")
_MADE_UP = Regex(rb"(?:\\{1,4}[nr]|\s)+([A-Za-z0-9+/=_.-]{4,64})(?:\\{1,4}[nr]|\s)+")


_STRUCTURE = Regex(rb"""["']\s*[\]}:]|[\[{]""")
"""JSON between BEGIN and END: they belong to different strings."""
_BASE64_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="


def _last_run(piece: bytes) -> int:
    """Return the start of the base64 at the end of `piece`; reads each byte once."""
    body = piece.rstrip(b"=")
    run = len(body.rstrip(_BASE64_BYTES[:-1]))
    return run if run < len(body) and len(piece) - len(body) <= 2 else len(piece)


def _pieces_backwards(text: bytes) -> Iterator[Range]:
    spans: list[Range] = []
    last = 0
    for cut in _PIECE.finditer(text):
        spans.append((last, cut.start()))
        last = cut.end()
    spans.append((last, len(text)))
    return reversed(spans)


def _trim(data: bytes, end: int) -> int:
    while data[end - 1] in b" \t\r\n\"'":
        end -= 1
    return end


OBJECTS = ("service_account", "kty")
"""Words in such an object, in lower case."""
OBJECT_REACH = 8_192
"""How far before and after that word the object may reach."""
SCANNED_BYTES = 16
"""How many bytes of an object cost as much as one byte of a failed match."""


def key_object(data: bytes, at: int, covered: int) -> KeySearch:
    """Return the text between the braces of the JSON object around the word at `at`.

    The key file of a service account and a JSON web key are one credential, as a PEM block is, and
    are hidden as one.
    """
    start = data.rfind(b"{", max(0, at - OBJECT_REACH), at) + 1
    end = data.find(b"}", at, at + OBJECT_REACH)
    inner = data[start : max(start, end)] if start else b""
    opened = None if b"}" in inner or b"\x00" in inner else _OPENS.match(inner)
    if opened is None or (len(opened[1]) > 1 and _SHALLOWER.search(inner)):
        return KeySearch(None)
    private = _WEB_KEY if _TYPED.match(data, at) else _SERVICE
    is_whole = private.search(inner) and _CLOSES[opened[1]].search(inner)
    return KeySearch((start, end) if is_whole else None, len(inner) // SCANNED_BYTES)


_SHALLOWER = Regex(rb"""(?<!\\)["']""")
"""A quote that ends the string around an escaped object."""
_Q = rb"""\\{0,6}["']"""
_BLANKS = rb"(?:\s|\\{1,3}[nrt])"
_OPENS = Regex(_BLANKS + rb"""*+((?:\\|\\\\\\)?["'])\w{1,40}+\1""" + _BLANKS + rb"{0,8}:")
_CLOSES = {
    quote: Regex(
        rb""":%b{0,8}(?:%b(?:[^"'\\{}]|\\{1,6}[nrtu/])*+%b|[0-9.]{1,20}|true|false|null)%b*\Z"""
        % (_BLANKS, re.escape(quote), re.escape(quote), _BLANKS)
    )
    for quote in (b'"', b"'", b'\\"', b"\\'", b'\\\\\\"', b"\\\\\\'")
}
"""How such an object starts and ends, so that neither brace is one within a string."""
_SERVICE = Regex(rb"private_key" + _Q + rb"[ \t]{0,4}:[ \t]{0,4}" + _Q + rb"-{4,5} ?BEGIN ")
_TYPED = Regex(rb"kty" + _Q + rb"[ \t]{0,4}:[ \t]{0,4}" + _Q + rb"(?:RSA|EC|OKP|oct)\b")
_WEB_KEY = Regex(
    rb"""["'][dk]""" + _Q + rb"[ \t]{0,4}:[ \t]{0,4}" + _Q + rb"[A-Za-z0-9_-]{16,1400}={0,2}" + _Q
)
"""The private part of a web key; without it the key is public."""
