"""What people state in a dialogue: rules, questions, decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import get_args

from msgspec import Struct

from foldaway._core import Regex
from foldaway.facts.dialogue.cues import (
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
from foldaway.facts.languages import VOCABULARIES, WORDS, Language, phrases_for

_MOST_RULES = 40
"""Of one message; chosen, a summary has room for fewer."""
_RULE_FIELDS = ("idle", "forbids", "limits", "hints")
_WHOLE_LINE_CHARS = 200
"""A line as short as this is kept whole, so that a rule keeps the words next to it."""
_LEAST_RULE_CHARS = 4
"""A shorter line states no rule."""

_RECORD_HEADINGS = frozenset(
    heading.lower() for one in get_args(Language) for heading in phrases_for(one).headings.values()
)
_RECORD_SOURCE = Regex(r" \[(?:earlier )?m\d{1,9}\]\Z")


class Constraint(Struct, frozen=True, gc=False):
    """A sentence that states a rule; `strength` is 2 of one without exceptions, else 1."""

    text: str
    strength: int


def constraints(text: str) -> tuple[Constraint, ...]:
    """Return the sentences that state a rule for what follows, verbatim, the strongest first: an
    order about how to work or what not to do, no wish for a thing, no question, nothing pasted.

    At most 40, each of at most 300 characters; a short line stands whole. Of a huge text only the
    ends are read. A record that somebody copied into it states none.
    """
    found = {one.text: one for one in _weighed(both_ends(QUOTED_SUMMARY.sub("", text)))}
    return tuple(sorted(found.values(), key=lambda rule: -rule.strength)[:_MOST_RULES])


def _weighed(text: str) -> Iterator[Constraint]:
    lines = text.split("\n")
    fenced = fenced_lines(lines) if "```" in text or "~~~" in text else frozenset[int]()
    language = language_once(text)
    table = cue_table(*_RULE_FIELDS)
    for index, words in lines_with_cues(table, text, lines):
        line = lines[index]
        is_short = len(line) <= _WHOLE_LINE_CHARS
        if is_short and not fields_of(table, line, words, language):
            continue
        if index in fenced or in_document(index, len(lines)) or looks_pasted(line):
            continue
        if _is_of_record(lines, index):
            continue
        pieces = ((line, words),) if is_short else sentences_with_words(line)
        for piece, own in pieces:
            names = fields_of(table, piece, own, language)
            said = trimmed(piece)
            names = names if ", not " in said else names - {"hints"}
            if names and len(said) >= _LEAST_RULE_CHARS and _is_rule(said):
                yield Constraint(said, 1 + ("forbids" in names))


def _is_of_record(lines: Sequence[str], index: int) -> bool:
    """Return whether a line is a heading or part of an entry of a record that somebody copied."""
    if lines[index].strip("#: ").lower() in _RECORD_HEADINGS:
        return True
    while index + 1 < len(lines) and lines[index + 1].startswith("  "):
        index += 1
    return lines[index].endswith("]") and _RECORD_SOURCE.search(lines[index]) is not None


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


def _is_rule(said: str) -> bool:
    """Return whether a sentence with a cue is neither a wish for a thing nor a question."""
    return bool(_FORBIDS.search(said)) or not (_WISH.search(said) or is_question(said))


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
_LEAST_WORDS = 3
"""A piece without a question mark needs this many words to be a question."""
_LEAST_WORDS_AFTER_WHAT = 4
"""Of three words, as "What was wrong", it is a heading."""


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


_MOST_LATER = 3
"""Of one message; chosen, a request that has more is a plan."""
_LATER_CUES = {
    by_parts: "|".join(
        re.escape(cue)
        for one in VOCABULARIES
        if one.by_parts == by_parts
        for cue in sorted(one.later, key=len, reverse=True)
    )
    for by_parts in (False, True)
}
_JOINS = "|".join(WORDS["joins"])
_OF = "|".join(WORDS["of"])
_LATER = Regex(
    rf"(?i)(?:\A[\W\d]{{0,8}}|[,;:(–—]\s*)((?:(?:{_JOINS})\s+)?(?:{_LATER_CUES[False]}))(?!\w|\s(?:{_OF})\b)"
    rf"|\s((?:{_JOINS})\s+(?:{_LATER_CUES[False]}))(?!\w|\s(?:{_OF})\b)"
    rf"|(?:\A[\W\d]{{0,8}}|[,;:(，、；：]\s*)(و?(?:{_LATER_CUES[True]}))"
)
"""Where a clause begins that is due later: "after each change" is a rule and no such clause."""


def due_later(text: str) -> tuple[str, ...]:
    """Return the ends of sentences in a request that are only due after the rest of it, verbatim:
    a reply to the request does not say that they are done. At most 3; nothing pasted.
    """
    found: list[str] = []
    lines = both_ends(text).split("\n")
    fenced = fenced_lines(lines) if "```" in text or "~~~" in text else frozenset[int]()
    for index, line in enumerate(lines):
        if index in fenced or in_document(index, len(lines)) or looks_pasted(line):
            continue
        for piece in sentences(line):
            match = _LATER.search(piece)
            if match is not None:
                found.append(piece[match.start(match.lastindex or 0) :].strip())
    return tuple(found[:_MOST_LATER])


MOST_DECISIONS = 24
"""Of one message; chosen, a summary has room for fewer."""
_DECISION_FIELDS = ("idle", "decides", "contrasts", "finds")
_LEAST_DECISION_CHARS = 12
"""A shorter sentence does not say what was decided; chosen."""
_OWN_DOING = Regex(r"(?i)(?:i|we)(?:['’](?:ll|ve|d))?\s|use\s")
"""How a sentence begins in which a contrast is a choice."""
_UNSURE = Regex(r"(?i)(?:maybe|perhaps|possibly|next,? i|i might)\b|.*\bis currently\b")
_HEADING_CHARS = 60
"""A shorter one that ends in a colon only announces what follows."""


def decisions(text: str) -> tuple[str, ...]:
    """Return the sentences that tell a choice or a finding, verbatim, in their order.

    At most 24, each of at most 300 characters. Questions, code and what looks pasted are none.
    Of a huge text only the ends are read.
    """
    found = dict.fromkeys(one for one in _telling(both_ends(text)) if not is_question(one))
    return tuple(found)[:MOST_DECISIONS]


def is_choice(sentence: str) -> bool:
    """Return whether one of the `decisions` of a text tells a choice, and not a finding."""
    table = cue_table(*_DECISION_FIELDS)
    found = fields_of(table, sentence, words_of(sentence), language_once(sentence))
    return "decides" in found or ("contrasts" in found and bool(_OWN_DOING.match(sentence)))


def _telling(text: str) -> Iterator[str]:
    lines = text.split("\n")
    fenced = fenced_lines(lines) if "```" in text or "~~~" in text else frozenset[int]()
    language = language_once(text)
    table = cue_table(*_DECISION_FIELDS)
    for index, _ in lines_with_cues(table, text, lines):
        line = lines[index]
        if index in fenced or line.startswith("|") or looks_pasted(line):
            continue
        for piece, words in sentences_with_words(line):
            shown = trimmed(piece) if fields_of(table, piece, words, language) else ""
            is_heading = shown.endswith(":") and len(shown) < _HEADING_CHARS
            if len(shown) >= _LEAST_DECISION_CHARS and not is_heading and not _UNSURE.match(shown):
                yield shown
