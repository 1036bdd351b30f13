"""What a text names: paths, addresses, commands, identifiers, numbers."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct

NameKind: TypeAlias = Literal["path", "url", "command", "identifier", "number"]

RUNS = re.compile(r"[0-9A-Za-z_\u00c0-\u10ff\u1200-\u1fff$.@/~+:#%=&?\\-]+")
"""Signs without a blank or bracket between them; a run ends where Chinese or Japanese begins."""
_WORDS = re.compile(r"\w+")
_CODE = re.compile(r"`([^`\n]{2,300})`")
_PLAIN = re.compile(r"(?<![\w`/.-])[a-z][\w.+-]{0,40}(?:[ \t]{1,4}--?[A-Za-z][\w-]{0,40}){1,20}")
"""A command without marks around it: a word with options behind it."""
_EDGES = ".:-/#@$+~%=&?\\"
_TELLING = re.compile(r"[/_\d\\]|[a-z][A-Z]|\w\.\w|(?<!\w)--?\w")
_NUMBER = re.compile(r"[$#+~-]?\d[\d.:%-]*\Z")
_ENDING = re.compile(r"\w\.[A-Za-z][A-Za-z0-9]{0,7}\Z")
_SHORT_FORMS = frozenset((
    "e.g", "i.e", "z.b", "d.h", "u.a", "p.ej", "a.m", "p.m", "and/or", "n/a", "w/o", "i/o", "ci/cd",
    "node.js", "next.js", "vue.js", "c/c++", "tcp/ip", "24/7",
))  # fmt: skip
"""What is written with signs in it and names nothing."""
_LEAST_CHARS = 3
_LONGEST_CHARS = 400
_MOST_NAMES = 200


class Name(Struct, frozen=True, gc=False):
    """Something that a text names, as it names it."""

    kind: NameKind
    text: str


def names_in(text: str) -> list[Name]:
    """Return what a text names, each once, in order; linear.

    Numbers of fewer than three signs are left out: a text counts things that nobody numbered.
    """
    found: dict[Name, None] = {}
    for code in _CODE.findall(text):
        words = code.split()
        if len(words) > 1:
            found[Name("command", " ".join(words))] = None
    for command in _PLAIN.findall(text):
        found[Name("command", " ".join(command.split()))] = None
    for run in dict.fromkeys(RUNS.findall(text)):
        name = _named(run)
        if name is not None:
            found[name] = None
            if len(found) >= _MOST_NAMES:
                break
    return list(found)


def words_in(text: str) -> list[str]:
    """Return the words and pieces of names in a text, in small letters."""
    return _WORDS.findall(text.casefold())


def without_names(text: str) -> str:
    """Return a text without the paths, identifiers and numbers in it."""
    return RUNS.sub(lambda run: " " if _TELLING.search(bare(run.group())) else run.group(), text)


def bare(run: str) -> str:
    """Return a run without the signs that a sentence puts at its ends; a leading slash stays."""
    end = run.rstrip(_EDGES)
    return end if end[:1] in "/~$" else end.lstrip(_EDGES)


def _named(run: str) -> Name | None:
    text = bare(run)
    if not _LEAST_CHARS <= len(text) <= _LONGEST_CHARS or not _TELLING.search(text):
        return None
    if text.casefold() in _SHORT_FORMS:
        return None
    if "://" in text or text.startswith("www."):
        return Name("url", text)
    if _NUMBER.match(text):
        return Name("number", text)
    if "/" in text or "\\" in text or (_ENDING.search(text) and not _is_version(text)):
        return Name("path", text)
    return Name("identifier", text)


def _is_version(text: str) -> bool:
    return text[0].isdigit()
