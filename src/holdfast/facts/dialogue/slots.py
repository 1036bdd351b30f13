"""Values of something named: "port is now 8081", "changed the timeout from 30 to 60"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from holdfast.facts.dialogue.vocabulary import phrases_in

_VERBS = (
    "change changed changes changing update updated updates updating bump bumped bumps bumping "
    "switch switched switches switching set sets setting increase increased increases increasing "
    "decrease decreased decreases decreasing raise raised raises raising lower lowered lowers "
    "lowering move moved moves moving upgrade upgraded upgrades upgrading downgrade downgraded "
    "downgrades downgrading reduce reduced reduces reducing rename renamed renames renaming pin "
    "pinned pins pinning"
)
_LASTING = (
    "port version timeout limit budget deadline branch host endpoint model threshold interval "
    "retries quota cabin status region environment namespace database ttl temperature level seat "
    "gate capacity"
)
"""What has one value at a time, so that a new one takes the place of the old."""
_MANIFOLD = (
    "price cost total balance fee size rate count date time amount number quantity duration width "
    "height depth id tag address name"
)
"""What there are many of: only a word of change makes one value the follower of another."""
_WORDY = frozenset(
    phrases_in(
        "cabin|class|status|region|environment|namespace|database|model|mode|format|encoding|"
        "language|theme|name|title|owner|assignee|priority|state|level|plan|tier"
    )
)
"""What goes from one plain word to another; a flight from Rome to Oslo is no change."""
SLOT_WORDS = frozenset(f"{_VERBS} {_LASTING} {_MANIFOLD}".split())
"""A line without one of these states no slot."""

_VERB_SET = frozenset(_VERBS.split())
_LASTING_SET = frozenset(_LASTING.split())
_ANY_NOUN = "|".join(f"{_LASTING} {_MANIFOLD}".split())
_VALUE = r"""(?P<{}>[`'"]?[$€£#~^]?\w(?:[\w.:/%+-]|,(?=\d)){{0,60}}[`'"]?)"""
_AFTER_VERB = re.compile(
    r"\s(?:the\s|our\s|my\s|your\s|its\s|a\s|an\s)?"
    r"(?P<name>(?!from\s|to\s)[`\w][\w.`-]{0,40}(?:\s(?!from\s|to\s)[`\w][\w.`-]{0,40}){0,2})\s"
    r"(?:from\s" + _VALUE.format("was") + r"\s)?to\s(?:be\s)?" + _VALUE.format("value"),
    re.I,
)
_AFTER_NOUN = re.compile(
    r"(?:(?:[`'\"*]{0,3}\s(?:is|was|are|will\sbe|should\sbe|becomes|became)\s"
    r"|[`'\"*]{0,3}\s?[:=]\s?[*`'\"]{0,3}\s?|\s)"
    r"(?P<now>now\s|currently\s|changed\sto\s|updated\sto\s|set\sto\s)?)"
    + _VALUE.format("value")
    + r"(?:\s(?P<instead>instead\sof|rather\sthan|not|and\snot)\s(?:(?:"
    + _ANY_NOUN + r")\s)?" + _VALUE.format("was") + r")?",
    re.I,
)  # fmt: skip
_STATING = re.compile(r"\W{0,3}\s?(?:is|was|are|will|should|becomes|became|[:=])", re.I)
_NOT_VALUES = frozenset(
    phrases_in(
        "a|an|the|not|now|in|on|at|of|to|for|from|and|or|but|is|are|was|be|been|being|it|"
        "this|that|they|we|i|you|what|which|when|where|how|why|if|then|there|here|with|"
        "without|by|as|so|only|also|still|already|all|any|some|no|none|one|two|both|each|"
        "more|less|most|least|same|new|old|correct|wrong|ready|done|up|down|out|set|just|"
        "very|too|required|needed|missing|unknown|used|protection|name|names|null|none|true|"
        "false|clean"
    )
)
_QUOTES = ("`", "'", '"')
_PLAIN = ".,;:!?)(`'\"*"
_IDLE_NAMES = frozenset(("it", "this", "that", "them", "back", "over", "from", "up", "you", "me"))
_FILLERS = frozenset(
    phrases_in(
        "use|using|via|the|our|my|your|its|a|an|new|current|and|that|this|for|of|with|on|in|to|so|now|keep|"
        "same|old|default|final|next|last|each|per|updated|correct|is|be|as|at|or|by|if|both|"
        "latest|because|before|after|when|where|while|than|then|from"
    )
)
_CHANGES = frozenset(("new", "updated", "now"))
_DIGIT = re.compile(r"[0-9]")
_VERSIONED = re.compile(r"[vV]\d+(?:\.\d+)*|\d+(?:\.\d+){2,3}(?:[-+][\w.]+)?")
_BRANCH_NAME = re.compile(r"[A-Za-z][\w.]*[/_-][\w./-]+|main|master|develop|dev|trunk")
_WORD = re.compile(r"[A-Za-z]+")
_READ_CHARS = 1_000
_MOST_PER_LINE = 4


class Slot(Struct, frozen=True, gc=False):
    """A name and the value that a text gives it; `was` where it also says the older one."""

    name: str
    value: str
    was: str
    at: int
    """Where in the line the value stands."""


def slots_in(line: str) -> list[Slot]:
    """Return the values that a line states for something named, at most four."""
    found: list[Slot] = []
    taken: set[str] = set()
    for slot in _stated(line[:_READ_CHARS]):
        if slot.value not in taken and len(found) < _MOST_PER_LINE:
            taken.update((slot.value, slot.was))
            found.append(slot)
    return found


def _stated(line: str) -> Iterator[Slot]:
    for word in _WORD.finditer(line):
        low = word.group().lower()
        if low not in SLOT_WORDS:
            continue
        if low in _VERB_SET:
            match = _AFTER_VERB.match(line, word.end())
            slot = _after_verb(match) if match else None
        else:
            match = _AFTER_NOUN.match(line, word.end())
            slot = _after_noun(line, word, low, match) if match else None
        if slot is not None:
            yield slot


def _after_verb(match: re.Match[str]) -> Slot | None:
    words = [_plain(word) for word in match["name"].replace("`", "").split()]
    was, value = match["was"] or "", match["value"]
    quoted = was[:1] in _QUOTES and value[:1] in _QUOTES
    worded = bool(was) and (quoted or words[-1] in _WORDY)
    value, was = (_value(one, words[-1], worded=worded) for one in (value, was))
    name = _name_of(words, value)
    at = match.string.find(value, match.start("value"))
    return Slot(name, value, was, at) if name and value else None


def _after_noun(line: str, word: re.Match[str], noun: str, match: re.Match[str]) -> Slot | None:
    before = line[max(word.start() - 60, 0) : word.start()].lower().split()[-2:]
    was = _value(match["was"] or "", noun)
    changes = bool(match["now"] or was) or not _CHANGES.isdisjoint(before)
    if noun not in _LASTING_SET and not changes:
        return None
    bare = not _STATING.match(line, word.end())
    if bare and not was and not (noun == "branch" and before[-1:] in (["to"], ["on"], ["onto"])):
        return None
    value = _value(match["value"], noun)
    kept = [one.strip(_PLAIN) for one in before[-1:] if one.isalpha() and one not in _FILLERS]
    name = _name_of([*kept, noun], value)
    at = line.find(value, match.start("value"))
    return Slot(name, value, was, at) if name and value else None


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
