"""Requests in a note: what is left of one is what the user wrote, in whole sentences."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from msgspec import Struct

from foldaway._core import Regex
from foldaway.facts import likeness, sentences
from foldaway.summarizers.gate.evidence import Evidence, SaidByUser

_QUOTED = Regex(
    r"“([^”]{2,1200})”|\"([^\"]{2,1200})\"|«([^»]{2,1200})»|„([^“”]{2,1200})[“”]|「([^」]{2,1200})」"
)
_TO_PLAIN = str.maketrans("“”„«»‘’", '"""""\'\'')
_ENDS = " \t\n\"'.…,;:"
_LEAST_WORDS = 3
"""Fewer words are not a quotation: anybody may use them."""
_LEAST_CHARS = 10
"""Fewer words, or shorter ones, are no quotation: anybody may use them."""
_MOST_SEARCHED = 20_000
"""The newest asks that are searched."""
_MOST_CHARS = 700
"""What is kept of a quotation, in whole sentences."""
_ALIKE = 0.6
"""The share of its words that a retold sentence must have from the ask; chosen."""


class UserQuote(Struct, frozen=True, gc=False):
    """Sentences of the user's, letter for letter, and the ask that they are in."""

    text: str
    ask: SaidByUser


class QuoteFinder:
    """Finds what the user wrote. Every message is made ready once, when it is first asked for."""

    def __init__(self, evidence: Evidence) -> None:
        self._asks = evidence.asks
        self._labels = evidence.labels
        self._ready: dict[str, _Ready] = {}

    def find(self, text: str, source: str) -> UserQuote | None:
        """Return the user's own sentences that a text quotes or retells; None for other text.

        Quoted words count wherever the user wrote them, since a model may confuse ids. Words that
        only retell count if `source` is the ask itself.
        """
        named = self._asks.get(self._labels.get(source, source))
        for words in _candidates(text):
            for ask in filter(None, (named, self._holder(words))):
                found = self._quoted(words, ask)
                if found:
                    return UserQuote(found, ask)
        retold = self._retold(text, named) if named else ""
        return UserQuote(retold, named) if named and retold else None

    def has(self, text: str) -> bool:
        """Return whether a text is the user's, letter for letter."""
        return self._holder(_plain(text).strip(_ENDS)) is not None

    def _holder(self, words: str) -> SaidByUser | None:
        """Return the newest ask that has the words."""
        if not words:
            return None
        asks, starts, text = self._together
        at = text.rfind(words)
        return asks[bisect_right(starts, at) - 1] if at >= 0 else None

    @cached_property
    def _together(self) -> tuple[list[SaidByUser], list[int], str]:
        """The newest asks, where each begins in a text of all of them, and that text."""
        asks = list(self._asks.values())[-_MOST_SEARCHED:]
        starts: list[int] = []
        at = 0
        for ask in asks:
            starts.append(at)
            at += len(self._of(ask).text) + 1
        return asks, starts, "\n".join(self._of(ask).text for ask in asks)

    def _of(self, ask: SaidByUser) -> _Ready:
        found = self._ready.get(ask.label)
        if found is None:
            found = self._ready[ask.label] = _ready(ask.text)
        return found

    def _quoted(self, words: str, ask: SaidByUser) -> str:
        """Return the sentences that have the words: part of one may say the opposite."""
        ready = self._of(ask)
        at = ready.text.find(words)
        if at < 0 or not (_is_enough(words) or words == ready.text.strip(_ENDS)):
            return ""
        stop = at + len(words)
        if _cuts_word(ready.text, at, stop):
            return ""
        rows = [
            row
            for row, (start, end) in zip(ready.sentences, ready.places, strict=True)
            if start < stop and end > at
        ]
        return _within(rows)

    def _retold(self, text: str, ask: SaidByUser) -> str:
        words = likeness(text).words
        best, most = "", 0
        for row in self._of(ask).sentences:
            shared = len(words & likeness(row).words)
            if shared > most:
                best, most = row, shared
        enough = most >= _LEAST_WORDS and most >= _ALIKE * len(words)
        return _within([best]) if enough else ""


class _Ready(Struct, frozen=True):
    """The sentences of an ask, and all of them as one plain text."""

    sentences: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    text: str


def _ready(text: str) -> _Ready:
    rows = [bare for line in text.split("\n") for one in sentences(line) if (bare := one.strip())]
    places: list[tuple[int, int]] = []
    at = 0
    plain = [_plain(row) for row in rows]
    for row in plain:
        places.append((at, at + len(row)))
        at += len(row) + 1
    return _Ready(tuple(rows), tuple(places), " ".join(plain))


def _plain(text: str) -> str:
    return " ".join(text.translate(_TO_PLAIN).casefold().split())


def _candidates(text: str) -> Iterator[str]:
    """Yield the words that may be a quotation: in marks, behind a colon, all of them."""
    for found in islice(_QUOTED.finditer(text), 8):
        yield _plain(next(filter(None, found.groups()), "")).strip(_ENDS)
    _, colon, rest = text.partition(": ")
    if colon:
        yield _plain(rest).strip(_ENDS)
    yield _plain(text).strip(_ENDS)


def _is_enough(words: str) -> bool:
    if len(words.split()) >= _LEAST_WORDS or len(words) >= _LEAST_CHARS:
        return True
    return len(words) >= _LEAST_WORDS and not words.isascii()


def _cuts_word(text: str, start: int, stop: int) -> bool:
    """Return whether a place begins or ends inside a word of letters that have blanks between."""
    before, after = text[start - 1 : start], text[stop : stop + 1]
    return (_is_letter(before) and _is_letter(text[start])) or (
        _is_letter(after) and _is_letter(text[stop - 1])
    )


def _is_letter(sign: str) -> bool:
    return sign.isalnum() and sign < "\u1100"


def _within(rows: list[str]) -> str:
    """Return the first sentences that fit, at least one of them, whole."""
    found: list[str] = []
    room = _MOST_CHARS
    for row in rows:
        room -= len(row) + 1
        if found and room < 0:
            break
        found.append(row)
    return " ".join(found)
