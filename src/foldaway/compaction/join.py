"""The ledger's entries and a model's note as one summary; the ledger has its share first."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from foldaway.facts import (
    NOTES_WITHOUT_MODEL,
    SECTIONS,
    Entry,
    Known,
    Section,
    Summary,
    likeness,
    names_in,
)

PROSE_WEIGHTS: dict[Section, float] = {
    "task": 95.0,
    "goal": 90.0,
    "constraints": 85.0,
    "pending": 80.0,
    "decisions": 75.0,
    "blocked": 70.0,
    "in_progress": 65.0,
    "state": 60.0,
    "critical": 55.0,
    "remaining": 50.0,
    "resolved": 40.0,
    "completed": 35.0,
    "files": 30.0,
}
"""What a ledger cannot write comes first: why something was decided, what was under way. All are
under 100, from where on the ledger's entries are needed."""


PROSE_SHARE = 0.2
"""Of the room for a summary, what a model's note may take at most. A note that names nothing costs
3 points of recall at 0.3 and none at 0.15, on Codex sessions at a fifth of their tokens."""
NOW: frozenset[Section] = frozenset({"state", "in_progress", "remaining", "blocked"})
"""Sections about the state at the end of the log."""
_NEEDED = 100.0
"""From this weight on the ledger's entries stand before everything else."""
_ENTRY_CHARS = 16
"""What is written around an entry: mark, source, line break; the same as in the ledger's
summary."""
_ASKS: frozenset[Section] = frozenset({"task", "goal", "pending"})
_QUOTED: frozenset[Section] = frozenset({*_ASKS, "constraints"})
_LEDGER_FIRST: frozenset[Section] = frozenset({*NOW, "completed"})
"""Sections that begin with what the ledger knows: the current state, and what was done in order."""
_TOLD = -1
"""Stands for what is told and stays as it is."""
_TAKEN = Entry("")
"""In the place of an action that the note tells."""


class Joined(Struct, frozen=True):
    """A summary, and the entries in it that a model wrote."""

    summary: Summary
    added: tuple[tuple[Section, Entry], ...] = ()

    def count_verified(self, text: str) -> int:
        """Return how many of a model's entries are in the text of the summary and name something,
        or quote the user: the gate has let through only what is in the log.
        """
        return sum(
            (section in _QUOTED or bool(names_in(entry.text)))
            and entry.text.partition("\n")[0] in text
            for section, entry in self.added
        )


class _Addition(Struct, frozen=True):
    """An entry of a model, and the entry of the ledger whose place it takes, if it takes one."""

    section: Section
    entry: Entry
    instead: Entry | None = None

    @property
    def chars(self) -> int:
        older = len(self.instead.text) if self.instead else -len(self.entry.source) - _ENTRY_CHARS
        return len(self.entry.text) - older


def joined(prose: Summary, ledger: Summary, room_chars: float) -> Joined:
    """Return both as one: sections in order, each fact once, in the words of the ledger.

    The note takes at most `PROSE_SHARE` of the room. What it adds stands before what the ledger
    merely ranks, and after all that the ledger needs, wherever a budget cuts. An action of the
    ledger is told in the note's words if they name all that the ledger's do, and what the note
    says of a changed file follows the ledger's words about it. If it adds nothing, the ledger's
    summary comes back as it is.
    """
    added = _chosen(list(_additions(prose, ledger)), room_chars * PROSE_SHARE)
    if not added:
        return Joined(ledger)
    instead = {id(row.instead): row.entry for row in added if row.instead is not None}
    sections: dict[Section, tuple[Entry, ...]] = {}
    for section in SECTIONS:
        new = [row.entry for row in added if row.section == section and row.instead is None]
        told = [
            instead.get(id(row), row)
            for row in ledger.sections.get(section, ())
            if row.text not in NOTES_WITHOUT_MODEL
        ]
        if new or told:
            sections[section] = (*told, *new) if section in _LEDGER_FIRST else (*new, *told)
    summary = replace(
        ledger, sections=sections, made_by="model", numbered=max(ledger.numbered, prose.numbered)
    )
    return Joined(summary, tuple((row.section, row.entry) for row in added))


def lasting(prose: Summary) -> Summary:
    """Return a note without what it says of how things stood: more has happened since."""
    return replace(
        prose, sections={name: rows for name, rows in prose.sections.items() if name not in NOW}
    )


def _chosen(rows: list[_Addition], room_chars: float) -> list[_Addition]:
    """Return the additions within the room, heaviest first chosen, in their order."""
    order = sorted(range(len(rows)), key=lambda at: (-rows[at].entry.weight, -at))
    kept: list[int] = []
    for at in order:
        if rows[at].chars <= room_chars:
            room_chars -= rows[at].chars
            kept.append(at)
    return [_weighed(rows[at]) for at in sorted(kept)]


def _weighed(row: _Addition) -> _Addition:
    weight = _NEEDED - 1 + PROSE_WEIGHTS[row.section] / 100
    if row.instead is not None:
        weight = row.instead.weight
    return replace(row, entry=replace(row.entry, weight=weight))


def _additions(prose: Summary, ledger: Summary) -> Iterator[_Addition]:
    """Yield what the ledger does not tell, or not as well; each fact of the note once."""
    asked = {row.source for name in _ASKS for row in ledger.sections.get(name, ())}
    deeds = list(ledger.sections.get("completed", ()))
    told = Known()
    for tag, row in enumerate(deeds):
        told.add(likeness(row.text), tag)
    for rows in ledger.sections.values():
        for row in rows:
            told.add(likeness(row.text), _TOLD)
    files = {row.text.partition(": ")[0]: row for row in ledger.sections.get("files", ())}
    for section in SECTIONS:
        for entry in prose.sections.get(section, ()):
            if section in _ASKS and entry.source in asked:
                continue
            like = likeness(entry.text)
            tag = told.find(like)
            told.add(like, _TOLD)
            if tag is None:
                path, _, words = entry.text.partition(": ")
                file = files.pop(path, None) if section == "files" and words else None
                shown = entry if file is None else replace(file, text=f"{file.text}; {words}")
                yield _Addition(section, shown, file)
            elif section == "completed" and tag != _TOLD and _tells_more(entry, deeds[tag]):
                older, deeds[tag] = deeds[tag], _TAKEN
                yield _Addition(section, replace(entry, source=older.source), older)


def _tells_more(entry: Entry, row: Entry) -> bool:
    """Return whether an entry says in a longer sentence all that an action of the ledger names."""
    if row.pieces or len(entry.text) <= len(row.text):
        return False
    named = {name.text for name in names_in(row.text)}
    return bool(named) and named <= {name.text for name in names_in(entry.text)}
