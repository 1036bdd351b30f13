"""A model's answer as a note: the schema it may be held to, how it is read, and how a newer note
goes on from an older one.

An answer is JSON or Markdown, whole or cut, under our headings or another's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Regex, Value, read_json
from foldaway.compaction import PROSE_WEIGHTS
from foldaway.facts import (
    FRAME_WORDS,
    SECTIONS,
    Entry,
    Known,
    Likeness,
    Section,
    Summary,
    likeness,
    names_in,
    whole_words,
)
from foldaway.facts.languages import Language, phrases_for

ASKED: tuple[Section, ...] = (
    "decisions",
    "completed",
    "resolved",
    "in_progress",
    "remaining",
    "blocked",
    "constraints",
    "files",
    "critical",
)
"""The sections that a model is asked for. The requests of the user and the state are the
ledger's."""
_ENTRY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "section": {"type": "string", "enum": list(ASKED)},
        "text": {"type": "string"},
        "source": {"type": "string"},
    },
    "required": ["section", "text", "source"],
    "additionalProperties": False,
}

ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"entries": {"type": "array", "items": _ENTRY_SCHEMA}},
    "required": ["entries"],
    "additionalProperties": False,
}
"""Every key is required and none is free, as strict structured output wants it."""

EMPTY_ANSWER = json.dumps(
    {"entries": [{"section": name, "text": "", "source": "m1234"} for name in ASKED]}
)
"""What an answer of one entry a section costs before it says a word."""

_READ_CHARS = 200_000
"""No note is longer; the rest of a longer answer is not read."""
_ENTRY_CHARS = 1_200
"""The rest of a longer entry is cut; chosen."""
_MOST_ENTRIES = 60
"""How long an entry may be, and how many of a section are read; chosen."""
_HEADING = Regex(r"#{1,6}[ \t]*(?=\S)")
_BOLD = Regex(r"\*\*([^*\n]{1,80})\*\*:?\s*\Z")
_MARK = Regex(r"\s*(?:[-*•+]|\d{1,6}[.)])[ \t]+(?:\[[ xX]\] )?")
_SOURCE = Regex(r"\s?(?:\[((?:earlier )?(?=[^\]]*\d)[\w.:-]{1,80})\]|\((m\d{1,9})\))\.?\Z")
_ID = Regex(r"(?:earlier )?[\w.:-]{1,80}\Z")
_UNWRITABLE = Regex("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_FRAME = Regex(
    "|".join(map(re.escape, FRAME_WORDS))
    + r"|\[foldaway (?:note|digest|duplicate|placeholder)[^\]\n]{0,200}\]"
    + r"|(?:The o|O)riginals: recall fa-[0-9a-f]{10}\.?|\bfa-[0-9a-f]{10}\b"
    + r"|</?(?:note|record)>|\[CONTEXT (?:COMPACTION|SUMMARY)[^\]\n]{0,40}\]:?"
)
"""What is around a summary and in our marks: a note has none of it, and no reference, since only
what is kept may be promised."""
_EMPTY = frozenset(phrases_for(one).none.casefold().rstrip(".。") for one in get_args(Language)) | {
    "",
    "none",
    "(none)",
    "n/a",
    "nothing",
    "empty",
    "null",
    "-",
    "—",
    "…",
    "...",
    "unknown",
    "not applicable",
}
_TEXT_KEYS = ("text", "content", "entry", "item", "quote", "description", "action", "value")
_SOURCE_KEYS = ("source", "id", "source_id", "message_id", "message", "ref")
_OWN_NUMBER = Regex(r"\d{1,4}[.)] (?=\S)")
_NAME_KEYS = ("section", "name", "heading", "title", "key")
_ROW_KEYS = ("entries", "items", "rows", "content", "values")
_DEEPEST = 4
"""How far inside other objects sections are looked for."""


class Read(Struct, frozen=True):
    """What was found in an answer."""

    summary: Summary
    has_sections: bool
    """Whether it is a note, and not a text without any section."""
    adds_nothing: bool = False
    """Whether it says that there is nothing to add."""


def read_answer(text: str, language: Language, *, is_cut: bool = False) -> Read:
    """Return the note in an answer. Never raises; linear, and bounded in what it returns.

    A summary inside an entry is laid flat, and the frame of one falls away. If the answer was
    cut off, its last entry is left out, since nobody knows how it would have ended.
    """
    body = text[:_READ_CHARS]
    found = _Found()
    value = read_json(body)
    has_sections = (value is not None and _take(found, value, 0)) or _markdown(found, body)
    if is_cut or len(text) > _READ_CHARS:
        found.drop_last()
    sections: dict[Section, tuple[Entry, ...]] = {
        name: tuple(rows) for name in SECTIONS if (rows := found.sections.get(name))
    }
    numbered = len(sections.get("completed", ()))
    adds_nothing = isinstance(value, dict) and value.get("entries") == []
    return Read(Summary(sections, "model", numbered, language), has_sections, adds_nothing)


class _Found:
    """Sections while they are read."""

    def __init__(self) -> None:
        self.sections: dict[Section, list[Entry]] = {}
        self._last: Section | None = None

    def put(self, section: Section, text: str, source: str = "", *, nested: bool = False) -> None:
        """Add an entry; a summary in its words is laid flat."""
        if not nested and "\n" in text and _holds_headings(text):
            _markdown(self, text, here=section, nested=True)
            return
        entry = _entry(text, source, section)
        rows = self.sections.setdefault(section, [])
        if entry is not None and len(rows) < _MOST_ENTRIES:
            rows.append(entry)
            self._last = section

    def drop_last(self) -> None:
        """Remove the entry that was read last."""
        if self._last is not None:
            self.sections[self._last].pop()


def _entry(text: str, source: str, section: Section) -> Entry | None:
    words = _FRAME.sub("", _UNWRITABLE.sub("\ufffd", text[: 2 * _ENTRY_CHARS]))
    words = "\n".join(filter(None, (" ".join(line.split()) for line in words.split("\n"))))
    if section == "completed" and (number := _OWN_NUMBER.match(words)):
        words = words[number.end() :]  # the record numbers them itself
    found = _SOURCE.search(words[-120:])
    if found:
        source = source or found.group(1) or found.group(2)
        words = words[: len(words) - len(found.group())].rstrip()
    if words.casefold().rstrip(".。") in _EMPTY:
        return None
    if len(words) > _ENTRY_CHARS:
        words = f"{whole_words(words[:_ENTRY_CHARS], _ENTRY_CHARS)}…"
    source = source.strip(" []()")
    weight = PROSE_WEIGHTS[section]
    return Entry(words, source if _ID.match(source) else "", weight)


def _take(found: _Found, value: Value, depth: int) -> bool:
    """Put the sections of a JSON value, whatever is around them; False if there are none."""
    if depth > _DEEPEST or isinstance(value, str):
        return False
    if isinstance(value, list):
        return sum(_take_row(found, row, depth) for row in value) > 0
    taken = False
    for key, inner in value.items():
        if isinstance(inner, dict) and _take(found, inner, depth + 1):
            taken = True
            continue
        section = section_named(key)
        if section is not None and (depth == 0 or is_own_heading(key)):
            taken = True
            _put_rows(found, section, inner)
        elif not isinstance(inner, str):
            taken = _take(found, inner, depth + 1) or taken
    return taken


def _take_row(found: _Found, row: Value, depth: int) -> bool:
    """Put a row that names its section."""
    if not isinstance(row, dict):
        return False
    name = _first(row, _NAME_KEYS)
    section = section_named(name) if name else None
    if section is None:
        return _take(found, row, depth + 1)
    rows = next((row[key] for key in _ROW_KEYS if isinstance(row.get(key), list)), None)
    _put_rows(found, section, row if rows is None else rows)
    return True


def _put_rows(found: _Found, section: Section, value: Value) -> None:
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        if isinstance(row, str):
            found.put(section, row)
        elif isinstance(row, dict):
            words = _first(row, _TEXT_KEYS) or ": ".join(
                one for key, one in row.items() if isinstance(one, str) and key not in _SOURCE_KEYS
            )
            found.put(section, words, _source(row))


def _first(row: dict[str, Value], keys: tuple[str, ...]) -> str:
    return next((one for key in keys if isinstance(one := row.get(key), str) and one), "")


def _source(row: dict[str, Value]) -> str:
    for key in _SOURCE_KEYS:
        value = row.get(key)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str) and value:
            return value
    return ""


def _markdown(
    found: _Found, text: str, here: Section = "critical", *, nested: bool = False
) -> bool:
    """Put the entries under each heading; False if no heading is one of a note.

    What is before the first of them is talk. A line that is neither heading nor entry belongs
    to the entry before.
    """
    known = nested
    rows: list[str] = []
    for line in text.split("\n"):
        bare = line.strip()
        if not bare or bare.startswith("```"):
            continue
        heading = _heading(bare)
        mark = None if heading else _MARK.match(line)
        if heading or mark:
            if rows and known:
                found.put(here, "\n".join(rows), nested=nested)
            rows = []
        if heading:
            section = section_named(heading[0])
            known = known or section is not None
            here = section or "critical"
            rows = [heading[1]] if heading[1] else []
        else:
            rows.append(line[mark.end() :] if mark else bare)
    if rows and known:
        found.put(here, "\n".join(rows), nested=nested)
    return known


def _heading(line: str) -> tuple[str, str] | None:
    """Return a heading, and what is behind it on its line; None for other lines."""
    mark = _HEADING.match(line)
    if mark:
        return line[mark.end() :].rstrip("# "), ""
    bold = _BOLD.match(line)
    if bold:
        return bold.group(1), ""
    name, colon, rest = line[:120].partition(":")
    if colon and is_own_heading(name):
        return name, line[len(name) + 1 :].strip(" *") if rest.strip(" *") else ""
    return None


def _holds_headings(text: str) -> bool:
    return any(
        (found := _heading(line.strip())) is not None and section_named(found[0]) is not None
        for line in text[: 2 * _ENTRY_CHARS].split("\n")
    )


# Which section a heading or key means

_SIGNS = Regex(r"[\s_*#:：`\"'-]+")
_LEAD = Regex(r"\(?\d{1,2}[.)]\s*")
_HEADING_CHARS = 80
"""A longer line is a sentence, not a heading."""


def _plain(heading: str) -> str:
    return _SIGNS.sub(" ", heading.casefold()).strip()


_KNOWN: dict[str, Section] = {
    _plain(phrases_for(language).headings[section]): section
    for language in get_args(Language)
    for section in SECTIONS
}
_KNOWN.update({_plain(section): section for section in SECTIONS})

_BY_WORD: Mapping[Section, tuple[str, ...]] = {
    "in_progress": ("in progress", "under way", "current work"),
    "pending": ("pending", "open question", "unanswered"),
    "remaining": ("remaining", "next step", "todo", "to do", "left to do"),
    "resolved": ("resolved", "answered"),
    "constraints": ("constraint", "preference"),
    "completed": ("complet", "done", "accomplish"),
    "blocked": ("block", "error"),
    "decisions": ("decision",),
    "files": ("file",),
    "state": ("state", "status"),
    "goal": ("goal", "objective"),
    "task": ("task", "request"),
    "critical": ("critical", "context", "note"),
}
"""How others head their sections; the first word that fits decides."""


def section_named(heading: str) -> Section | None:
    """Return the section that a heading means, ours in any language or another's; None if none."""
    if len(heading) > _HEADING_CHARS:
        return None
    name = _plain(_LEAD.sub("", heading.strip(), count=1))
    found = _KNOWN.get(name)
    if found is not None:
        return found
    return next(
        (one for one, words in _BY_WORD.items() if any(map(name.__contains__, words))), None
    )


def is_own_heading(heading: str) -> bool:
    """Return whether a line is one of our headings or keys, and nothing else."""
    return len(heading) <= _HEADING_CHARS and _plain(heading) in _KNOWN


# Two notes as one

_REPLACED: frozenset[Section] = frozenset({"task", "state", "in_progress", "remaining"})
"""How things are now: if the newer note says it, what the older said is out of date."""
_MOVES: dict[Section, tuple[Section, ...]] = {
    "task": ("completed", "resolved", "pending", "in_progress"),
    "in_progress": ("completed", "resolved", "blocked", "remaining"),
    "remaining": ("completed", "in_progress", "resolved", "blocked"),
    "blocked": ("completed", "resolved"),
    "pending": ("completed", "resolved", "task", "in_progress"),
}
"""Where an entry may have gone; from other sections nothing goes away."""
_MOST_KEPT: dict[Section, int] = {"completed": 40, "files": 40, "critical": 40, "decisions": 30}
_MOST_KEPT_OTHER = 16
"""Entries that are kept of a section that `_MOST_KEPT` does not name; chosen."""
_MOST_CHARS = 24_000
"""How many entries are kept of each section, and how many characters of all; chosen."""
_AGED = 0.97
"""What an older note said weighs a little less with every round."""


def merge_prose(previous: Summary | None, new: Summary) -> Summary:
    """Return the new note with what it forgot of the previous one.

    An entry that both tell is kept once, in the section of the newer one and in the words that
    name more. One that moved to another section is gone from the old one. `numbered` counts on.
    Bounded: if there is too much, the oldest entries of a section go first.
    """
    previous = previous or Summary({})
    rows, by_section = _index_entries(new)
    kept: dict[Section, list[Entry]] = {name: [] for name in SECTIONS}
    better: dict[int, Entry] = {}
    repeated = 0
    for section in SECTIONS:
        for entry in previous.sections.get(section, ()):
            tag = _find_entry(likeness(entry.text), section, by_section)
            if tag is not None:
                better[tag] = _fuller(entry, better.get(tag, rows[tag][1]))
                repeated += section == "completed"
            elif section not in _REPLACED or not new.sections.get(section):
                kept[section].append(replace(entry, weight=entry.weight * _AGED))
    for tag, (section, entry) in enumerate(rows):
        kept[section].append(better.get(tag, entry))
    sections: dict[Section, tuple[Entry, ...]] = {
        name: tuple(rows) for name, rows in kept.items() if rows
    }
    done = sum(section == "completed" for section, _ in rows)
    numbered = max(previous.numbered, len(previous.sections.get("completed", ()))) + done - repeated
    return _bounded(replace(new, sections=sections, numbered=numbered))


def _index_entries(new: Summary) -> tuple[list[tuple[Section, Entry]], dict[Section, Known]]:
    """Return the entries of a note, each fact of a section once, and where each is found again."""
    rows: list[tuple[Section, Entry]] = []
    by_section: dict[Section, Known] = {}
    for section in SECTIONS:
        known = by_section[section] = Known()
        for entry in new.sections.get(section, ()):
            like = likeness(entry.text)
            if known.find(like) is None:
                known.add(like, len(rows))
                rows.append((section, entry))
    return rows, by_section


def _find_entry(like: Likeness, section: Section, by_section: dict[Section, Known]) -> int | None:
    """Return the entry that tells the same, in its own section or one that it may have moved to."""
    for name in (section, *_MOVES.get(section, ())):
        tag = by_section[name].find(like)
        if tag is not None:
            return tag
    return None


def _fuller(older: Entry, newer: Entry) -> Entry:
    """Return the entry that names more; of two that name the same, the newer."""
    if _named(older) > _named(newer):
        return replace(older, weight=newer.weight)
    return newer if newer.source else replace(newer, source=older.source)


def _named(entry: Entry) -> frozenset[str]:
    return frozenset(name.text for name in names_in(entry.text))


def _bounded(summary: Summary) -> Summary:
    """Return the newest entries of each section, and of all together at most `_MOST_CHARS`."""
    sections: dict[Section, tuple[Entry, ...]] = {}
    for section, rows in summary.sections.items():
        sections[section] = rows[-_MOST_KEPT.get(section, _MOST_KEPT_OTHER) :]
    excess = sum(len(row.text) for rows in sections.values() for row in rows) - _MOST_CHARS
    while excess > 0:
        longest = max(sections, key=lambda name: sum(len(row.text) for row in sections[name]))
        excess -= len(sections[longest][0].text)
        sections[longest] = sections[longest][1:]
    return replace(summary, sections={name: rows for name, rows in sections.items() if rows})
