"""Rules and preferences in the words of who stated them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from holdfast.facts.dialogue.cues import CueTable, cue_table, fields_of, lines_with_cues
from holdfast.facts.dialogue.language import language_once
from holdfast.facts.dialogue.passages import both_ends, fenced_lines, in_document, looks_pasted
from holdfast.facts.dialogue.sentences import sentences_with_words, trimmed

MOST = 40
_FIELDS = ("idle", "mild", "forbids", "limits", "hints")
_WHOLE_LINE_CHARS = 200
"""A line as short as this is kept whole, so that a rule keeps what stands beside it."""
_READ_CHARS = 4_000
"""A longer line is not weighed as a whole before its sentences are."""
_MOST_PASTED = 24
_LEAST_CHARS = 4


class Constraint(Struct, frozen=True, gc=False):
    """A sentence that states a rule. `strength`: 3 a rule, 2 a limit or preference, 1 a wish."""

    text: str
    strength: int
    pasted: bool = False
    """It stands in code, in a log or in the middle of a long document."""
    core: str = ""
    """Of a line of several sentences the one that states the rule, "" where it is all of it."""


def constraints(text: str) -> tuple[str, ...]:
    """Return the sentences that state a rule or preference, verbatim, the strongest first.

    At most 40, each of at most 300 characters; a short line stands whole. What looks pasted
    comes last, at most 24 of it, and code or a log only where it is strict. Of a huge text only
    the ends are read.
    """
    return tuple(found.text for found in weighed_constraints(text))


def weighed_constraints(text: str) -> tuple[Constraint, ...]:
    """Return the same as `constraints`, each with its strength."""
    found: dict[str, Constraint] = {}
    for rule in _weighed(both_ends(text)):
        if rule.strength and rule.text not in found:
            found[rule.text] = rule
    rules = sorted(found.values(), key=_by_strength)
    pasted = [rule for rule in rules if rule.pasted]
    if pasted:
        rules = [rule for rule in rules if not rule.pasted] + pasted[:_MOST_PASTED]
    return tuple(rules[:MOST])


def _weighed(text: str) -> Iterator[Constraint]:
    """Yield every piece that was looked at; one that states nothing has no strength."""
    lines = text.split("\n")
    fenced = fenced_lines(lines) if "```" in text or "~~~" in text else frozenset[int]()
    language = language_once(text)
    table = cue_table(*_FIELDS)
    for index, words in lines_with_cues(table, text, lines):
        line = lines[index]
        strength = _strength(table, line, words, language) if len(line) <= _READ_CHARS else 1
        if strength == 0:
            continue
        machine = index in fenced or looks_pasted(line)
        pasted = machine or in_document(index, len(lines))
        least = 3 if machine else 1
        if len(line) <= _WHOLE_LINE_CHARS:
            rule = _constraint(line, strength, least, pasted=pasted)
            core = _core(table, line, language) if rule.strength else ""
            yield replace(rule, core=core) if core and core != rule.text else rule
            continue
        for piece, words in sentences_with_words(line):
            strength = _strength(table, piece, words, language)
            yield _constraint(piece, strength, least, pasted=pasted)


def _constraint(piece: str, strength: int, least: int, *, pasted: bool) -> Constraint:
    shown = trimmed(piece) if strength >= least else ""
    return Constraint(shown, strength if len(shown) >= _LEAST_CHARS else 0, pasted)


def _core(table: CueTable, line: str, language: Callable[[], str]) -> str:
    """Return the sentence of a line that states most, "" where there is only one."""
    pieces = list(sentences_with_words(line))
    if len(pieces) < 2:
        return ""
    strengths = [_strength(table, piece, words, language) for piece, words in pieces]
    return trimmed(pieces[strengths.index(max(strengths))][0])


def _by_strength(rule: Constraint) -> int:
    return -rule.strength


def _strength(table: CueTable, piece: str, words: list[bytes], language: Callable[[], str]) -> int:
    names = fields_of(table, piece, words, language)
    if "forbids" in names:
        return 3
    if "limits" in names:
        return 2
    return 1 if names else 0
