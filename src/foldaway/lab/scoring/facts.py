"""The scoring extractor: what in a text is a fact. Shares nothing with the ledger's own.

A fact is a path, url, identifier or number, decided by its shape alone. Text is first cut into runs
of characters that such a thing may have, which is linear; a run is then judged once, however
often it occurs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

_RUN = re.compile(r"[A-Za-z0-9_./@+~:$%#-]{3,}")
_URL = re.compile(r"https?://[^\s<>\"'`)\]}|\\]{3,400}")
_EXTENSION = re.compile(r"[^./]\.[A-Za-z][A-Za-z0-9]{0,7}$")
_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_FILE_ENDINGS = frozenset(_LISTS["file_endings"].split())
_NUMBER = re.compile(r"\$?\d+(?:\.\d+)*%?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d)?")
_VERSION = re.compile(r"v\d+(?:\.\d+)+[\w.-]*")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_ESCAPED_BREAK = re.compile(r"\\[nrt]")
# The numbers from here on belong to the definition of a fact and of its context: chosen once,
# before any test figure was read. Other numbers make other scores.
_LONGEST = 160
"""Characters of a fact; what is longer is data."""
_LEAST_DIGITS = 3
_REACH_CHARS = 100
"""How far from a fact its context words may be, on its line."""
_TOKEN = re.compile(r"[\w./@$-]+")
_RUN_BEFORE = re.compile(r"[\w./@$-]{1,100}\Z")
_RUN_AFTER = re.compile(r"\A[\w./@$-]{1,100}")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_KEY = re.compile(r"([A-Za-z][\w-]{1,40})[\"']?\s?[:=]")
_SUBWORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}")
_EDGES = "_./-@$"
_LEAST_CHARS = 3
_FEW = 4
"""A mention with fewer context words is bound by one of them, others need two."""
_SAID_OFTEN = frozenset(_LISTS["said_often"].split())
_SAME = {word: group for group, words in _LISTS["same"].items() for word in words.split()}


def facts_in(text: str) -> set[str]:
    """Return the facts of a text."""
    found: set[str] = set()
    if "\\" in text:
        text = _ESCAPED_BREAK.sub(" ", text)
    if "://" in text:
        for url in set(_URL.findall(text)):
            found.add(url.rstrip(".,;:!?"))
    for run in set(_RUN.findall(text)):
        found.update(_facts_of_run(run))
    return found


def kind_of(fact: str) -> str:
    """Return what kind of fact a string is."""
    if "://" in fact:
        return "url"
    if "/" in fact or ("." in fact and fact.rpartition(".")[2] in _FILE_ENDINGS):
        return "path"
    if _NUMBER.fullmatch(fact) or _DATE.match(fact):
        return "number"
    return "identifier"


def places(text: str, fact: str, most: int = 1_000) -> Iterator[int]:
    """Yield where `fact` stands in `text` as a whole: no letter or digit goes on beside it.

    The `n` of an escaped line break is not a letter.
    """
    at, length, count = text.find(fact), len(fact), 0
    while at >= 0 and count < most:
        before, after = text[max(at - 1, 0) : at], text[at + length : at + length + 1]
        if before and before in "nrt" and text[at - 2 : at - 1] == "\\":
            before = ""
        if not (_is_continued(before, fact[0]) or _is_continued(after, fact[-1])):
            yield at
            count += 1
        at = text.find(fact, at + 1)


def is_present(text: str, fact: str) -> bool:
    """Return whether `fact` stands in `text` as a whole."""
    return next(places(text, fact), -1) >= 0


def _is_continued(beside: str, edge: str) -> bool:
    return bool(beside) and (beside.isalnum() or beside == "_") and (edge.isalnum() or edge == "_")


@lru_cache(maxsize=1_000_000)
def _facts_of_run(run: str) -> tuple[str, ...]:
    if len(run) > 4 * _LONGEST:
        return ()
    found: list[str] = []
    for piece in run.split(":"):
        fact = piece.rstrip("./-$+#@%~").lstrip("+#@%")
        if fact[:1] == "." and fact[1:2].isupper():
            fact = fact[1:]
        if fact.startswith("//"):
            continue
        if 2 < len(fact) <= _LONGEST and _is_fact(fact):
            found.append(fact)
    return tuple(found)


def _is_fact(text: str) -> bool:
    if "/" in text:
        return _is_path(text)
    if _NUMBER.fullmatch(text):
        return _is_telling(text)
    if _DATE.match(text) or _VERSION.fullmatch(text):
        return True
    letters = any(map(str.isalpha, text))
    if not letters:
        return False
    if text.startswith("-"):
        return text.startswith("--") and len(text) > 4
    if "_" in text.strip("_") or _CAMEL.search(text):
        return True
    digits = any(map(str.isdigit, text))
    if "." in text:
        return _is_dotted(text)
    if "-" in text:
        return digits or text.count("-") >= 2
    if digits:
        return len(text) >= 4 and sum(map(str.isalpha, text)) >= 2
    return text.isupper()


def _is_telling(number: str) -> bool:
    """Return whether a number has three digits and is not a round one of four or more."""
    digits = "".join(filter(str.isdigit, number))
    if len(digits) < _LEAST_DIGITS:
        return False
    return number[0] == "$" or len(digits) == _LEAST_DIGITS or len(digits.rstrip("0")) > 2


def _is_path(text: str) -> bool:
    parts = [part for part in text.split("/") if part]
    if not parts or not any(map(str.isalpha, text)):
        return False
    if _EXTENSION.search(text):
        return True
    if text.startswith(("/", "./", "../", "~/")):
        return len(parts) >= 2 or len(text) > 5
    return len(parts) >= 3 or any(mark in text for mark in "-_.") or any(map(str.isdigit, text))


def _is_dotted(text: str) -> bool:
    parts = text.split(".")
    if parts[-1] in _FILE_ENDINGS:
        return True
    return len(parts) >= 2 and all(len(part) >= 2 and _WORDS.fullmatch(part) for part in parts)


def contexts(text: str, fact: str, most: int) -> list[frozenset[str]]:
    """Return the words beside each mention of a fact; mentions without any are left out."""
    own = words_of(fact) | {fact.lower()}
    found = [find_context_words(text, at, len(fact)) - own for at in places(text, fact, most)]
    return [words for words in found if words]


def find_context_words(text: str, at: int, length: int) -> frozenset[str]:
    """Return the context words of the line around a place, as far as the reach goes.

    What is joined to the fact belongs to the same name and is not context.
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
    """Return whether some mention in `text` is next to the words of one source mention.

    Two of them, or one where the source mention itself has fewer than four.
    """
    rows = list(known)
    for at in places(text, fact, 40):
        here = find_context_words(text, at, len(fact))
        if any(len(row & here) >= (2 if len(row) >= _FEW else 1) for row in rows):
            return True
    return False
