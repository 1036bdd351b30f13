"""What people state in a dialogue: rules, questions, decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.facts.dialogue.cues import (
    CueTable,
    cue_table,
    encoded_words,
    fields_of,
    language_once,
    lines_with_cues,
)
from foldaway.facts.dialogue.text import (
    both_ends,
    fenced_lines,
    in_document,
    looks_pasted,
    sentences,
    sentences_with_words,
    trimmed,
    words_of,
)
from foldaway.facts.frame import QUOTED_SUMMARY
from foldaway.facts.languages import VOCABULARIES, Language, phrases_for
from foldaway.facts.tables import WORDS

MOST_CONSTRAINTS = 40
"""Of one message; chosen, a summary has room for fewer."""
_RULE_FIELDS = ("idle", "mild", "forbids", "limits", "hints")
_WHOLE_LINE_CHARS = 200
"""A line as short as this is kept whole, so that a rule keeps what stands beside it."""
_READ_CHARS_RULES = 4_000
"""A longer line is not weighed as a whole before its sentences are."""
_MOST_PASTED = 24
"""Of those, rules from a pasted document; chosen, so that they do not crowd out the user's own."""
_LEAST_RULE_CHARS = 4
"""A shorter line states no rule."""

_RECORD_HEADINGS = frozenset(
    heading.lower() for one in get_args(Language) for heading in phrases_for(one).headings.values()
)
_RECORD_SOURCE = Regex(r" \[(?:earlier )?m\d{1,9}\]\Z")


class Constraint(Struct, frozen=True, gc=False):
    """A sentence that states a rule. `strength`: 3 a rule, 2 a limit or preference, 1 a wish."""

    text: str
    strength: int
    pasted: bool = False
    """It stands in code, in a log or in the middle of a long document."""
    core: str = ""
    """Of a line of several sentences the one that states the rule, "" where it is all of it."""


def constraints(text: str) -> tuple[Constraint, ...]:
    """Return the sentences that state a rule or preference, verbatim, the strongest first.

    At most 40, each of at most 300 characters; a short line stands whole. What looks pasted
    comes last, at most 24 of it, and code or a log only where it is strict. Of a huge text only
    the ends are read. A record that somebody copied into it states none.
    """
    found: dict[str, Constraint] = {}
    for rule in _weighed(both_ends(QUOTED_SUMMARY.sub("", text))):
        if rule.strength and rule.text not in found:
            found[rule.text] = rule
    rules = sorted(found.values(), key=lambda rule: -rule.strength)
    pasted = [rule for rule in rules if rule.pasted]
    rules = [rule for rule in rules if not rule.pasted] + pasted[:_MOST_PASTED]
    return tuple(rules[:MOST_CONSTRAINTS])


def _weighed(text: str) -> Iterator[Constraint]:
    """Yield every piece that was looked at; one that states nothing has no strength."""
    lines = text.split("\n")
    fenced = fenced_lines(lines) if "```" in text or "~~~" in text else frozenset[int]()
    language = language_once(text)
    table = cue_table(*_RULE_FIELDS)
    for index, words in lines_with_cues(table, text, lines):
        line = lines[index]
        strength = _strength(table, line, words, language) if len(line) <= _READ_CHARS_RULES else 1
        if strength == 0 or _is_of_record(lines, index):
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


def _is_of_record(lines: Sequence[str], index: int) -> bool:
    """Return whether a line is a heading or part of an entry of a record that somebody copied."""
    if lines[index].strip("#: ").lower() in _RECORD_HEADINGS:
        return True
    while index + 1 < len(lines) and lines[index + 1].startswith("  "):
        index += 1
    return lines[index].endswith("]") and _RECORD_SOURCE.search(lines[index]) is not None


def _constraint(piece: str, strength: int, least: int, *, pasted: bool) -> Constraint:
    shown = trimmed(piece) if strength >= least else ""
    return Constraint(shown, strength if len(shown) >= _LEAST_RULE_CHARS else 0, pasted)


def _core(table: CueTable, line: str, language: Callable[[], str]) -> str:
    """Return the sentence of a line that states most, "" where there is only one."""
    pieces = list(sentences_with_words(line))
    if len(pieces) < 2:
        return ""
    strengths = [_strength(table, piece, words, language) for piece, words in pieces]
    return trimmed(pieces[strengths.index(max(strengths))][0])


def _strength(table: CueTable, piece: str, words: list[bytes], language: Callable[[], str]) -> int:
    names = fields_of(table, piece, words, language)
    if "forbids" in names:
        return 3
    if "limits" in names:
        return 2
    return 1 if names else 0


SURE_RULE = 2
"""From this strength on a sentence is more than a wish."""
_FORBIDS = Regex(
    r"(?i)(?:\A|[,.;]\s*|\b(?:and|but|so|ok|okay|please)\s+)(?:(?:i|we)\s+)?"
    r"(?:do ?n[o'’]?t|never)\b(?!\s+(?:you|we|i|they|it)\b)"
)
"""A clause that forbids, also before a question of another one: "…, right?"."""


_WISH = Regex(
    r"(?i)\b(?:i|we)(?:['’](?:d|m|ll|re)| would| will| am| are)?(?: (?:only|just|also|still))?"
    r" (?:need|want|like|love|prefer|take|must have|looking for)(?: to (?:have|get|buy))?"
    r"(?: (?:only|just))? (?:the|an?|one|ones|another|some|something|this|that|it|them|my|our)\b"
    r"(?! (?:\w+ ){0,3}(?:to|not)\b)"
)
"""Somebody wants a thing: "I need one that …", but not "I want the tests to …"."""


def is_rule(rule: Constraint) -> bool:
    """Return whether a sentence is a rule for what follows: an order about how to work or what not
    to do, and not a wish for a thing, a question or a line of something pasted.
    """
    said = rule.core or rule.text
    if _WISH.search(said) and not _FORBIDS.search(said):
        return False
    is_strict = rule.strength >= SURE_RULE or ", not " in said
    asks = is_question(said) and not _FORBIDS.search(said)
    return is_strict and not rule.pasted and not asks


_ORDER = Regex(
    rf"\A\W*(?:[\w ]{{1,20}}: +)?(?:please |now |then )?(?:{'|'.join(WORDS['orders'])}) +\S+ +\S"
    rf"|\b(?:{'|'.join(WORDS['order_phrases'])})\b"
)
_ORDER_SIGNS = encoded_words("orders").union(
    max(phrase.split(), key=len).encode() for phrase in WORDS["order_phrases"]
)
"""A line without one of these words is not an order in English."""


def is_order(line: str) -> bool:
    """Return whether a line of a tool's result tells its reader what to do; code does not. In
    other languages than English only what forbids is known.
    """
    if line.endswith((";", "{", "}", "(", ")", ",")):
        return False
    words = words_of(line)
    if not _ORDER_SIGNS.isdisjoint(words) and _ORDER.search(line.lower()):
        return True
    return not line.isascii() and bool(
        fields_of(cue_table("forbids"), line, words, language_once(line))
    )


MOST_QUESTIONS = 30
"""Of one message; chosen, a summary has room for fewer."""
_MARK = Regex("[?？؟]")
_ENDS_MARKED = Regex(r"""[?？؟][?!？！؟"')\]*_»”’」』）]{0,8}\s*\Z""")
_ENDS_ASKING = Regex(
    r"(?:ますか|ですか|でしょうか|ませんか|ないか|のか|吗|嗎|呢|까요|나요|가요|니까|을까|할까)[。｡.]?\s*\Z"
)
_LETTERS = Regex(r"[^\W\d_]{2}|[\u3040-\u9fff\uac00-\ud7af]")
_NOT_ASKING = (":", ",", ";", "…", "...")
_MOST_OPENER_CHARS = 200
"""A longer sentence that only begins like a question is a story."""
_PREFACES = WORDS["prefaces"]
_OPENERS = frozenset(
    phrase
    for vocabulary in VOCABULARIES
    if not vocabulary.by_parts
    for phrase in vocabulary.asks
    if " " in phrase or not phrase.isascii()
)
"""Without a mark only a phrase opens a question; one plain word opens headings just as often."""
_FIRST_WORDS = _PREFACES.union(phrase.partition(" ")[0] for phrase in _OPENERS)
_LEAST_QUESTION_CHARS = 4
"""A shorter piece asks nothing."""
_LEAST_WORDS = 3
"""A piece without a question mark needs this many words to be a question."""
_LEAST_WORDS_AFTER_WHAT = 4
"""Of three words, as "What was wrong", it is a heading."""


def questions(text: str) -> tuple[str, ...]:
    """Return the questions of a text, verbatim, in their order; of more than 30 the last ones.

    A question has its mark at its end, or a line begins or ends as questions do in its language.
    Code, URLs and what looks pasted have none. Of a huge text only the ends are read.
    """
    found: dict[str, None] = {}
    for shown in _from_the_end(both_ends(text)):
        if shown:
            found.setdefault(shown)
        if len(found) == MOST_QUESTIONS:
            break
    return tuple(reversed(found))


def _from_the_end(text: str) -> Iterator[str]:
    """Yield the questions, the last first; "" for a sentence that asks nothing."""
    lines = text.split("\n")
    fenced = fenced_lines(lines) if "```" in text or "~~~" in text else frozenset[int]()
    plain = text.isascii()
    marked = _MARK.search
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        with_mark = ("?" in line) if plain else marked(line)
        unmarked = not with_mark and (
            _opens_asking(line) or (not plain and _ENDS_ASKING.search(line[-8:]))
        )
        if not (with_mark or unmarked) or index in fenced or looks_pasted(line):
            continue
        if unmarked:
            yield trimmed(next(sentences(line)))
        else:
            yield from map(_asked, reversed(list(sentences(line))))


def _asked(piece: str) -> str:
    if len(piece) < _LEAST_QUESTION_CHARS:
        return ""
    shown = trimmed(piece)
    return shown if is_question(shown) else ""


def is_question(piece: str) -> bool:
    """Return whether one sentence asks."""
    if _ENDS_MARKED.search(piece[-12:]):
        return piece.count("`") % 2 == 0 and _LETTERS.search(piece) is not None
    if not piece.isascii() and _ENDS_ASKING.search(piece[-8:]):
        return True
    return _opens_asking(piece)


def _opens_asking(line: str) -> bool:
    """Return whether a line without a mark begins like a question and is not a heading."""
    words = line[:60].lower().split(None, 5)
    if not words or words[0] not in _FIRST_WORDS:
        return False
    if words[0] in _PREFACES:
        del words[0]
    if len(words) < (_LEAST_WORDS_AFTER_WHAT if words[:1] == ["what"] else _LEAST_WORDS):
        return False
    begins = not _OPENERS.isdisjoint((words[0], " ".join(words[:2]), " ".join(words[:3])))
    return begins and len(line) <= _MOST_OPENER_CHARS and not line.rstrip().endswith(_NOT_ASKING)


MOST_DECISIONS = 24
"""Of one message, the strongest; chosen, a summary has room for fewer."""
_DECISION_FIELDS = ("idle", "decides", "finds", "reasons")
_LEAST_DECISION_CHARS = 12
"""A shorter sentence does not say what was decided; chosen."""
_UNSURE = Regex(r"(?i)(?:maybe|perhaps|possibly|next,? i|i might)\b|.*\bis currently\b")
_HEADING_CHARS = 60
"""A shorter one that ends in a colon only announces what follows."""
_READ_CHARS_DECISIONS = 4_000
"""A longer line is not looked at as a whole before its sentences are."""


def decisions(text: str) -> tuple[str, ...]:
    """Return the sentences that tell a choice or a finding, verbatim, those with a reason first.

    At most 24, each of at most 300 characters. Questions, code and what looks pasted are none.
    Of a huge text only the ends are read.
    """
    found: dict[str, int] = {}
    for rank, sentence in _ranked(both_ends(text)):
        if sentence not in found and not is_question(sentence):
            found[sentence] = rank
    return tuple(sorted(found, key=lambda sentence: -found[sentence])[:MOST_DECISIONS])


def _ranked(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences that tell something, with how much they tell."""
    lines = text.split("\n")
    fenced = fenced_lines(lines) if "```" in text or "~~~" in text else frozenset[int]()
    language = language_once(text)
    for index, words in lines_with_cues(cue_table(*_DECISION_FIELDS), text, lines):
        line = lines[index]
        if len(line) <= _READ_CHARS_DECISIONS and not _rank(line, words, language):
            continue
        if index in fenced or line.startswith("|") or looks_pasted(line):
            continue
        for piece, words in sentences_with_words(line):
            rank = _rank(piece, words, language)
            shown = trimmed(piece) if rank else ""
            is_heading = shown.endswith(":") and len(shown) < _HEADING_CHARS
            if len(shown) >= _LEAST_DECISION_CHARS and not is_heading and not _UNSURE.match(shown):
                yield rank, shown


def _rank(piece: str, words: list[bytes], language: Callable[[], str]) -> int:
    """Return how much a sentence tells of a choice or a finding, from 0 for nothing to 3."""
    names = fields_of(cue_table(*_DECISION_FIELDS), piece, words, language)
    is_reasoned = "reasons" in names
    if "decides" in names or "finds" in names:
        return 2 + is_reasoned
    return int(is_reasoned and bool(fields_of(cue_table("leans"), piece, words, language)))
