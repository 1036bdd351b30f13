"""Two notes as one: the newer goes on from the older, and what it forgot stays."""

from __future__ import annotations

from msgspec.structs import replace

from holdfast.facts.names import Known, Likeness, likeness, names_in
from holdfast.facts.summary import SECTIONS, Entry, Section, Summary

_WRITTEN_ANEW: frozenset[Section] = frozenset({"task", "state"})
"""How things stand now: where the newer note says it, what the older said is out of date."""
_MOVES: dict[Section, tuple[Section, ...]] = {
    "task": ("completed", "resolved", "pending", "in_progress"),
    "in_progress": ("completed", "resolved", "blocked", "remaining"),
    "remaining": ("completed", "in_progress", "resolved", "blocked"),
    "blocked": ("completed", "resolved"),
    "pending": ("completed", "resolved", "task", "in_progress"),
}
"""Where an entry may have gone; from other sections nothing goes away."""
_MOST_ENTRIES: dict[Section, int] = {"completed": 40, "files": 40, "critical": 40, "decisions": 30}
_MOST_OTHER = 16
_MOST_CHARS = 24_000
_AGED = 0.97
"""What an older note said weighs a little less with every round."""


def merge_prose(previous: Summary | None, new: Summary) -> Summary:
    """Return the new note with what it forgot of the previous one.

    An entry that both tell stands once, where the newer has it, in the words that name more. One
    that moved to another section is gone from the old one. `numbered` counts on. Bounded: where
    there is too much, the oldest entries of a section go first.
    """
    previous = previous or Summary({})
    rows, by_section = _told(new)
    kept: dict[Section, list[Entry]] = {name: [] for name in SECTIONS}
    better: dict[int, Entry] = {}
    repeated = 0
    for section in SECTIONS:
        for entry in previous.sections.get(section, ()):
            tag = _found(likeness(entry.text), section, by_section)
            if tag is not None:
                better[tag] = _fuller(entry, better.get(tag, rows[tag][1]))
                repeated += section == "completed"
            elif section not in _WRITTEN_ANEW or not new.sections.get(section):
                kept[section].append(replace(entry, weight=entry.weight * _AGED))
    for tag, (section, entry) in enumerate(rows):
        kept[section].append(better.get(tag, entry))
    sections: dict[Section, tuple[Entry, ...]] = {
        name: tuple(rows) for name, rows in kept.items() if rows
    }
    done = sum(section == "completed" for section, _ in rows)
    numbered = max(previous.numbered, _count(previous)) + done - repeated
    return _bounded(replace(new, sections=sections, numbered=numbered))


def _told(new: Summary) -> tuple[list[tuple[Section, Entry]], dict[Section, Known]]:
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


def _found(like: Likeness, section: Section, by_section: dict[Section, Known]) -> int | None:
    """Return the entry that tells the same, in its own section or where it may have gone."""
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


def _count(summary: Summary) -> int:
    return len(summary.sections.get("completed", ()))


def _bounded(summary: Summary) -> Summary:
    """Return the newest entries of each section, and of all together at most so many characters."""
    sections: dict[Section, tuple[Entry, ...]] = {}
    for section, rows in summary.sections.items():
        sections[section] = rows[-_MOST_ENTRIES.get(section, _MOST_OTHER) :]
    excess = sum(len(row.text) for rows in sections.values() for row in rows) - _MOST_CHARS
    while excess > 0:
        longest = max(sections, key=lambda name: sum(len(row.text) for row in sections[name]))
        excess -= len(sections[longest][0].text)
        sections[longest] = sections[longest][1:]
    return replace(summary, sections={name: rows for name, rows in sections.items() if rows})
