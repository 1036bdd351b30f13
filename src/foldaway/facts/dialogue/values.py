"""Values of something named in a sentence: "port is now 8081"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from foldaway.facts.dialogue.text import looks_pasted
from foldaway.facts.tables import WORDS
from foldaway.regex import Regex

_VERBS = WORDS["change_verbs"]
_LASTING = WORDS["lasting"]
_MANIFOLD = WORDS["manifold"]
_WORDED = WORDS["worded"]
SLOT_WORDS = _VERBS | _LASTING | _MANIFOLD
"""A line without one of these states no slot."""

_ANY_NOUN = "|".join(sorted(_LASTING | _MANIFOLD))
_VALUE = r"""(?P<{}>[`'"]?[$€£#~^]?\w(?:[\w.:/%+-]|,(?=\d)){{0,60}}[`'"]?)"""
_AFTER_VERB = Regex(
    r"\s(?:the\s|our\s|my\s|your\s|its\s|a\s|an\s)?"
    r"(?P<name>(?!from\s|to\s)[`\w][\w.`-]{0,40}(?:\s(?!from\s|to\s)[`\w][\w.`-]{0,40}){0,2})\s"
    r"(?:from\s" + _VALUE.format("was") + r"\s)?to\s(?:be\s)?" + _VALUE.format("value"),
    re.I,
)
_AFTER_NOUN = Regex(
    r"(?:(?:[`'\"*]{0,3}\s(?:is|was|are|will\sbe|should\sbe|becomes|became)\s"
    r"|[`'\"*]{0,3}\s?[:=]\s?[*`'\"]{0,3}\s?|\s)"
    r"(?P<now>now\s|currently\s|changed\sto\s|updated\sto\s|set\sto\s)?)"
    + _VALUE.format("value")
    + r"(?:\s(?P<instead>instead\sof|rather\sthan|not|and\snot)\s(?:(?:"
    + _ANY_NOUN + r")\s)?" + _VALUE.format("was") + r")?",
    re.I,
)  # fmt: skip
_STATING = Regex(r"\W{0,3}\s?(?:is|was|are|will|should|becomes|became|[:=])", re.I)
_NOT_VALUES = WORDS["not_values"]
_QUOTES = ("`", "'", '"')
_PLAIN = ".,;:!?)(`'\"*"
_IDLE_NAMES = frozenset(("it", "this", "that", "them", "back", "over", "from", "up", "you", "me"))
_FILLERS = WORDS["fillers"]
_CHANGES = frozenset(("new", "updated", "now"))
_DIGIT = Regex(r"[0-9]")
_VERSIONED = Regex(r"[vV]\d+(?:\.\d+)*|\d+(?:\.\d+){2,3}(?:[-+][\w.]+)?")
_BRANCH_NAME = Regex(r"[A-Za-z][\w.]*[/_-][\w./-]+|main|master|develop|dev|trunk")
_WORD = Regex(r"[A-Za-z]+")
_READ_CHARS = 1_000
"""Of a line, when values are looked for; chosen, a longer line is data."""
_MOST_PER_LINE = 4
"""Values that one line states; chosen, a line with more is a listing."""


class StatedValue(Struct, frozen=True, gc=False):
    """A name and the value that a text gives it; `was` where it also says the older one."""

    name: str
    value: str
    was: str


def stated_values(text: str, most: int) -> list[StatedValue]:
    """Return at most `most` values that a text states for something named, each value once.

    A name with several values in one text is a list and no statement, unless the text says which
    one took the other's place.
    """
    found: dict[str, StatedValue] = {}
    newest: dict[str, str] = {}
    for line in text.split("\n"):
        may_state = _DIGIT.search(line) or "branch" in line or " from " in line
        if not may_state or SLOT_WORDS.isdisjoint(line.lower().replace(":", " ").split()):
            continue
        for slot in [] if looks_pasted(line) else slots_in(line):
            found[slot.value] = slot
            is_list = newest.get(slot.name, slot.value) != slot.value and not slot.was
            newest[slot.name] = "" if is_list else slot.value
    return [slot for slot in found.values() if newest[slot.name]][:most]


def slots_in(line: str) -> list[StatedValue]:
    """Return the values that a line states for something named, at most four."""
    found: list[StatedValue] = []
    taken: set[str] = set()
    for slot in _stated(line[:_READ_CHARS]):
        if slot.value not in taken and len(found) < _MOST_PER_LINE:
            taken.update((slot.value, slot.was))
            found.append(slot)
    return found


def _stated(line: str) -> Iterator[StatedValue]:
    for word in _WORD.finditer(line):
        low = word.group().lower()
        if low not in SLOT_WORDS:
            continue
        if low in _VERBS:
            match = _AFTER_VERB.match(line, word.end())
            slot = _after_verb(match) if match else None
        else:
            match = _AFTER_NOUN.match(line, word.end())
            slot = _after_noun(line, word, low, match) if match else None
        if slot is not None:
            yield slot


def _after_verb(match: re.Match[str]) -> StatedValue | None:
    words = [_plain(word) for word in match["name"].replace("`", "").split()]
    was, value = match["was"] or "", match["value"]
    quoted = was[:1] in _QUOTES and value[:1] in _QUOTES
    worded = bool(was) and (quoted or words[-1] in _WORDED)
    value, was = (_value(one, words[-1], worded=worded) for one in (value, was))
    name = _name_of(words, value)
    return StatedValue(name, value, was) if name and value else None


def _after_noun(
    line: str, word: re.Match[str], noun: str, match: re.Match[str]
) -> StatedValue | None:
    before = line[max(word.start() - 60, 0) : word.start()].lower().split()[-2:]
    was = _value(match["was"] or "", noun)
    changes = bool(match["now"] or was) or not _CHANGES.isdisjoint(before)
    if noun not in _LASTING and not changes:
        return None
    bare = not _STATING.match(line, word.end())
    if bare and not was and not (noun == "branch" and before[-1:] in (["to"], ["on"], ["onto"])):
        return None
    value = _value(match["value"], noun)
    kept = [one.strip(_PLAIN) for one in before[-1:] if one.isalpha() and one not in _FILLERS]
    name = _name_of([*kept, noun], value)
    return StatedValue(name, value, was) if name and value else None


def _value(shown: str, noun: str, *, worded: bool = False) -> str:
    """Return the bare value, "" where it is no value; a plain word is one only if `worded`."""
    value = shown.strip(_PLAIN)
    if value.lower() in _NOT_VALUES:
        return ""
    if noun == "branch":
        named = _BRANCH_NAME.fullmatch(value) and not value.endswith("-only")
        return value if named else ""
    return value if worded or _DIGIT.search(value) else ""


def _plain(word: str) -> str:
    """Return a word in lower case; a name in code as it is written."""
    is_word = word.isalpha() and (word.isupper() or word[1:].islower() or len(word) == 1)
    return word.lower() if is_word else word


def _name_of(words: list[str], value: str) -> str:
    """Return the name in its plain form; what has versions is named "version of" it."""
    kept = [word for word in words if word not in _FILLERS]
    name = " ".join(kept)
    if not kept or name in _IDLE_NAMES:
        return ""
    if len(kept) > 1 and kept[-1] == "version":
        return f"version of {' '.join(kept[:-1])}"
    if _VERSIONED.fullmatch(value) and "version" not in kept:
        return f"version of {name}"
    return name
