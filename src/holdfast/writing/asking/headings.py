"""Which section a heading or key of an answer means."""

from __future__ import annotations

import re
from typing import get_args

from holdfast.facts.languages import Language, phrases_for
from holdfast.facts.summary import SECTIONS, Section

_SIGNS = re.compile(r"[\s_*#:：`\"'-]+")
_LEAD = re.compile(r"\(?\d{1,2}[.)]\s*")
_LONGEST_CHARS = 80


def _plain(heading: str) -> str:
    return _SIGNS.sub(" ", heading.casefold()).strip()


_KNOWN: dict[str, Section] = {
    _plain(phrases_for(language).headings[section]): section
    for language in get_args(Language)
    for section in SECTIONS
}
_KNOWN.update({_plain(section): section for section in SECTIONS})

_BY_WORD: tuple[tuple[str, Section], ...] = (
    ("in progress", "in_progress"), ("under way", "in_progress"), ("current work", "in_progress"),
    ("pending", "pending"), ("open question", "pending"), ("unanswered", "pending"),
    ("remaining", "remaining"), ("next step", "remaining"), ("todo", "remaining"),
    ("to do", "remaining"), ("left to do", "remaining"),
    ("resolved", "resolved"), ("answered", "resolved"),
    ("constraint", "constraints"), ("preference", "constraints"),
    ("complet", "completed"), ("done", "completed"), ("accomplish", "completed"),
    ("block", "blocked"), ("error", "blocked"), ("decision", "decisions"),
    ("file", "files"), ("state", "state"), ("status", "state"),
    ("goal", "goal"), ("objective", "goal"), ("task", "task"), ("request", "task"),
    ("critical", "critical"), ("context", "critical"), ("note", "critical"),
)  # fmt: skip
"""How others head their sections; the first word that fits decides."""


def section_named(heading: str) -> Section | None:
    """Return the section that a heading means, ours in any language or another's; None for none."""
    if len(heading) > _LONGEST_CHARS:
        return None
    name = _plain(_LEAD.sub("", heading.strip(), count=1))
    found = _KNOWN.get(name)
    if found is not None:
        return found
    return next((section for words, section in _BY_WORD if words in name), None)


def is_own_heading(heading: str) -> bool:
    """Return whether a line is one of our headings or keys, and nothing else."""
    return len(heading) <= _LONGEST_CHARS and _plain(heading) in _KNOWN
