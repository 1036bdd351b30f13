"""Lines parted into sentences, and sentences cut to size; always pieces of the text itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.facts.dialogue.folding import folded
from holdfast.facts.dialogue.vocabulary import phrases_in

MOST_CHARS = 300
"""The longest piece; a longer run without an end of sentence comes in several."""
_END = re.compile(
    r"""[.!?…؟।]["')\]*`_»”’]{0,3}(?=\s)\s*+|[。！？｡][」』”’）)"]{0,3}\s*+|[؛;](?=\s)\s*+"""
)
_SHORT_FORMS = frozenset(
    phrases_in(
        "e.g|i.e|eg|ie|etc|vs|mr|mrs|ms|dr|st|no|nr|art|approx|cf|fig|incl|al|z.b|d.h|u.a|"
        "bzw|ggf|ca|p.ej|ej|sr|sra|т.е|т.д|т.п|напр"
    )
)
_LIST_MARK = re.compile(r"\s*(?:[-*+•>]\s+|\(?\d{1,3}[.)]\s+|#+\s+)*")
_TAIL = " \t\r*_"


def sentences(line: str) -> Iterator[str]:
    """Yield the sentences of one line, each of at most `MOST_CHARS` characters."""
    start = 0
    for found in _END.finditer(line):
        if line[found.start()] == "." and _is_short_form(line, start, found.start()):
            continue
        yield from _stretches(line, start, found.end())
        start = found.end()
    yield from _stretches(line, start, len(line))


def sentences_with_words(line: str) -> Iterator[tuple[str, list[bytes]]]:
    """Yield each sentence of a line with its words, all folded at once."""
    pieces = list(sentences(line))
    for piece, words in zip(pieces, folded("\n".join(pieces)).split(b"\n"), strict=True):
        yield piece, words.split()


def trimmed(piece: str) -> str:
    """Return a piece without the list mark before it and the blanks and emphasis around it."""
    mark = _LIST_MARK.match(piece[:80])
    bare = piece[mark.end() :] if mark else piece
    return bare.strip(_TAIL) if bare.count("**") % 2 else bare.strip()


def _stretches(line: str, start: int, end: int) -> Iterator[str]:
    while end - start > MOST_CHARS:
        blank = line.rfind(" ", start + MOST_CHARS // 2, start + MOST_CHARS)
        middle = blank + 1 if blank >= 0 else start + MOST_CHARS
        yield line[start:middle]
        start = middle
    if start < end:
        yield line[start:end]


def _is_short_form(line: str, start: int, stop: int) -> bool:
    """Return whether the full stop at `stop` ends "e.g." or the number of a list."""
    first = line.rfind(" ", max(start, stop - 8), stop) + 1 or max(start, stop - 8)
    word = line[first:stop].strip("(*_").lower()
    return word in _SHORT_FORMS or word[-2:-1] == "." or (first <= start and word.isdigit())
