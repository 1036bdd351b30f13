"""Identifiers, addresses, amounts and dates of a dialogue, with the words beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from holdfast.facts.dialogue.passages import looks_pasted
from holdfast.facts.dialogue.shapes import (
    CODE_WORDS,
    HALVES,
    MONTHS,
    MentionKind,
    shape_between,
    shape_of,
    stripped,
)  # fmt: skip
from holdfast.facts.dialogue.slots import SLOT_WORDS, slots_in

_WORDS_BEFORE = 5
_WORDS_AFTER = 3
_CONTEXT_CHARS = 120
"""How far the words around a value are looked for."""
_DIGIT = re.compile(r"[0-9]")
_URL = re.compile(r"""https?://[^\s<>"'`\])}|\\^]{3,500}""")
_CAPITALS = re.compile(r"[A-Z][A-Z]{4,7}(?![A-Za-z0-9_])")
_YEAR = re.compile(r",? \d{4}(?!\w)")
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
