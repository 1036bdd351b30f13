"""What a reader sees of a text, and the spans in it.

The codes of a terminal, zero-width characters and marks of direction may be in the middle of a
secret. The rules read the text without them, and a map leads every offset back to the original.
All ways to end a line become one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct

from foldaway._core import Regex
from foldaway.redaction.matching import Hit, Pattern, Range

PRIVATE_KEY = "private-key"
LINE = "line"
"""These two kinds have a placeholder without a tag."""


STRUCTURE_RANK = 1 << 19
"""The rank of what is found by its structure and not by a rule: after every rule there can be, and
before what is found next to a secret."""


class Span(NamedTuple):
    """A secret in a text, with the rank of the rule that found it: the lower one wins."""

    start: int
    end: int
    kind: str
    rank: int = STRUCTURE_RANK


class MatchResult(NamedTuple):
    """What a matcher found: the secrets, none if it failed, and how many bytes it read."""

    spans: Sequence[Span]
    read: int
    covers: bool = True
    """Whether there is nothing else to look for up to the end of the last of them."""


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Join spans that overlap; the largest gives its kind, of equal ones the lower rank."""
    merged: list[Span] = []
    end = -1
    for span in sorted(spans):
        if span[0] < end:
            last = merged[-1]
            best = min(last, span, key=lambda s: (s.start - s.end, s.rank))
            end = max(end, span.end)
            merged[-1] = Span(last.start, end, best.kind, best.rank)
        else:
            merged.append(span)
            end = span[1]
    return merged


PLACEHOLDER = Pattern(r"\[redacted:[a-z0-9-]{1,40}(?::[0-9a-f]{4,8})?\]")
PLACEHOLDER_START = b"[redacted:"
_UNSEEN = Pattern(
    r"(?:(?:\x1b|\\{1,2}u001[bB]|\\{1,2}x1[bB]|\\{1,2}033|\\{1,2}e)"
    r"\[(?:[0-9;:?]{1,24}[A-Za-z]|[A-Za-qs-z])|\xc2\x9b[0-9;:?]{0,24}[A-Za-z]"
    r"|\x1b\][^\x07\x1b\r\n]{0,200}(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78]"
    r"|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xc2\xad|\xcd\x8f"
    r"|\xd8\x9c|\xe1\xa0\x8e|\xf3\xa0[\x80\x81][\x80-\xbf]"
    r"|\\{1,2}u20(?:0[b-fB-F]|2[a-eA-E]|6[0-9a-fA-F])|\\{1,2}u[fF][eE][fF][fF]"
    r"|\\{1,2}u00[aA][dD])+"
)
"""Of the codes without a number the one that ends in `r` is missing: a placeholder directly after
the sign of a code starts like it."""

ESCAPE = b"\x1b"
BREAKS = tuple(one.encode() for one in "\x85\u2028\u2029")
"""What ends a line in Unicode, besides the bytes of `unify_line_breaks`."""
SIGNS = (
    *BREAKS,
    ESCAPE,
    rb"\u001b",
    rb"\x1b",
    rb"\033",
    rb"\e[",
    PLACEHOLDER_START,
    *(bytes((0xE2, 0x80, low)) for low in (*range(0x8B, 0x90), *range(0xAA, 0xAF))),
    *(bytes((0xE2, 0x81, low)) for low in range(0xA0, 0xB0)),
    b"\xef\xbb\xbf",
    b"\xc2\xad",
    b"\xc2\x9b",
    b"\xcd\x8f",
    b"\xd8\x9c",
    b"\xe1\xa0\x8e",
    b"\xf3\xa0\x80",
    b"\xf3\xa0\x81",
    *(rb"\u200" + bytes((low,)) for low in b"bcdef"),
    *(rb"\u202" + bytes((low,)) for low in b"abcde"),
    rb"\u206",
    rb"\ufeff",
    rb"\u00ad",
)
"""In lower case: if a text contains none of these, a reader sees all of it and nothing else."""


APART = 256
"""Average distance of signs, in bytes, below which looking at them one by one costs as much as
searching the whole text."""


class ReaderText(Struct, frozen=True):
    """The text that the rules read, and the way back to the original."""

    data: bytes
    """Same length as the visible text; every placeholder is blanked out with NULs."""
    starts: tuple[int, ...]
    """Offsets in `data` before which something was left out, ascending."""
    shifts: tuple[int, ...]
    """For each of them, how many bytes were left out up to there."""
    is_blanked: bool
    """Whether there is a placeholder."""

    def original(self, start: int, end: int) -> Range:
        """Return the span of the original that shows as this span of `data`."""
        if not self.starts:
            return start, end
        return start + self._shift(start), end - 1 + self._shift(end - 1) + 1

    def _shift(self, at: int) -> int:
        index = bisect_right(self.starts, at)
        return self.shifts[index - 1] if index else 0


def unify_line_breaks(data: bytes) -> bytes:
    """Return `data` with a line break for each byte that separates lines, records or variables."""
    return data.translate(_AS_BREAKS) if any(one in data for one in _SEPARATORS) else data


_SEPARATORS = b"\x00\v\f\x1c\x1d\x1e\x1f"
"""NUL ends a variable of an environment; the last four separate files, groups, records, units."""
_AS_BREAKS = bytes.maketrans(_SEPARATORS, b"\n" * len(_SEPARATORS))


def is_full_of_codes(data: bytes) -> bool:
    """Whether a text has more codes of a terminal than one in `APART` bytes."""
    left = len(data) // APART
    at = data.find(ESCAPE)
    while at >= 0 and left > 0:  # ten times as fast as counting all of them, if there are few
        left -= 1
        at = data.find(ESCAPE, at + 1)
    return at >= 0


def to_reader_text(data: bytes, signs: Sequence[int]) -> ReaderText:
    """Return what a reader sees of `data`; one of `SIGNS` starts at each of `signs`."""
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
    seen = _blank_placeholders(shown) if _may_be_placeholder(data, signs, shown, starts) else shown
    return ReaderText(seen, tuple(starts), tuple(shifts), seen is not shown)


def _with_line_breaks(data: bytes, signs: Sequence[int]) -> bytes:
    r"""Return `data` with line breaks for `BREAKS`, byte for byte.

    JSON has them in its strings as they are: there they read as the escape `\n`.
    """
    is_few = len(signs) * APART <= len(data)
    if not any(data.startswith(BREAKS, sign) for sign in signs) if is_few else data.isascii():
        return data
    return _replace_breaks(
        _STRINGS.sub(lambda string: _replace_breaks(string[0], rb"\n"), data), b"\n"
    )


def _replace_breaks(data: bytes, line_break: bytes) -> bytes:
    for one in BREAKS:
        data = data.replace(one, line_break.ljust(len(one)))
    return data


_STRINGS = Regex(rb'"(?:[^"\\\n]|\\.)*+"')


def _may_be_placeholder(
    data: bytes, signs: Sequence[int], shown: bytes, gaps: Sequence[int]
) -> bool:
    """Whether a placeholder can start at one of the signs, or where something was left out."""
    if len(signs) * APART > len(data):
        return True
    size = len(PLACEHOLDER_START)
    return any(data[sign] == PLACEHOLDER_START[0] for sign in signs) or any(
        shown.find(PLACEHOLDER_START, max(0, gap - size), gap + size) >= 0 for gap in gaps
    )


def _unseen(data: bytes, signs: Sequence[int]) -> Iterator[Range]:
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


def _blank_placeholders(data: bytes) -> bytes:
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


FEW = 64
"""Average distance of literals, in bytes, below which moving them costs as much as a new search."""


def move_hits(
    hits: Sequence[Hit], text: ReaderText, find: Callable[[bytes], list[Hit]], longest: int
) -> list[Hit]:
    """Return what `find` finds in a reader's text, in its order; `hits` are of the original.

    If little is left out, most literals only move: searching all of it again would take as long as
    the first search. No literal is longer than `longest`.
    """
    size = len(text.data)
    if text.is_blanked or len(text.starts) * APART > size or len(hits) * FEW > size:
        return find(text.data)
    moved: list[Hit] = []
    first = begin = shift = 0
    for gap, left_out in zip((*text.starts, size), (*text.shifts, 0), strict=True):
        # hits are ordered by their ends: those between two gaps are adjacent
        last = bisect_right(hits, gap + shift, first, key=_END)
        moved += [
            (number, start - shift, end - shift)
            for number, start, end in hits[first:last]
            if start >= begin
        ]
        first, begin, shift = last, gap + left_out, left_out
    across: set[Hit] = set()
    for gap in text.starts:
        near = max(0, gap - longest)
        for number, start, end in find(text.data[near : gap + longest]):
            if near + start < gap < near + end:
                across.add((number, near + start, near + end))
    return sorted([*moved, *across], key=itemgetter(2, 1)) if across else moved


_END = itemgetter(2)


# A value that is cut off in one string of JSON has no closing quote there, and the quote that a
# pattern finds belongs to another string: `"… \"hunt", "b": "… \""`. So JSON stays JSON only if no
# span goes beyond the string that it starts in.


def cut_at_strings(data: bytes, spans: Sequence[Span]) -> list[Span]:
    """Cut each span at the end of the JSON string that it starts in; drop those left empty."""
    cut = [_cut(data, span) for span in spans]
    return [span for span in cut if span.end > span.start]


def is_in_string(data: bytes, start: int, end: int) -> bool:
    """Whether a value whose own quote is escaped is in the same string up to `end`."""
    shallower = _SHALLOWER.get(_depth(data, start))
    return shallower is None or shallower.search(data, start, end) is None


def end_of_string(data: bytes, start: int, end: int) -> int:
    """Return the end of the JSON string that a value starts in, or `end` if that is earlier."""
    if data.find(b'"', start, end) < 0:
        return end
    shallower = _SHALLOWER.get(_depth(data, start))
    for quote in (shallower, _ENDS):
        found = None if quote is None else quote.search(data, start, end + BEYOND)
        if found is not None:
            end = min(end, start + len(data[start : found.start()].rstrip(b"\\")))
    return end


def _depth(data: bytes, start: int) -> int:
    """Return the number of backslashes before the quote in front of a value."""
    at = start - 1
    if at < 0 or data[at] not in b"\"'`":
        return 0
    before = data[max(0, at - DEEPEST) : at]
    return len(before) - len(before.rstrip(b"\\"))


def _cut(data: bytes, span: Span) -> Span:
    if span.kind in (LINE, PRIVATE_KEY):
        return span
    end = end_of_string(data, span.start, span.end)
    return span if end == span.end else span._replace(end=end)


BEYOND = 64
"""How far after a value the next item of JSON is looked for: blanks and one bracket."""
DEEPEST = 7
"""Most backslashes before a quote: JSON in JSON in JSON."""
_SHALLOWER = {depth: Regex(rb'(?<!%b)"' % (rb"\\" * depth)) for depth in range(1, DEEPEST + 1)}
"""A quote with fewer backslashes than that of the value; it ends the string around it. The
backslashes before it are not part of the pattern: it would read a long row of them repeatedly."""
_NEXT = rb"""\s*+(?:[,:]\s*+(?:\\*+["\[{]|-?[0-9]|true|false|null)|[\]}]\s*+(?:[,\]}"\\]|\Z))"""
"""What follows a string of JSON: another item, the value of a name, the end of its list."""
_ENDS = Regex(rb'"(?=' + _NEXT + rb")")
