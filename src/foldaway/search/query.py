"""Any text is a query."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from foldaway._core import read_table
from foldaway.search.text import clean
from foldaway.search.values import Filters, Query, Term
from foldaway.search.words import words_of

MOST_TERMS = 32
MOST_CHARS = 4_000
"""Of a query; the rest is not read."""

_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))
_FILTER = re.compile(r'(role|source|tool|session|since|until):(?:"([^"]+)"|([^\s"]+))(?!\S)', re.I)
_CHUNK = re.compile(
    r"""(-?)(?:"([^"]*)"?|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»)|(\S+?)(?=\s|$|(?<![\w*])")"""
)
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029"
    "\u3040-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U000323af"
)
"""Scripts written without blanks between words, and Korean, whose words carry particles: an index
of words does not find in them what a person looks for."""
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_OPENING = re.compile(r"^(?:[\[({'‘¿¡,;:!?…、。，]|\.(?![\w/.]))+")
_CLOSING = re.compile(r"[\])}'’,;:!?….、。，！？：；）」』】]+$")
_POSSESSIVE = re.compile(r"['’]s$", re.I)
_LETTERS = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f\u0900-\u0dff])+")
_NUMBER = re.compile(r"\d+")
_JOINED = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)+")
_PREFIX = re.compile(r"([\w.\-/]*\w)\*+")


def parse_query(text: str) -> Query:
    """Read a query; every text is one, and none is an error.

    `"words side by side"`, `begin*`, `-without`, `role:`, `source:`, `tool:`, `session:`,
    `since:` and `until:` (2026-01-31, in UTC) are understood. Anything else is a word, or a
    substring if it has punctuation or digits within, such as `foo_bar.py` and `#10896`.
    """
    text = clean(text[:MOST_CHARS])
    rest, filters = _filters(text)
    terms: dict[tuple[str, str], Term] = {}
    without: dict[tuple[str, str], Term] = {}
    for term, wanted in _terms(rest):
        where = terms if wanted else without
        where.setdefault((term.kind, term.text.casefold()), term)
        if len(terms) + len(without) >= MOST_TERMS:
            break
    return Query(
        text=text.strip(),
        terms=_mark_small(tuple(terms.values())),
        without=tuple(without.values()),
        filters=filters,
    )


def split_terms(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Return terms with runs of scripts without blanks in pieces of two characters.

    That is how long words of Chinese mostly are; nobody says where one ends.
    """
    pieces: dict[str, Term] = {}
    for term in terms:
        whole = term.quoted or len(term.text) <= 2 or not _UNSPACED_RUN.fullmatch(term.text)
        for at in (0,) if whole else range(len(term.text) - 1):
            piece = term if whole else Term(kind="substring", text=term.text[at : at + 2])
            pieces.setdefault(piece.text, piece)
    return tuple(pieces.values())[:MOST_TERMS]


def _terms(text: str) -> Iterator[tuple[Term, bool]]:
    for found in _CHUNK.finditer(text):
        minus, *quotes, chunk = found.groups()
        if chunk is None:
            quoted = "".join(quote or "" for quote in quotes)
            if quoted.strip():
                yield _make_phrase(quoted), minus == ""
            continue
        wanted = True
        if len(chunk) > 1 and chunk[0] == "-" and (chunk[1].isalnum() or chunk[1] in "_#./@"):
            chunk, wanted = chunk[1:], False
        for term in _read(chunk):
            yield term, wanted


def _make_phrase(text: str) -> Term:
    words = tuple(words_of(text))
    return Term(kind="phrase" if words else "substring", text=text, words=words, quoted=True)


def _read(chunk: str) -> Iterator[Term]:
    if found := _PREFIX.fullmatch(chunk):
        yield Term(kind="prefix", text=found[1], words=tuple(words_of(found[1])))
        return
    bare = _CLOSING.sub("", _OPENING.sub("", chunk)) or chunk
    bare = _POSSESSIVE.sub("", bare) or bare
    if _UNSPACED_RUN.search(bare) and not re.search(r"[\w\-][./\\:#@_][\w\-]", bare):
        yield from _split_by_script(bare)
    else:
        yield _plain(bare)


def _split_by_script(text: str) -> Iterator[Term]:
    at = 0
    for found in _UNSPACED_RUN.finditer(text):
        if other := text[at : found.start()].strip():
            yield _plain(other)
        yield Term(kind="substring", text=found[0], words=(found[0],))
        at = found.end()
    if other := text[at:].strip():
        yield _plain(other)


def _plain(text: str) -> Term:
    words = tuple(words_of(text))
    if _LETTERS.fullmatch(text) or _NUMBER.fullmatch(text):
        return Term(kind="word", text=text, words=words)
    if _JOINED.fullmatch(text):
        return Term(kind="phrase", text=text, words=words)
    return Term(kind="substring", text=text, words=words)


def _mark_small(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    plain = [word for term in terms if not term.quoted for word in term.words]
    small = _find_small_words(plain)

    def is_small(term: Term) -> bool:
        if term.quoted or term.kind == "prefix":
            return False
        return small.issuperset(term.words) if term.words else len(term.text) < 3

    return tuple(replace(term, small=True) if is_small(term) else term for term in terms)


def _filters(text: str) -> tuple[str, Filters]:
    """Take the filters out of a query; one that cannot be meant stays in it as text."""
    given: dict[str, list[str]] = {"role": [], "source": [], "tool": [], "session": []}
    times: dict[str, float] = {}

    def take(found: re.Match[str]) -> str:
        name, value = found[1].lower(), found[2] or found[3]
        if name in ("since", "until"):
            moment = _read_moment(value, end=name == "until")
            if moment is None:
                return found[0]
            times[name] = moment
        elif name == "role" and value.lower() not in _ROLES:
            return found[0]
        else:
            given[name].append(value.lower() if name == "role" else value)
        return " "

    rest = re.sub(rf"(?<!\S){_FILTER.pattern}", take, text, flags=re.I)
    return rest, Filters(
        roles=tuple(given["role"]),
        sources=tuple(given["source"]),
        tools=tuple(given["tool"]),
        sessions=tuple(given["session"]),
        since=times.get("since"),
        until=times.get("until"),
    )


def _read_moment(text: str, *, end: bool) -> float | None:
    """Return a date or time in UTC; the end of a day is the beginning of the next."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        if end and len(text) <= len("2026-01-31"):
            moment += timedelta(days=1)
        return moment.timestamp()
    except (ValueError, OverflowError):
        return None


_SMALL = tuple(
    frozenset(words.split())
    for words in read_table("small_words", dict[str, str], "foldaway.search").values()
)
"""By language, English first."""


def _find_small_words(words: list[str]) -> frozenset[str]:
    """Return those of the words that are small in the language that has most of them.

    English where two are level. One word alone proves no other language in Latin letters: `die`.
    """
    seen = frozenset(words)
    best: frozenset[str] = frozenset()
    for language in _SMALL:
        found = seen & language
        is_proof = language is _SMALL[0] or len(found) > 1 or not "".join(found).isascii()
        if len(found) > len(best) and is_proof:
            best = found
    return best
