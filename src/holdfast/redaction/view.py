"""What a reader sees of a text: without colour codes, zero-width characters and marks of direction.

A terminal's codes may stand in the middle of a secret. The rules read the text without them, and a
map leads every offset back to the original. They know one way to end a line, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.redaction.matching import compiled

PLACEHOLDER = compiled(r"\[redacted:[a-z0-9-]{1,40}(?::[0-9a-f]{4,8})?\]")
PLACEHOLDER_START = b"[redacted:"
_UNSEEN = compiled(
    r"(?:(?:\x1b|\\{1,2}u001[bB]|\\{1,2}x1[bB]|\\{1,2}033|\\{1,2}e)"
    r"\[(?:[0-9;:?]{1,24}[A-Za-z]|[A-Za-qs-z])|\xc2\x9b[0-9;:?]{0,24}[A-Za-z]"
    r"|\x1b\][^\x07\x1b\r\n]{0,200}(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78]"
    r"|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xc2\xad|\xcd\x8f"
    r"|\xd8\x9c|\xe1\xa0\x8e|\xf3\xa0[\x80\x81][\x80-\xbf]"
    r"|\\{1,2}u20(?:0[b-fB-F]|2[a-eA-E]|6[0-9a-fA-F])|\\{1,2}u[fF][eE][fF][fF]"
    r"|\\{1,2}u00[aA][dD])+"
)
"""Among the codes without a number the one that ends in `r` is left out: a placeholder that stands
behind the sign of a code would start so."""

ESCAPE = b"\x1b"
BREAKS = tuple(one.encode() for one in "\x85\u2028\u2029")
"""What ends a line in Unicode beside the bytes of `in_lines`."""
SIGNS = (
    *BREAKS, ESCAPE, rb"\u001b", rb"\x1b", rb"\033", rb"\e[", PLACEHOLDER_START,
    *(bytes((0xE2, 0x80, low)) for low in (*range(0x8B, 0x90), *range(0xAA, 0xAF))),
    *(bytes((0xE2, 0x81, low)) for low in range(0xA0, 0xB0)),
    b"\xef\xbb\xbf", b"\xc2\xad", b"\xc2\x9b", b"\xcd\x8f", b"\xd8\x9c", b"\xe1\xa0\x8e",
    b"\xf3\xa0\x80", b"\xf3\xa0\x81",
    *(rb"\u200" + bytes((low,)) for low in b"bcdef"),
    *(rb"\u202" + bytes((low,)) for low in b"abcde"), rb"\u206", rb"\ufeff", rb"\u00ad",
)  # fmt: skip
"""In lower case: where none of these occurs a reader sees all of the text, and nothing else."""


APART = 256
"""Signs as close as this on average are as dear one by one as a search of everything."""


class View(Struct, frozen=True):
    """The text that the rules read, and the way back."""

    data: bytes
    """Same length as the visible text; every placeholder is blanked out with NULs."""
    starts: tuple[int, ...]
    """Offsets in `data` before which something was left out, ascending."""
    shifts: tuple[int, ...]
    """For each of them, how many bytes were left out up to there."""
    is_blanked: bool
    """Whether there is a placeholder."""

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original that shows as this span of `data`."""
        if not self.starts:
            return start, end
        return start + self._shift(start), end - 1 + self._shift(end - 1) + 1

    def _shift(self, at: int) -> int:
        index = bisect_right(self.starts, at)
        return self.shifts[index - 1] if index else 0


def in_lines(data: bytes) -> bytes:
    """Return `data` with a line break for each byte that separates lines, records or variables."""
    return data.translate(_AS_BREAKS) if any(one in data for one in _SEPARATORS) else data


_SEPARATORS = b"\x00\v\f\x1c\x1d\x1e\x1f"
"""NUL ends the variables of an environment; the last four part files, groups, records and units."""
_AS_BREAKS = bytes.maketrans(_SEPARATORS, b"\n" * len(_SEPARATORS))


def is_full_of_codes(data: bytes) -> bool:
    """Whether a terminal's codes are so many that the literals of the original say little."""
    left = len(data) // APART
    at = data.find(ESCAPE)
    while at >= 0 and left > 0:  # counting all of them takes ten times as long where there are few
        left -= 1
        at = data.find(ESCAPE, at + 1)
    return at >= 0


def view_of(data: bytes, signs: Sequence[int]) -> View:
    """Return what a reader sees of `data`, where one of `SIGNS` starts at each of `signs`."""
    data = _with_line_breaks(data, signs)
    pieces: list[memoryview] = []
    starts: list[int] = []
    shifts: list[int] = []
    last = kept = 0
    text = memoryview(data)
    for start, end in _unseen(data, signs):
        pieces.append(text[last:start])
        kept += start - last
        last = end
        starts.append(kept)
        shifts.append(end - kept)
    shown = data if not starts else b"".join((*pieces, text[last:]))
    seen = _blanked(shown) if _may_be_placeholder(data, signs, shown, starts) else shown
    return View(seen, tuple(starts), tuple(shifts), seen is not shown)


def _with_line_breaks(data: bytes, signs: Sequence[int]) -> bytes:
    r"""Return `data` with line breaks for `BREAKS`, byte for byte.

    JSON has them in its strings as they are: there they read as the escape `\n`.
    """
    is_few = len(signs) * APART <= len(data)
    if not any(data.startswith(BREAKS, sign) for sign in signs) if is_few else data.isascii():
        return data
    return _broken(_STRINGS.sub(lambda string: _broken(string[0], rb"\n"), data), b"\n")


def _broken(data: bytes, line_break: bytes) -> bytes:
    for one in BREAKS:
        data = data.replace(one, line_break.ljust(len(one)))
    return data


_STRINGS = re.compile(rb'"(?:[^"\\\n]|\\.)*+"')


def _may_be_placeholder(
    data: bytes, signs: Sequence[int], shown: bytes, seams: Sequence[int]
) -> bool:
    """Whether a placeholder can start at one of the signs, or where something was left out."""
    if len(signs) * APART > len(data):
        return True
    size = len(PLACEHOLDER_START)
    return any(data[sign] == PLACEHOLDER_START[0] for sign in signs) or any(
        shown.find(PLACEHOLDER_START, max(0, seam - size), seam + size) >= 0 for seam in seams
    )


def _unseen(data: bytes, signs: Sequence[int]) -> Iterator[tuple[int, int]]:
    if len(signs) * APART > len(data):
        for (span,) in _UNSEEN.all(data):
            yield span
        return
    last = 0
    for sign in signs:
        if sign < last:
            continue
        # a code may be written with two backslashes; the second one is where its sign starts
        early = sign - 1 if sign > last and data[sign - 1] == 92 else sign
        found = _UNSEEN.at(data, early) or _UNSEEN.at(data, sign)
        if found is not None:
            ((start, last),) = found
            yield start, last


def _blanked(data: bytes) -> bytes:
    """Put NULs in place of placeholders, so that no rule can match one or reach over it."""
    at = data.find(PLACEHOLDER_START)
    if at < 0:
        return data
    pieces: list[bytes] = []
    last = 0
    for ((start, end),) in PLACEHOLDER.all(data, at):
        pieces += (data[last:start], bytes(end - start))
        last = end
    return b"".join((*pieces, data[last:]))
