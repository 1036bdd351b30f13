"""A summary whose originals are gone, as facts that are ranked beside those of the log."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.facts.dialogue.statements import constraints
from foldaway.facts.ledger.fact import NOT_FOUND, Fact, FactKind
from foldaway.facts.ledger.lines import terms_of
from foldaway.facts.summary import NOTES_WITHOUT_MODEL, SECTIONS, WISH, Entry, Section, Summary

_RANKED: dict[Section, FactKind] = {
    "critical": "line", "completed": "command", "decisions": "decision", "resolved": "question",
}  # fmt: skip
_ASKED: tuple[Section, ...] = ("goal", "task", "pending")
_MOST_TERMS = 24
"""Of one carried line."""
_MISSED = Regex(
    r"(?:[Nn]o such file or directory|not found|does not exist|ermission denied)\W{0,40}\Z"
    r"|\A(?:fatal|error)\b|<tool_use_error>"
)
"""How a look says that it found nothing, where it says nothing else."""
_CARRIED_WISH = WISH - 1
"""Like every carried entry it counts a little less than the same if it is found again."""


def carried_facts(summary: Summary) -> tuple[Fact, ...]:
    """Return what a summary merely ranked, in its order, before all positions of the log.

    Lines that stood under one head stand for themselves again, so that each is weighed for what
    it adds.
    """
    rows = [row for section, kind in _RANKED.items() for row in _facts(summary, section, kind)]
    return tuple(
        [
            Fact(
                kind,
                text,
                source,
                number - len(rows),
                terms=terms_of(text, _MOST_TERMS),
                head=head,
                worth=NOT_FOUND if _MISSED.search(text) else 0.0,
            )
            for number, (kind, text, source, head) in enumerate(rows)
        ]
    )


def carried_entries(summary: Summary) -> Iterator[tuple[Section, Entry]]:
    """Yield the entries that stand before anything is ranked, each once; wishes behind rules."""
    for section in SECTIONS:
        if section in _RANKED:
            continue
        for entry in {entry.text: entry for entry in summary.sections.get(section, ())}.values():
            is_wish = section == "constraints" and not _states_rule(entry.text)
            yield section, replace(entry, weight=_CARRIED_WISH) if is_wish else entry


def _states_rule(text: str) -> bool:
    return any(rule.strength > 1 for rule in constraints(text))


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
