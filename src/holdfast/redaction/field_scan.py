"""Where the name of a field may give its value away: one pattern, twice compiled."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.redaction.matching import compiled
from holdfast.redaction.rules.words import (
    HEADERS,
    ID_WORDS,
    SECRET_WORDS,
    SHORT_WORDS,
    WEAK_WORDS,
)


class Candidate(NamedTuple):
    """A place where a secret word is followed by a separator."""

    start: int
    end: int


def next_candidate(data: bytes, at: int) -> Candidate | None:
    """Return the first place from `at` on where the name of a field may give its value away."""
    found = SCANNER.after(data, at)
    return None if found is None else Candidate(*found[0])


def is_hidden(data: bytes, at: int) -> bool:
    """Whether the value after a separator that ends at `at` is hidden already."""
    return data[at - 1] in _SEPARATORS and _HIDDEN.match(data, at) is not None


_SEPARATORS = b"=:>|, \t\"'`"
_HIDDEN = re.compile(rb"""[ \t]{0,16}+\\{0,6}+["'`]{0,3}+\x00""")

_Q = r"\\{0,6}[\"'`]"
_WORD = "|".join(w.replace("key", "[ _.-]?key") for w in SECRET_WORDS)
_SHORT = "|".join(SHORT_WORDS)
_WEAK = "|".join(WEAK_WORDS)
_HEADER = "|".join(HEADERS)
_IDS = "|".join(sorted(ID_WORDS))
_ASSIGN = r"(?::{1,3}=|[!=]?={1,2}>?|:|[.?+|]=|->|\xe2\x86\x92|%3[Dd])"
_TYPE = (
    r"(?:(?::[ \t]?|[ \t])(?:string|str|std::string|\[\]byte|char\[\]|&'?[a-z]{0,8} ?str)"
    r"[ \t]{0,4})?"
)
_TAIL = r"[A-Za-z0-9_.-]{0,32}"
_NAME = rf"(?:(?:{_WORD}|{_HEADER}){_TAIL}|(?:[^A-Za-z]|^)(?:{_SHORT})(?:[0-9_.-]{_TAIL})?)"

_SHAPE = (
    rf"(?i)(?:"
    # name = value, "name": "value", <name>value, `name | value`
    rf"{_NAME}(?:{_Q})?\]?\)?{_TYPE}[ \t]{{0,16}}(?:{_ASSIGN})"
    rf"|{_NAME}(?:[ \t](?:-[ \t])?){_Q}"
    rf"|{_NAME}(?:>)"
    rf"|{_NAME}[ \t]{{0,8}}(?:\|)"
    # set("name", "value"); name: NAME, value: …
    rf"|{_NAME}{_Q}\)?[ \t]{{0,4}}(?:,)"
    rf"|{_NAME}(?:{_Q})?[,;]?\s{{1,40}}(?:{_Q})?(?:value)(?:{_Q})?[ \t]{{0,4}}[:=]"
    # --name value
    rf"|--?(?:[A-Za-z0-9_-]{{0,32}}(?:{_WORD}|[_-](?:{_SHORT}))|(?:{_SHORT})){_TAIL}"
    rf"(?:(?:[ \t]|\\{{1,3}}(?:\r?\n|n)[ \t]*){{1,4}})"
    # the password for x is …
    rf"|{_NAME}(?:[ \t](?:key|token|for|of|\([a-z ]{{1,20}}\)|[\w.@-]{{1,24}})){{0,3}}[ \t]?"
    rf"(?:[ \t](?:is|was):?|:)[ \t]"
    # key = and the like, only before something long
    rf"|(?:{_WEAK})[A-Za-z0-9_-]{{0,16}}(?:{_Q})?\]?[ \t]{{0,16}}(?:{_ASSIGN}|\|)[ \t]{{0,8}}"
    rf"(?:{_Q})?[\w+/=.:~$%-]{{12}}"
    rf"|(?:{_IDS})[_-]?id[0-9]?(?:{_Q})?\]?[ \t]{{0,16}}(?:{_ASSIGN})[ \t]{{0,8}}"
    rf"(?:{_Q})?[\w.-]{{12}}"
    rf"|(?:{_WEAK})(?:[ \t](?:is|was):?[ \t])[\w+/=.~-]{{12}}"
    rf"|(?:{_WEAK}){_Q}\)?[ \t]{{0,4}}(?:,)[ \t]{{0,4}}{_Q}[\w+/=.:~$%-]{{12}}"
    rf")"
)
SCANNER = compiled(_SHAPE)

_ANY = r"[^A-Za-z]?[A-Za-z0-9_.-]+(?:[ ]key[A-Za-z0-9_.-]*)?"
_LONG = rf"(?:[ \t]{{0,8}}(?:{_Q})?[\w+/=.:~$%-]{{12}})?"
SORT = re.compile(
    (
        rf"(?i)(?:{_ANY}(?:{_Q})?\]?\)?{_TYPE}[ \t]{{0,16}}(?P<assign>{_ASSIGN}){_LONG}"
        rf"|{_ANY}(?P<dash>[ \t](?:-[ \t])?){_Q}"
        rf"|{_ANY}(?P<tag>>)"
        rf"|{_ANY}[ \t]{{0,8}}(?P<cell>\|){_LONG}"
        rf"|{_ANY}{_Q}\)?[ \t]{{0,4}}(?P<pair>,){_LONG}"
        rf"|{_ANY}(?:{_Q})?[,;]?\s{{1,40}}(?:{_Q})?(?P<named>value)(?:{_Q})?[ \t]{{0,4}}[:=]"
        rf"|--?{_ANY}(?P<flag>(?:[ \t]|\\{{1,3}}(?:\r?\n|n)[ \t]*){{1,4}})"
        rf"|{_ANY}[^\r\n]*?(?P<prose>[ \t](?:is|was):?|:)[ \t](?:[\w+/=.~-]{{12}})?"
        r")\Z"
    ).encode("ascii")
)
"""Says of which sort a candidate is; it only sees what re2 has found."""
