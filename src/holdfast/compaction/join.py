"""The ledger's entries and a model's note as one summary; the ledger has its share first."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from holdfast.facts.names import Known, likeness
from holdfast.facts.summary import NOTES_WITHOUT_MODEL, SECTIONS, Entry, Section, Summary

PROSE_WEIGHTS: dict[Section, float] = {
    "task": 95.0, "goal": 90.0, "constraints": 85.0, "pending": 80.0, "decisions": 75.0,
    "blocked": 70.0, "in_progress": 65.0, "state": 60.0, "critical": 55.0, "remaining": 50.0,
    "resolved": 40.0, "completed": 35.0, "files": 30.0,
}  # fmt: skip
"""What a ledger cannot write comes first: why something was decided, what was under way. All are
under 100, from where on the ledger's entries are needed."""


PROSE_SHARE = 0.2
"""Of the room for a summary, what a model's note may take at most. A note that names nothing costs
3 points of recall at 0.3 and none at 0.15, on Codex sessions at a fifth of their tokens."""
_NEEDED = 100.0
"""From this weight on the ledger's entries stand before everything else."""
_ENTRY_CHARS = 16
"""What is written around an entry: mark, source, line break; the same as in the ledger's
summary."""
_ASKS: frozenset[Section] = frozenset({"task", "goal", "pending"})


def joined(prose: Summary, ledger: Summary, room_chars: float) -> Summary:
    """Return both as one: sections in order, each fact once, in the words of the ledger.

    The note takes at most `PROSE_SHARE` of the room. What it adds stands before what the ledger
    merely ranks, and after all that the ledger needs, wherever a budget cuts. Where it adds
    nothing, the ledger's summary comes back as it is.
    """
    added = _added(prose, ledger, room_chars * PROSE_SHARE)
    if not added:
        return ledger
    sections: dict[Section, tuple[Entry, ...]] = {}
    for section in SECTIONS:
        rows = [row for name, row in added if name == section]
        rows.extend(
            row for row in ledger.sections.get(section, ()) if row.text not in NOTES_WITHOUT_MODEL
        )
        if rows:
            sections[section] = tuple(rows)
    return replace(
        ledger, sections=sections, made_by="model", numbered=max(ledger.numbered, prose.numbered)
    )


def patched_by(prose: Summary, ledger: Summary) -> int:
    """Return how many entries that the ledger needs the note lacks."""
    told = _known(prose)
    return sum(
        told.find(likeness(row.text)) is None
        for rows in ledger.sections.values()
        for row in rows
        if row.weight >= _NEEDED and row.text not in NOTES_WITHOUT_MODEL
    )


def _added(prose: Summary, ledger: Summary, room_chars: float) -> list[tuple[Section, Entry]]:
    """Return what the note adds to the ledger within the room, heaviest first chosen, in order."""
    told = _known(ledger)
    asked = {row.source for name in _ASKS for row in ledger.sections.get(name, ())}
    rows = list(enumerate(_new(prose, told, asked)))
    rows.sort(key=lambda row: (-row[1][1].weight, -row[0]))
    chosen: list[tuple[int, tuple[Section, Entry]]] = []
    for place, (section, entry) in rows:
        cost = len(entry.text) + len(entry.source) + _ENTRY_CHARS
        if cost <= room_chars:
            room_chars -= cost
            weight = _NEEDED - 1 + PROSE_WEIGHTS[section] / 100
            chosen.append((place, (section, replace(entry, weight=weight))))
    chosen.sort(key=lambda row: row[0])
    return [row for _, row in chosen]


def _new(prose: Summary, told: Known, asked: set[str]) -> Iterator[tuple[Section, Entry]]:
    """Yield what the ledger does not tell; each fact of the note once."""
    for section in SECTIONS:
        for entry in prose.sections.get(section, ()):
            if section in _ASKS and entry.source in asked:
                continue
            like = likeness(entry.text)
            if told.find(like) is None:
                told.add(like, 0)
                yield section, entry


def _known(summary: Summary) -> Known:
    found = Known()
    for rows in summary.sections.values():
        for row in rows:
            found.add(likeness(row.text), 0)
    return found
