"""Questions, in any script."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.facts.dialogue.passages import both_ends, fenced_lines, looks_pasted
from holdfast.facts.dialogue.sentences import sentences, trimmed
from holdfast.facts.dialogue.vocabulary import phrases_in
from holdfast.facts.dialogue.words import VOCABULARIES

MOST = 30
_MARK = re.compile("[?？؟]")
_ENDS_MARKED = re.compile(r"""[?？؟][?!？！؟"')\]*_»”’」』）]{0,8}\s*\Z""")
_ENDS_ASKING = re.compile(
    r"(?:ますか|ですか|でしょうか|ませんか|ないか|のか|吗|嗎|呢|까요|나요|가요|니까|을까|할까)[。｡.]?\s*\Z"
)
_LAST_LETTERS = re.compile("[か吗嗎呢요까]")
_LETTERS = re.compile(r"[^\W\d_]{2}|[\u3040-\u9fff\uac00-\ud7af]")
_NOT_ASKING = (":", ",", ";", "…", "...")
_MOST_OPENER_CHARS = 200
"""A longer sentence that only begins like a question is a story."""
_PREFACES = frozenset(
    phrases_in("and|so|ok|okay|ok,|okay,|also|but|then|now|hi|hi,|yes|yes,|no,|well")
)
_OPENERS = frozenset(
    phrase
    for vocabulary in VOCABULARIES
    if not vocabulary.by_parts
    for phrase in phrases_in(vocabulary.asks)
    if " " in phrase or not phrase.isascii()
)
"""Without a mark only a phrase opens a question; one plain word opens headings just as often."""
_FIRST_WORDS = _PREFACES.union(phrase.partition(" ")[0] for phrase in _OPENERS)
_LEAST_CHARS = 4
_LEAST_WORDS = 3
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
        if len(found) == MOST:
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
    if len(piece) < _LEAST_CHARS:
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
