"""Context words: what stands beside a fact, so that a bare list of strings does not win."""

from __future__ import annotations

import re
from collections.abc import Iterable

from holdfast.lab.scoring.facts import places

_REACH_CHARS = 100
_TOKEN = re.compile(r"[\w./@$-]+")
_RUN_BEFORE = re.compile(r"[\w./@$-]{1,100}\Z")
_RUN_AFTER = re.compile(r"\A[\w./@$-]{1,100}")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_KEY = re.compile(r"([A-Za-z][\w-]{1,40})[\"']?\s?[:=]")
_SUBWORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}")
_EDGES = "_./-@$"
_LEAST_CHARS = 3
_FEW = 4
_SAID_OFTEN = frozenset((
    "the", "and", "for", "with", "that", "this", "from", "you", "are", "was", "not", "have",
    "has", "but", "can", "will", "all", "any", "its", "into", "when", "then", "than", "them",
    "they", "our", "out", "use", "used", "using", "file", "path", "string", "true", "false",
    "null", "none", "call", "result", "user", "assistant", "tool", "content", "name", "type",
    "value", "data", "return", "let", "const", "func", "def", "new",
))  # fmt: skip
_SAME = {
    word: group
    for group, words in {
        "change": "edit edited update updated change changed modify modified write wrote written"
        " create created add added patch",
        "read": "read view viewed open opened",
        "delete": "delete deleted remove removed",
        "rename": "rename renamed move moved",
        "run": "run ran command cmd bash shell exec execute executed",
        "search": "grep search searched glob find found",
    }.items()
    for word in words.split()
}
"""What a call does, whichever word says it: a ledger writes "changed" where a call says Edit."""


def contexts(text: str, fact: str, most: int) -> list[frozenset[str]]:
    """Return the words beside each mention of a fact; mentions without any are left out."""
    own = words_of(fact) | {fact.lower()}
    found = [beside(text, at, len(fact)) - own for at in places(text, fact, most)]
    return [words for words in found if words]


def beside(text: str, at: int, length: int) -> frozenset[str]:
    """Return the context words of the line around a place, as far as the reach goes.

    What is joined to the fact belongs to the same name and is no context.
    """
    start = max(text.rfind("\n", 0, at) + 1, at - _REACH_CHARS)
    stop = text.find("\n", at + length)
    stop = min(stop if stop >= 0 else len(text), at + length + _REACH_CHARS)
    before, after = text[start:at], text[at + length : stop]
    return words_of(f"{_RUN_BEFORE.sub('', before)} {_RUN_AFTER.sub('', after)}")


def words_of(text: str) -> frozenset[str]:
    """Return the plain words of a line and the parts of its keys; identifiers are no words."""
    found: set[str] = set()
    for token in _TOKEN.findall(text):
        word = token.strip(_EDGES)
        if not word.isalpha():
            continue
        if not word.isascii():
            found.update(_CJK.findall(word) or [word.lower()])
        elif len(word) >= _LEAST_CHARS and (word[1:].islower() or word.isupper()):
            found.add(word.lower())
    for key in _KEY.findall(text):
        found.update(part.lower() for part in _SUBWORD.findall(key))
    return frozenset(_SAME.get(word, word) for word in found - _SAID_OFTEN)


def is_bound(text: str, fact: str, known: Iterable[frozenset[str]]) -> bool:
    """Return whether some mention in `text` stands beside the words of one source mention.

    Two of them, or one where the source mention itself has fewer than four.
    """
    rows = list(known)
    for at in places(text, fact, 40):
        here = beside(text, at, len(fact))
        if any(len(row & here) >= (2 if len(row) >= _FEW else 1) for row in rows):
            return True
    return False
