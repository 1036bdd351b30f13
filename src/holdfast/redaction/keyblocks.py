"""Private keys: PEM, OpenSSH, PGP and PuTTY, whole, escaped, cut off at either end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.redaction.fillers import real
from holdfast.redaction.matching import compiled

BEGINS = ("-----begin ", "---- begin ", "-----begin+", "-----begin%20", "putty-user-key-file-")
ENDS = ("-----end ", "---- end ")
BODIES = ("b3blbnnzac1rzxktdje", "aibaakc", "ibadanbgkqhkig9w0baqefaas", "mhccaqeei")
"""How the base64 of OpenSSH, RSA, PKCS #8 and EC private keys starts, in lower case."""

_JOINTS = "|".join(rf"{quote}[\s+,]*{quote}" for quote in ('"', r"\\\"", r"\\\\\\\"", "'", "`"))
_GAP = rf"(?:\\{{1,6}}[nrt]|[\s>|#]|{_JOINTS})"
"""Between two lines of a key; where a string ends another one must begin."""
_BODY = (
    rf"(?:{_GAP}*(?:[A-Za-z][A-Za-z0-9-]{{2,24}}: [^\r\n\\\"]{{1,120}}"
    rf"|[A-Za-z0-9+/]{{16,}}={{0,2}}"
    rf"|[A-Za-z0-9+/]{{1,15}}={{1,2}}|=[A-Za-z0-9+/]{{4}}))"
)
# Three patterns and no groups: with one that has them the engine reads a byte fifty times as long.
_BEGIN = compiled(
    r"(?i)(?:-{4,5} ?BEGIN(?: |\+|%20)(?:[A-Z0-9 +%]{0,40}PRIVATE(?: |\+|%20)KEY"
    r"(?:(?: |\+|%20)BLOCK)?|OpenVPN Static key V\d) ?-{4,5}"
    r"|PuTTY-User-Key-File-\d: [a-z0-9-]{3,40})"
)
_LINES = compiled(rf"(?i)(?:{_BODY})*")
_CLOSE = compiled(
    rf"(?i){_GAP}*(?:[A-Za-z0-9+/]{{1,15}}={{0,2}})?{_GAP}*"
    r"-{4,5} ?END(?:[A-Z0-9 ]{0,40}-{4,5}|[A-Z ]{0,40}$)"
)
_END = compiled(
    r"(?i)-{4,5} ?END(?: |\+|%20)[A-Z0-9 +%]{0,40}PRIVATE(?: |\+|%20)KEY(?:(?: |\+|%20)BLOCK)?"
    r" ?-{4,5}"
)
_RUN = compiled(r"[A-Za-z0-9+/]{24,}={0,2}(?:" + _BODY + r")*")
_BASE64 = re.compile(rb"[A-Za-z0-9+/=]{16,}")
_AROUND = b" \t\"'+,>|#`"
_PIECE = re.compile(rb"(?:\\{1,6}[nr]|[\r\n])+")
MAX_BODY = 16_384
HEAD = 768
"""So soon the body of a key must show."""
TIMES = 8
"""A byte of a head costs so many times what one costs in other patterns."""
A_LINE = 256
"""What a match may leave unread before the place where it was cut off."""
LOOKS_BACK = (96, 1024, 8192)
A_PIECE = 4
"""What one line of those before END costs, in bytes of other patterns."""
MAX_BLANKS = 64
"""So many blank lines may stand among those of a key that has lost its start."""
MIN_TAIL = 8
"""So much of a key that has lost its start must be left: the line END alone is no secret."""


class Key(NamedTuple):
    """A private key, or that there is none, and what reading for it counts for, in bytes."""

    span: tuple[int, int] | None
    read: int = 0


def key_block(data: bytes, at: int, covered: int) -> Key:
    """Return the private key that begins at `at`."""
    found = _block_at(data, at, at + HEAD)
    if found is None:
        return Key(None)
    body, last, close = found
    following = data.find(b"BEGIN ", body, body + MAX_BODY)
    end = _END.after(data, body, following if following >= 0 else body + MAX_BODY)
    if end is not None and (
        _is_mostly_base64(data[body : end[0][0]]) or _is_made_up(data[body : end[0][0]])
    ):
        return Key((at, end[0][1]))
    if _BASE64.search(data, body, last) is None:
        return Key(None, TIMES * (close - at))
    whole = _block_at(data, at, len(data)) if close > at + HEAD - A_LINE else None
    return Key((at, _trimmed(data, (whole or found)[2])))


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


def key_tail(data: bytes, at: int, covered: int) -> Key:
    """Return the private key of which only the end is there."""
    found = _END.at(data, at)
    if found is None:
        return Key(None)
    start, read = at, 0
    for reach in LOOKS_BACK:  # mostly the line before tells
        floor = max(covered, at - reach)
        start, is_told, count = _tail_start(data, floor, at)
        read += A_PIECE * count
        if is_told:
            break
    body = data[start:at].translate(None, _AROUND)
    is_none = len(body) < MIN_TAIL or len(set(body)) < MIN_TAIL // 2
    return Key(None if is_none else (start, found[0][1]), read)


def _tail_start(data: bytes, floor: int, at: int) -> tuple[int, bool, int]:
    """Return where the lines of base64 before `at` start, whether what stands before `floor` could
    not change that, and how many lines were read.
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


def key_body(data: bytes, at: int, covered: int) -> Key:
    """Return a private key that has lost both its ends."""
    start = at
    while (
        start > covered
        and at - start < 16
        and (data[start - 1 : start].isalnum() or data[start - 1] in b"+/")
    ):
        start -= 1
    found = _RUN.at(data, start)
    return Key(None if found is None else (start, _trimmed(data, found[0][1])))


def _is_mostly_base64(body: bytes) -> bool:
    """Whether what stands between BEGIN and END is a key, however it was escaped."""
    if len(body) < 32 or _STRUCTURE.search(body):
        return False
    if _BASE64_RUN.search(body) is None:
        return False
    return len(body.translate(None, _BASE64_BYTES)) < len(body) * 0.4


def _is_made_up(body: bytes) -> bool:
    """Whether the lines between BEGIN and END are some text in place of a key, as tests have it."""
    text = _MADE_UP.fullmatch(body)
    return text is not None and real(text[1]) and b"..." not in text[1]


_BASE64_RUN = re.compile(rb"[A-Za-z0-9+/=]{12,}")
_MADE_UP = re.compile(rb"(?:\\{1,4}[nr]|\s)+([A-Za-z0-9+/=_.-]{4,64})(?:\\{1,4}[nr]|\s)+")


_STRUCTURE = re.compile(rb"""["']\s*[\]}:]|[\[{]""")
"""JSON between BEGIN and END: they belong to different strings."""
_BASE64_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="


def _last_run(piece: bytes) -> int:
    """Return where the base64 starts that ends `piece`; read from its end, so each byte once."""
    body = piece.rstrip(b"=")
    run = len(body.rstrip(_BASE64_BYTES[:-1]))
    return run if run < len(body) and len(piece) - len(body) <= 2 else len(piece)


def _pieces_backwards(text: bytes) -> Iterator[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    last = 0
    for cut in _PIECE.finditer(text):
        spans.append((last, cut.start()))
        last = cut.end()
    spans.append((last, len(text)))
    return reversed(spans)


def _trimmed(data: bytes, end: int) -> int:
    while data[end - 1] in b" \t\r\n\"'":
        end -= 1
    return end
