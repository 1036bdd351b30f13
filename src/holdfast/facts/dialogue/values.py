"""Values of something named: in a sentence ("port is now 8081") or as the fields of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

import msgspec
from msgspec import Struct

from holdfast.facts.dialogue.text import looks_pasted
from holdfast.facts.tables import WORDS, read_table
from holdfast.lenient_json import loose_leaves
from holdfast.regex import Regex

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


_WORTH: dict[str, float] = {
    word: weight
    for weight, words in reversed(read_table("fields", dict[str, list[tuple[float, str]]])["rows"])
    for word in words.split()
}
_USUAL = 2.0
"""What a field is worth whose name is not in `_WORTH`; between its least and its greatest."""
_PARTS = Regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@lru_cache(maxsize=4096)
def worth_of(key: str) -> float:
    """Return how likely a field of this name is asked for again; 2.0 for an unknown one."""
    low = key.lower()
    known = _WORTH.get(low) or _WORTH.get(low.removesuffix("s"))
    if known:
        return known
    parts = [part.lower() for part in _PARTS.findall(key[:80])]
    return max((_WORTH[part] for part in parts[-2:] if part in _WORTH), default=_USUAL)


_MOST_LEAVES = 4_000
"""Leaves that are weighed before the rest of a huge value is given up."""
_MOST_CHARS = 160
"""A longer value is text and not a field."""
_MOST_PATH_CHARS = 200
"""A longer path to a field names nothing."""
_MOST_LOOSE_CHARS = 400_000
"""Of data that is not valid JSON; chosen, it bounds the time."""
_MOST_DEPTH = 64
"""Values nested deeper are not read; chosen, it bounds recursion."""
_SHORT_CHARS = 40
"""A longer value costs `_LONG_COST`; chosen."""
_LONG_COST = 1.5
"""What a long value is worth less; chosen, less than `_USUAL`."""
_DEPTH_COST = 0.1
"""What a field is worth less for each level that it is nested; chosen, it only breaks ties."""
_LATER_COST = 0.002
"""What a field is worth less for each one before it; chosen, at most 1 with `_LATER_FROM`."""
_LATER_FROM = 500
"""Of two fields of the same name the earlier one comes first."""
_EMPTY = ("null", "None", "", "[]", "{}")
_EMPTY_COST = 2.0
"""What null, false and the like are worth less; the same as `_USUAL`."""
_ROW_CHARS = 240
"""Of the line of one item, as of any other line of a text."""
_BETWEEN_CHARS = 4
"""What stands between a name and its value, and between two fields."""
_ID = Regex(r"(?=[\d_-]*[A-Za-z])(?=\D*\d)[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*\Z")
_ID_WORTH = 3.0
"""What looks like an id is one, whatever its name."""
_decoder = msgspec.json.Decoder(float_hook=str)
"""Numbers stay as they are written: 1.10 is not 1.1."""


class DataField(Struct, frozen=True, gc=False):
    """`path = value`; the path is made of the keys above it, e.g. `flights[0].date`."""

    path: str
    value: str
    worth: float
    """How likely it is needed again, by its name, its length and its depth."""

    @property
    def row(self) -> str:
        """The path of the item of a list or table that it belongs to; "" for none."""
        path = self.path.removesuffix(self._tail)
        return path[: path.rfind("]") + 1]

    @property
    def label(self) -> str:
        """What it is called on the line of its item."""
        return self.path.removesuffix(self._tail)[len(self.row) :].lstrip(".").replace(".", " ")

    @property
    def _tail(self) -> str:
        """The index of a plain value in a list: its list is a field."""
        return f"[{self.path.rpartition('[')[2]}" if self.path.endswith("]") else ""


def data_rows(text: str, most: int) -> list[str]:
    """Return structured data as lines, one for each item of a list or table and one for what
    stands beside them: the name of an item stands beside its id. In the order of the data.

    A line holds the worthiest fields of its item, up to 240 characters.
    """
    rows: dict[str, list[DataField]] = {}
    for field in fields(text):
        rows.setdefault(field.row, []).append(field)
    return [_row(row) for row in islice(rows.values(), most)]


def _row(item: list[DataField]) -> str:
    """Return the fields of one item on a line, values of one name together."""
    room = _ROW_CHARS
    kept: set[str] = set()
    for field in sorted(item, key=lambda field: -field.worth):
        cost = len(field.label) + len(field.value) + _BETWEEN_CHARS
        if cost <= room or not kept:
            room -= cost
            kept.add(field.path)
    values: dict[str, list[str]] = {}
    for field in item:
        if field.path in kept:
            values.setdefault(field.label, []).append(field.value)
    return "; ".join(
        f"{name}: {', '.join(found)}" if name else ", ".join(found)
        for name, found in values.items()
    )


def fields(text: str) -> list[DataField]:
    """Return the fields of structured data, in their order.

    JSON, Python's own form of it, rows of a table, and either of them cut off at the end. Any
    other text has no fields. A string that is itself such a value is read too.
    """
    start = text[:64].lstrip()[:1]
    if start not in ("{", "[", "("):
        return []
    found: dict[str, DataField] = {}
    for path, key, value, depth in _leaves(text):
        if not value or len(value) > _MOST_CHARS or len(path) > _MOST_PATH_CHARS or path in found:
            continue
        if not value.isprintable():
            continue
        worth = worth_of(key) - _DEPTH_COST * depth - _LATER_COST * min(len(found), _LATER_FROM)
        if len(value) > _SHORT_CHARS:
            worth -= _LONG_COST
        elif value in _EMPTY:
            worth -= _EMPTY_COST
        elif worth < _ID_WORTH and _ID.match(value):
            worth = _ID_WORTH
        found[path] = DataField(path, value, worth)
    return list(found.values())


def _leaves(text: str) -> Iterator[tuple[str, str, str, int]]:
    try:
        value = _decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError, ValueError):
        for path, key, leaf in loose_leaves(text[:_MOST_LOOSE_CHARS], _MOST_LEAVES):
            yield path, key, leaf, path.count(".") + path.count("[")
        return
    yield from _walked(value)


def _walked(value: object) -> Iterator[tuple[str, str, str, int]]:
    """Yield the leaves of a decoded value, in their order, without recursion."""
    given = 0
    stack: list[tuple[str, str, object, int]] = [("", "", value, 0)]
    while stack and given < _MOST_LEAVES:
        path, key, here, depth = stack.pop()
        given += 1
        if depth > _MOST_DEPTH:
            continue
        match here:
            case dict():
                rows: list[tuple[object, object]] = list(here.items())[:_MOST_LEAVES]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType, reportUnknownMemberType]
                is_table = len(rows) > 1 and all(isinstance(below, dict) for _, below in rows)
                stack.extend(
                    (_below(path, f"{name}", is_table=is_table), f"{name}", below, depth + 1)
                    for name, below in reversed(rows)
                )
            case list():
                items: list[object] = here[:_MOST_LEAVES]  # pyright: ignore[reportUnknownVariableType]
                stack.extend(
                    (f"{path}[{index}]", key, items[index], depth + 1)
                    for index in range(len(items) - 1, -1, -1)
                )
            case str() if here[:1] in ("{", "[") and len(here) > 2:
                for below, name, leaf in loose_leaves(here[:_MOST_LOOSE_CHARS], _MOST_LEAVES):
                    given += 1
                    yield f"{path}.{below}", name or key, leaf, depth + 1
            case _:
                yield path, key, _shown(here), depth


def _below(path: str, name: str, *, is_table: bool) -> str:
    if is_table:  # items by their ids
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _shown(leaf: object) -> str:
    """Return a leaf as JSON writes it."""
    if isinstance(leaf, str):
        return leaf
    if leaf is None:
        return "null"
    return str(leaf).lower() if isinstance(leaf, bool) else str(leaf)
