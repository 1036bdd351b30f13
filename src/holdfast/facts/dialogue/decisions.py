"""What was decided and what was found out, in the words of who wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.facts.dialogue.cues import cue_table, fields_of, lines_with_cues
from holdfast.facts.dialogue.language import language_once
from holdfast.facts.dialogue.passages import both_ends, fenced_lines, looks_pasted
from holdfast.facts.dialogue.questions import is_question
from holdfast.facts.dialogue.sentences import sentences_with_words, trimmed

DecisionKind: TypeAlias = Literal["decision", "finding"]

MOST = 24
_FIELDS = ("idle", "decides", "finds", "reasons")
_LEAST_CHARS = 12
_HEADING_CHARS = 60
"""A shorter one that ends in a colon only announces what follows."""
_READ_CHARS = 4_000
"""A longer line is not looked at as a whole before its sentences are."""


class Decision(Struct, frozen=True, gc=False):
    """A sentence that tells a choice or a finding; `reasoned` where it also says why."""

    text: str
    kind: DecisionKind
    reasoned: bool


def decisions(text: str) -> tuple[Decision, ...]:
    """Return the sentences that tell a choice or a finding, verbatim, those with a reason first.

    At most 24, each of at most 300 characters. Questions, code and what looks pasted are none.
    Of a huge text only the ends are read.
    """
    found: dict[str, tuple[int, Decision]] = {}
    for rank, decision in _ranked(both_ends(text)):
        if rank and decision.text not in found and not is_question(decision.text):
            found[decision.text] = rank, decision
    ranked = sorted(found.values(), key=lambda row: -row[0])
    return tuple(decision for _, decision in ranked[:MOST])


def _ranked(text: str) -> Iterator[tuple[int, Decision]]:
    """Yield every sentence that was looked at; one that tells nothing has no rank."""
    lines = text.split("\n")
    fenced = fenced_lines(lines) if "```" in text or "~~~" in text else frozenset[int]()
    language = language_once(text)
    for index, words in lines_with_cues(cue_table(*_FIELDS), text, lines):
        line = lines[index]
        if len(line) <= _READ_CHARS and not _told(line, words, language)[0]:
            continue
        if index in fenced or line.startswith("|") or looks_pasted(line):
            continue
        for piece, words in sentences_with_words(line):
            rank, kind, reasoned = _told(piece, words, language)
            shown = trimmed(piece) if rank else ""
            if shown.endswith(":") and len(shown) < _HEADING_CHARS:
                continue
            yield (rank if len(shown) >= _LEAST_CHARS else 0), Decision(shown, kind, reasoned)


def _told(
    piece: str, words: list[bytes], language: Callable[[], str]
) -> tuple[int, DecisionKind, bool]:
    """Return how much a sentence tells, from 0 for nothing to 3, with its kind."""
    names = fields_of(cue_table(*_FIELDS), piece, words, language)
    reasoned = "reasons" in names
    if "decides" in names:
        return 2 + reasoned, "decision", reasoned
    if "finds" in names:
        return 2 + reasoned, "finding", reasoned
    if reasoned and fields_of(cue_table("leans"), piece, words, language):
        return 1, "finding", True
    return 0, "finding", False
