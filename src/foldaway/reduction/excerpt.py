"""The lines of a text, and of a huge one those that can matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from foldaway.reduction.lines import plain
from foldaway.reduction.signals import error_spans

WHOLE_CHARS: Final = 200_000
"""Up to here a text is split as a whole; beyond, its ends, what is around its errors, a sample."""

PIECE_CHARS: Final = 240
"""Lines that are endless, such as minified code, are read as pieces of this length."""

_END_CHARS = 60_000
_SAMPLES, _SAMPLE_CHARS = 16, 2_500
_AROUND_CHARS, _MOST_ERRORS = 600, 300
"""What is read of a huge text: this much of each end, this number of samples of this size, and this
much on each side of at most this number of errors."""
_ROOMS = 8
"""A text is also read whole if it is at most this many times longer than the result."""
_ENDLESS_CHARS = 1_000
"""A text whose lines are longer on average is read in pieces."""


class Lines(Struct, frozen=True):
    """Lines with their places in the text that they come from.

    A place is the number of the line, from 0; of endless lines, read as pieces, it is the number
    of characters before the piece.
    """

    texts: list[str]
    places: Sequence[int]
    total: int
    """How many lines, or characters, the text has."""
    in_pieces: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether these are all the lines."""
        return not self.in_pieces and len(self.texts) == self.total

    @property
    def noun(self) -> str:
        """What a place counts."""
        return "character" if self.in_pieces else "line"

    def end(self, at: int) -> int:
        """Return the place after a line."""
        return self.places[at] + (len(self.texts[at]) if self.in_pieces else 1)


def read_lines(text: str, room_chars: int) -> Lines:
    """Return the lines of a text as a terminal shows them; of a huge one, an excerpt.

    The excerpt takes the ends, the lines around what tells of a failure, and a few pieces spread
    over the rest. It is found by plain search over the text, which is neither split nor copied.
    """
    if len(text) > max(WHOLE_CHARS, _ROOMS * room_chars):
        pieces = _pieces(text, max(_END_CHARS, _ROOMS // 2 * room_chars))
        return _cut_pieces(text, pieces) if _is_endless(text) else _number_lines(text, pieces)
    text = plain(text)
    if _is_endless(text):
        return _cut_pieces(text, [(0, len(text))])
    texts = text.split("\n")
    return Lines(texts, range(len(texts)), len(texts))


def _is_endless(text: str) -> bool:
    return len(text) > _ENDLESS_CHARS * (text.count("\n") + 1)


def _number_lines(text: str, pieces: list[tuple[int, int]]) -> Lines:
    texts: list[str] = []
    places: list[int] = []
    at = number = 0
    for start, stop in pieces:
        number += text.count("\n", at, start)
        lines = plain(text[start:stop]).split("\n")
        texts.extend(lines)
        places.extend(range(number, number + len(lines)))
        number += len(lines) - 1
        at = stop
    return Lines(texts, places, number + text.count("\n", at) + 1)


def _cut_pieces(text: str, pieces: list[tuple[int, int]]) -> Lines:
    places = [at for start, stop in pieces for at in range(start, stop, PIECE_CHARS)]
    stops = [
        min(at + PIECE_CHARS, stop)
        for start, stop in pieces
        for at in range(start, stop, PIECE_CHARS)
    ]
    texts = [
        text[at:stop].replace("\n", " ").replace("\r", " ")
        for at, stop in zip(places, stops, strict=True)
    ]
    return Lines(texts, places, len(text), in_pieces=True)


def _pieces(text: str, end_chars: int) -> list[tuple[int, int]]:
    """Return what to read, in order and without overlap, cut at line ends if there are any."""
    size = len(text)
    around = [
        (start - _AROUND_CHARS, end + _AROUND_CHARS)
        for start, end in error_spans(text, _MOST_ERRORS)
    ]
    samples = [(at, at + _SAMPLE_CHARS) for at in range(0, size, size // _SAMPLES)]
    wanted = [(0, end_chars), *around, *samples, (size - end_chars, size)]
    pieces: list[tuple[int, int]] = []
    for first, last in sorted(wanted):
        start, stop = _extend_to_lines(text, max(first, 0), min(last, size))
        if pieces and start <= pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], max(stop, pieces[-1][1]))
        elif start < stop:
            pieces.append((start, stop))
    return pieces


def _extend_to_lines(text: str, start: int, stop: int) -> tuple[int, int]:
    if start > 0:
        after = text.find("\n", start, stop)
        start = after + 1 if after >= 0 else start
    if stop < len(text):
        before = text.rfind("\n", start, stop)
        stop = before if before >= 0 else stop
    return start, stop
