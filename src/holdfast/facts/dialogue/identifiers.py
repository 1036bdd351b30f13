"""Identifiers in a text: what a word is by its form and by the words beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from holdfast.facts.dialogue.text import looks_pasted
from holdfast.facts.dialogue.values import SLOT_WORDS, slots_in
from holdfast.facts.tables import WORDS
from holdfast.regex import Regex

MentionKind: TypeAlias = Literal[
    "url", "host", "port", "version", "hash", "id", "ticket", "amount", "date", "time", "value"
]

_UUID = Regex(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")
_DATE = Regex(
    r"\d{4}-[01]\d-[0-3]\d(?:T\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)?\Z|"
    r"[0-3]?\d/[0-3]?\d/(?:\d\d){1,2}\Z|[0-3]?\d\.[01]?\d\.\d{4}\Z|"
    r"\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?\Z|\d{1,2}月\d{1,2}日\Z"
)
_TIME = Regex(r"[012]?\d:[0-5]\d(?::[0-5]\d)?(?:[AaPp][Mm])?\Z|1?\d[AaPp][Mm]\Z")
_AMOUNT = Regex(
    r"-?(?:[$€£¥₹₩₽]|US\$|R\$)\d[\d,.]{0,20}[kKmMbB]?\Z|-?\d[\d,.]{0,20}(?:[€£¥₹₩₽$]|元|円|원)\Z"
)
_ADDRESS = Regex(r"(?:\d{1,3}\.){3}\d{1,3}(?::\d{2,5})?\Z")
_HOST_PORT = Regex(r"(?:[a-z][\w-]*(?:\.[\w-]+)*)?:\d{2,5}\Z")
_VERSION = Regex(
    r"[vV]\d{1,4}(?:\.\d{1,6}){0,3}(?:[-+.][\w.+-]{1,30})?\Z|"
    r"[\^~=<>]{0,2}\d{1,4}(?:\.\d{1,6}){2,3}(?:[-+][\w.+-]{1,30})?\Z"
)
_SHORT_VERSION = Regex(r"\d{1,3}\.\d{1,3}\Z")
_HEX = Regex(r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}\Z")
_TICKET = Regex(r"[A-Z][A-Z0-9]{1,9}-\d{1,7}\Z|#\d{1,5}\Z")
_CODE = Regex(r"(?=\w*[A-Z])(?=\w*\d)[A-Z0-9]{5,16}\Z")
_SOURCE_LINE = Regex(r"[^:]*\.[a-z]{1,4}:\d+\Z")
_USER_ID = Regex(r"[A-Za-z]+(?:_[A-Za-z]+)*_[A-Za-z]*\d{2,}\w*\Z|[a-z]{2,}\d{3,}\Z")
_NUMBER_ID = Regex(r"\d{6,20}\Z")
_NUMBER = Regex(r"\d{1,20}\Z")
_DAY = Regex(r"[0-3]?\d(?:st|nd|rd|th)?\Z")
_NOT_IDS = Regex(
    r"(?:sha|md|utf|base|aes|rsa|ipv|http|rfc|iso|ed|x|i|int|uint|float|fp|mp|tls|ssl|es|"
    r"oauth|win|arm|amd|h|v|p|q|s)[-_]?\d+(?:_\d+)?\Z",
    re.I,
)
_EDGES = ".,;:!?()[]{}\"'`*<>«»“”‘’…。，、；：！？（）「」|"


def stripped(word: str) -> str:
    """Return a word without the marks around it."""
    return word.strip(_EDGES)


def shape_of(word: str) -> MentionKind | None:
    """Return what a stripped word is by itself; None where it takes other words to tell."""
    if len(word) < 2 or len(word) > 100 or "@" in word:
        return None
    first = word[0]
    if first.isdigit() or first in "^~=<>-":
        return _numeric(word)
    if first in "$€£¥₹₩₽" or (first in "UR" and "$" in word):
        return "amount" if _AMOUNT.match(word) else None
    if first in "#:":
        return "ticket" if _TICKET.match(word) else "port" if _HOST_PORT.match(word) else None
    return _lettered(word)


def _numeric(word: str) -> MentionKind | None:
    if _NUMBER_ID.match(word):
        return "id"
    if word.isdigit():
        return None
    if _UUID.match(word):
        return "id"
    if _DATE.match(word):
        return "date"
    if _TIME.match(word):
        return "time"
    if _AMOUNT.match(word):
        return "amount"
    if _ADDRESS.match(word):
        return "host"
    if _VERSION.match(word):
        return "version"
    if _HEX.match(word):
        return "hash"
    return "id" if _CODE.match(word) else None


def _lettered(word: str) -> MentionKind | None:
    if _VERSION.match(word):
        return "version"
    if ":" in word:
        return "host" if _HOST_PORT.match(word) and not _SOURCE_LINE.match(word) else None
    if _HEX.match(word):
        return "hash"
    if _NOT_IDS.match(word):
        return None
    if _UUID.match(word) or _CODE.match(word) or _USER_ID.match(word):
        return "id"
    return "ticket" if _TICKET.match(word) else None


_BEFORE: dict[str, MentionKind] = {
    **dict.fromkeys(("port", "ports", "puerto", "porta", "端口", "порт"), "port"),
    **dict.fromkeys(("version", "versions", "versión", "versão"), "version"),
    **dict.fromkeys(("pr", "prs", "issue", "issues", "ticket", "bug", "mr", "pull"), "ticket"),
    **dict.fromkeys(
        ("id", "ids", "order", "number", "account", "zip", "invoice", "booking", "card", "case",
         "ending in", "pid", "gate", "flight", "reservation"), "id",
    ),
}  # fmt: skip
_CURRENCIES = WORDS["currencies"]
HALVES = frozenset(("am", "pm", "a.m", "p.m"))
MONTHS = WORDS["months"]
CODE_WORDS = WORDS["code_words"]
_NAMING = frozenset(("id", "number", "zip", "account", "pid", "code"))
"""Of these a sentence says "is": my id is 25."""
_LEAST_ID_DIGITS = 2
"""A shorter number is a count and not an id."""


def shape_between(word: str, two_before: list[str], after: str) -> MentionKind | None:
    """Return what a bare number is, by the words beside it in lower case."""
    before = two_before[-1] if two_before else ""
    if (before in MONTHS or after in MONTHS) and _DAY.match(word):
        return "date"
    if _NUMBER.match(word):
        if after in _CURRENCIES:
            return "amount"
        if after in HALVES:
            return "time"
        kind = _BEFORE.get(before) or _BEFORE.get(" ".join(two_before))
        if kind is None and before in ("is", "was") and two_before[0] in _NAMING:
            kind = "id"
        return None if kind == "id" and len(word) < _LEAST_ID_DIGITS else kind
    if _SHORT_VERSION.match(word):
        if after in _CURRENCIES:
            return "amount"
        return "version" if before == "version" or before in _RUNTIMES else None
    return None


_RUNTIMES = WORDS["runtimes"]


_WORDS_BEFORE = 5
"""Words before a value that are shown with it; chosen, what a value is called stands before it."""
_WORDS_AFTER = 3
"""Words after a value that are shown with it; chosen."""
_CONTEXT_CHARS = 120
"""How far the words around a value are looked for."""
_DIGIT = Regex(r"[0-9]")
_URL = Regex(r"""https?://[^\s<>"'`\])}|\\^]{3,500}""")
_CAPITALS = Regex(r"[A-Z][A-Z]{4,7}(?![A-Za-z0-9_])")
_YEAR = Regex(r",? \d{4}(?!\w)")
_CODE_SIGNS = ("eservation", "ooking", "onfirmation", " code", "eference")
"""Beside these words a code may be of letters only."""
_RANK: dict[MentionKind, int] = {
    "id": 1, "ticket": 1, "hash": 1, "port": 1, "url": 2, "host": 2, "amount": 2, "version": 2,
    "date": 3, "time": 4, "value": 4,
}  # fmt: skip
_READ_CHARS = 20_000
"""Of a longer line only its two halves at the ends are read."""
_LOOKED_AT = 8
"""Times `most`: mentions that are weighed before the rest is given up."""


class Mention(Struct, frozen=True, gc=False):
    """One value with the words around it; `context` holds the value too.

    `slot` names what the value is of, only where the text states it and a later value would take
    its place; `was` is the older value, where the text says it.
    """

    value: str
    kind: MentionKind
    context: str
    slot: str = ""
    was: str = ""


def identifiers(text: str, most: int) -> tuple[Mention, ...]:
    """Return at most `most` mentions: values of a slot first, then ids, then the rest.

    Within a rank they stand in the order of the text, and a value stands once. E-mail addresses
    and paths are not among them. A name with several values in one text is a list and no slot,
    unless the text says which one took the other's place.
    """
    coded = any(sign in text for sign in _CODE_SIGNS)
    linked, branch = "://" in text, "branch" in text
    moved = " from " in text and " to " in text
    found: dict[str, Mention] = {}
    listed: dict[str, str] = {}
    has_digit = _DIGIT.search
    for line in text.split("\n"):
        if not (
            has_digit(line)
            or coded
            or (linked and "://" in line)
            or (branch and "branch" in line)
            or (moved and " from " in line)
        ):
            continue
        for part in _ends(line):
            _read(part, found, listed, coded=coded)
        if len(found) > most * _LOOKED_AT:
            break
    mentions = [
        replace(one, slot="") if one.slot and listed.get(one.slot) == "" else one
        for one in found.values()
    ]
    mentions.sort(key=lambda one: 0 if one.slot else _RANK[one.kind])
    return tuple(mentions[:most])


def _ends(line: str) -> tuple[str, ...]:
    if len(line) <= _READ_CHARS:
        return (line,)
    return line[: _READ_CHARS // 2], line[-_READ_CHARS // 2 :]


def _read(line: str, found: dict[str, Mention], listed: dict[str, str], *, coded: bool) -> None:
    if coded:
        for match in _CAPITALS.finditer(line):
            if not CODE_WORDS.isdisjoint(_words_before(line, match.start())[-1:]):
                _add(found, line, match.start(), match.group(), "id")
    if "://" in line:
        for match in _URL.finditer(line):
            _add(found, line, match.start(), match.group().rstrip(".,;:!?*_"), "url")
    counted = _DIGIT.search(line) is not None
    if (counted or "branch" in line or " from " in line) and not SLOT_WORDS.isdisjoint(
        line.lower().replace(":", " ").split()
    ):
        _read_slots(line, found, listed)
    if counted:
        _read_numbers(line, found)


def _read_numbers(line: str, found: dict[str, Mention]) -> None:
    for start, word in _words_with_digits(line):
        bare = stripped(word)
        kind = shape_of(bare)
        at = start + word.find(bare)
        if kind is None:
            before, after = _words_before(line, start), _word_after(line, at + len(bare))
            kind = shape_between(bare, before, after)
            if kind == "date":
                at, bare = _named_date(line, at, bare, before[-1:], after)
        if kind == "time":
            bare = _with_half(line, at, bare)
        if kind is not None:
            _add(found, line, at, bare, kind)


def _named_date(line: str, at: int, bare: str, before: list[str], after: str) -> tuple[int, str]:
    """Return a day with the name of its month and its year, and where that starts."""
    end = at + len(bare)
    if not MONTHS.isdisjoint(before):
        at = line.lower().rfind(before[0], 0, at)
    else:
        end = line.lower().find(after, end) + len(after)
    year = _YEAR.match(line, end)
    return at, line[at : year.end() if year else end]


def _read_slots(line: str, found: dict[str, Mention], listed: dict[str, str]) -> None:
    if looks_pasted(line):
        return
    for slot in slots_in(line):
        kind = shape_of(slot.value) or ("port" if slot.name.endswith("port") else "value")
        context = _around(line, slot.at, slot.value)
        found[slot.value] = Mention(slot.value, kind, context, slot.name, slot.was)
        several = listed.get(slot.name, slot.value) != slot.value
        listed[slot.name] = "" if several and not slot.was else slot.value


def _add(found: dict[str, Mention], line: str, at: int, value: str, kind: MentionKind) -> None:
    if value and value not in found:
        found[value] = Mention(value, kind, _around(line, at, value))


def _words_with_digits(line: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a line that hold a digit, and where they start."""
    flat = line.replace("\t", " ").replace("\r", " ")
    found = _DIGIT.search(flat)
    while found:
        start = flat.rfind(" ", 0, found.start()) + 1
        end = flat.find(" ", found.end())
        end = end if end >= 0 else len(flat)
        yield start, flat[start:end]
        found = _DIGIT.search(flat, end)


def _words_before(line: str, start: int) -> list[str]:
    """Return the two words before a place, in lower case and without marks."""
    words = line[max(start - 40, 0) : start].split()[-2:]
    return [stripped(word).lower() for word in words]


def _word_after(line: str, end: int) -> str:
    words = line[end : end + 30].split(None, 2)
    return next((bare.lower() for bare in map(stripped, words) if bare), "")


def _with_half(line: str, at: int, bare: str) -> str:
    """Return a time with its "AM" or "PM", where that is the next word."""
    end = at + len(bare)
    half = stripped(line[end + 1 : end + 6].partition(" ")[0])
    spaced = line[end : end + 1] == " " and half.lower() in HALVES
    return line[at : end + 1 + len(half)] if spaced else bare


def _around(line: str, at: int, value: str) -> str:
    """Return a value with some five words before and three after it."""
    end = at + len(value)
    first, last = max(at - _CONTEXT_CHARS, 0), end + _CONTEXT_CHARS
    before = line[first:at].split()[-_WORDS_BEFORE - 1 :]
    after = line[end:last].split()[: _WORDS_AFTER + 1]
    if first and before and not line[first - 1].isspace() and len(before) <= _WORDS_BEFORE:
        del before[0]
    left = " ".join(before[-_WORDS_BEFORE:])
    right = " ".join(after[:_WORDS_AFTER])
    glue_left = "" if at == 0 or not line[at - 1].isspace() else " "
    glue_right = "" if not line[end : end + 1].isspace() else " "
    return f"{left}{glue_left}{value}{glue_right}{right}".strip()
