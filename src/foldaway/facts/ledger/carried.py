"""A summary whose originals are gone, as facts that are ranked beside those of the log."""

from __future__ import annotations

from collections.abc import Iterator

from foldaway.facts.ledger.fact import Fact, FactKind
from foldaway.facts.ledger.lines import terms_of
from foldaway.facts.summary import NOTES_WITHOUT_MODEL, SECTIONS, Entry, Section, Summary

_RANKED: dict[Section, FactKind] = {
    "critical": "line",
    "completed": "command",
    "decisions": "decision",
    "resolved": "question",
}
_ASKED: tuple[Section, ...] = ("goal", "task", "pending")
_MOST_TERMS = 24
"""Of one carried line."""


def carried_facts(summary: Summary) -> tuple[Fact, ...]:
    """Return what a summary merely ranked, in its order, before all positions of the log.

    Lines that stood under one head stand for themselves again, so that each is weighed for what
    it adds.
    """
    rows = [row for section, kind in _RANKED.items() for row in _facts(summary, section, kind)]
    return tuple(
        [
            Fact(
                kind, text, source, number - len(rows), terms=terms_of(text, _MOST_TERMS), head=head
            )
            for number, (kind, text, source, head) in enumerate(rows)
        ]
    )


def carried_entries(summary: Summary) -> Iterator[tuple[Section, Entry]]:
    """Yield the entries that stand before anything is ranked, each once."""
    for section in SECTIONS:
        if section not in _RANKED:
            rows = summary.sections.get(section, ())
            for entry in {entry.text: entry for entry in rows}.values():
                yield section, entry


def asked_in(summary: Summary) -> str:
    """Return the words of the user's asks in a summary."""
    return "\n".join(row.text for name in _ASKED for row in summary.sections.get(name, ()))


def _facts(
    summary: Summary, section: Section, kind: FactKind
) -> Iterator[tuple[FactKind, str, str, str]]:
    for entry in summary.sections.get(section, ()):
        if entry.text in NOTES_WITHOUT_MODEL:
            continue
        head, mark, below = entry.text.partition(":\n")
        if section == "critical" and mark and "\n" not in head:
            for line in below.split("\n"):
                yield kind, line, entry.source, head
        else:
            yield kind, entry.text, entry.source, ""
