"""Where the name of a field may give its value away: one pattern, twice compiled."""

from __future__ import annotations

import re
from typing import TypeAlias

from holdfast.redaction.matching import compiled
from holdfast.redaction.words import (
    HEADERS,
    ID_WORDS,
    SECRET_WORDS,
    SHORT_WORDS,
    WEAK_LAST_WORDS,
    WEAK_WORDS,
)

Candidate: TypeAlias = "tuple[int, int]"
"""A place where a secret word is followed by a separator: where it starts and ends."""


def next_candidate(data: bytes, at: int) -> Candidate | None:
    """Return the first place from `at` on where the name of a field may give its value away."""
    found = SCANNER.after(data, at)
    return None if found is None else found[0]


def is_hidden(data: bytes, at: int) -> bool:
    """Whether the value after a separator that ends at `at` is hidden already."""
    return data[at - 1] in _SEPARATORS and _HIDDEN.match(data, at) is not None


def sort_of(candidate: bytes) -> tuple[str, int, int] | None:
    """Return of which sort the text of a candidate is, and where its separator stands in it."""
    hit = SORT.match(candidate)
    if hit is None or hit.lastgroup is None:
        return None
    mode = hit.lastgroup
    return mode, hit.start(mode), hit.end() if mode == "named" else hit.end(mode)


_SEPARATORS = b"=:>|, \t\"'`"
_HIDDEN = re.compile(rb"""[ \t]{0,16}+\\{0,6}+["'`]{0,3}+\x00""")

_Q = r"\\{0,6}[\"'`]"
_PASS = r"(?-i:p(?i:ass)|P(?:a(?i:ss)|A(?:s(?i:s)|Ss)))"
"""Any spelling but the one in capitals."""
_WORD = "|".join(w.replace("key", "[ _.-]?key") for w in SECRET_WORDS)
_SHORT = "|".join(w if w != "pass" else _PASS for w in SHORT_WORDS)
_WEAK = "|".join(WEAK_WORDS)
_LAST = "|".join(WEAK_LAST_WORDS)
_HEADER = "|".join(HEADERS)
_IDS = "|".join(sorted(ID_WORDS))
_ASSIGN = r"(?::{1,3}=|[!=]?={1,2}>?|:|[.?+|]=|->|\xe2\x86\x92|%3[Dd]|%22%3[Aa](?:%22)?)"
_TYPE = (
    r"(?:(?:\??:[ \t]?|[ \t])(?:string|str|std::string|\[\]byte|char\[\]|&'?[a-z]{0,8} ?str|final"
    r"|(?:final|optional|classvar)\[[a-z \[\]|]{1,24}\])(?: ?\| ?(?:none|null|undefined))?"
    r"[ \t]{0,4}|\[[0-9]{0,4}\])?"
)
_COUNT = r"(?:[ \t]#?[0-9]{1,2})?"
"""Of several: `token 1 = …`, `API key #2: …`."""
_TAIL = r"[A-Za-z0-9_.-]*"
_MARKS = r"[^\w\r\n\x00/.=@-][^\w\r\n\x00]{0,7}"
_NAME = (
    rf"(?:(?:{_WORD}|{_HEADER}){_TAIL}|(?:[^A-Za-z]|^)(?:{_SHORT})(?:[0-9_.-]{_TAIL})?"
    rf"|(?-i:[a-z0-9]P(?:ass|w|sk))(?:[0-9_.-]{_TAIL})?"  # adminPass
    # what test runners say on every other line is no name, unless it is a part of one
    rf"|[0-9_.-](?-i:PASS)(?:[0-9_.-]{_TAIL})?|(?:[^A-Za-z]|^)(?-i:PASS)[0-9_.-]{_TAIL})"
)

_IS = r"is|was|to|from|ist|lautet|est|es|\xc3[\xa8\xa9]"
"""How a sentence says what a password is, was set to or changed from; in others' languages too."""

_AFTER_NAME = (
    # name: NAME, value: …; variable "name" { default = … }
    rf"(?:{_Q})?(?:[,;]\s{{0,40}}|\s{{1,40}})(?:{_Q})?(?:[a-z]{{0,12}}value|content)(?:{_Q})?"
    rf"[ \t]{{0,4}}[:=]"
    rf"|{_Q}\s{{0,4}}\{{[^{{}}\x00]{{0,120}}?default[ \t]{{0,8}}="
    # NAME || "value"; name | default("value")
    rf"|(?:{_Q})?[\])]{{0,2}}[ \t]{{0,4}}(?:\|\||\?\?|\?:|\|[ \t]?default\()[ \t]{{0,4}}{_Q}"
    # name = value, "name": "value", <name>value, `name | value`
    rf"|(?:\]?{_Q})?\]?\)?{_COUNT}{_TYPE}[ \t]{{0,16}}(?:{_ASSIGN})"
    rf"|(?:[ \t](?:-[ \t])?){_Q}"
    rf"|>"
    rf"|[ \t]{{0,8}}\|"
    # set("name", "value")
    rf"|{_Q}\)?[ \t]{{0,4}},"
    # <string name="name">value</string>, <key>name</key><string>value</string>
    rf"|(?:{_Q}[ ]?>|</key>\s{{0,40}}<string>)"
    # setName("value")
    rf"|\)?(?:\.[a-z]{{2,16}})?\({_Q}"
    # a comment with the name, and the value alone on the next line
    rf"|[ \t]{{0,2}}:?[ \t]{{0,4}}\r?\n[ \t]{{0,32}}[\w+/=.~-]{{20}}"
    # NAME - value, only before something long
    rf"|[ \t]-[ \t][\w+/=.~]{{16}}"
    # NAME value, only before something with a digit
    rf"|[ \t]{{1,4}}[A-Za-z+/=_.~!@#$%^&*-]{{0,24}}[0-9][\w+/=.~!@#$%^&*-]{{4}}"
    # the password for x is …
    rf"|(?:[ \t](?:key|token|for|of|\([a-z ]{{1,20}}\)|[\w.@-]{{1,24}})){{0,5}}[ \t]?"
    rf"(?:[ \t](?:{_IS})[ \t]?:?|:)[ \t]"
    # name (value), name; value, **name** `value`: only before something long
    rf"|{_MARKS}[\w+/=.~-]{{20}}"
)
_SHAPE = (
    # the name once and not with each of these: re2 makes its states of all that can go on
    rf"(?i)(?:{_NAME}(?:{_AFTER_NAME})"
    rf"|(?:[^A-Za-z]|^)(?-i:PASS)(?:{_Q})?\]?\)?{_TYPE}[ \t]{{0,16}}(?::{{1,3}}|[!=.?+|])?="
    # --name value
    rf"|\B--?(?:[A-Za-z0-9_-]*(?:{_WORD}|[_-](?:{_SHORT}))|(?:{_SHORT})){_TAIL}"
    rf"(?:(?:[ \t]|\\{{1,3}}(?:\r?\n|n)[ \t]*){{1,4}})"
    # key = and the like, only before something long
    rf"|(?:{_WEAK})[A-Za-z0-9_-]{{0,16}}(?:{_Q})?\]?[ \t]{{0,16}}(?:{_ASSIGN}|\|)[ \t]{{0,8}}"
    rf"(?:[bruf@]{{0,2}}{_Q}[ (]?[\w+/=.:~$%&#!-]{{12}}|[\w+/=.:~$%-]{{12}})"
    # basic_auth: and the like
    rf"|[a-z0-9][_-]auth(?:{_Q})?\]?[ \t]{{0,16}}(?:{_ASSIGN})[ \t]{{0,4}}{_Q}"
    rf"|(?:{_IDS})[_-]?id[0-9]?(?:{_Q})?\]?[ \t]{{0,16}}(?:{_ASSIGN})[ \t]{{0,8}}"
    rf"(?:{_Q})?[\w.-]{{12}}"
    rf"|(?:{_WEAK})(?:[ \t](?:is|was):?[ \t])[\w+/=.~-]{{12}}"
    rf"|(?:{_WEAK}){_Q}\)?[ \t]{{0,4}}(?:,)[ \t]{{0,4}}{_Q}[\w+/=.:~$%-]{{12}}"
    rf"|[_-](?:{_WEAK}|{_LAST})(?:{_Q})?(?:[,;]\s{{0,40}}|\s{{1,40}})(?:{_Q})?value(?:{_Q})?"
    rf"[ \t]{{0,4}}[:=]"
    rf"|[^A-Za-z](?:{_LAST})(?:{_Q})?\]?[ \t]{{0,16}}(?:{_ASSIGN})"
    rf"|[^\w]key(?:[ \t]{{1,2}}(?:-[ \t])?)[\w+/=.~-]{{20}}"
    rf")"
)
SCANNER = compiled(_SHAPE)

_ANY = r"[^A-Za-z]?[A-Za-z0-9_.-]+(?:[ ]key[A-Za-z0-9_.-]*)?"
_LONG = (
    rf"(?:[ \t]{{0,8}}(?:[bruf@]{{0,2}}{_Q}[ (]?[\w+/=.:~$%&#!-]{{12}}|{_Q}|[\w+/=.:~$%-]{{12}}))?"
)
SORT = re.compile(
    (
        rf"(?i)(?:{_ANY}(?:\]?{_Q})?\]?\)?{_COUNT}{_TYPE}[ \t]{{0,16}}(?P<assign>{_ASSIGN}){_LONG}"
        rf"|{_ANY}(?P<dash>[ \t](?:-[ \t])?){_Q}"
        rf"|{_ANY}(?P<tag>>)"
        rf"|{_ANY}[ \t]{{0,8}}(?P<cell>\|){_LONG}"
        rf"|{_ANY}{_Q}\)?[ \t]{{0,4}}(?P<pair>,){_LONG}"
        rf"|{_ANY}(?:{_Q})?(?:[,;]\s{{0,40}}|\s{{1,40}}|\s{{0,4}}\{{[^{{}}\x00]{{0,120}}?)(?:{_Q})?"
        rf"(?P<named>[a-z]{{0,12}}value|content|default)(?:{_Q})?[ \t]{{0,8}}[:=]"
        rf"|{_ANY}(?P<attr>{_Q}[ ]?>|</key>\s{{0,40}}<string>)"
        rf"|{_ANY}\)?(?P<call>(?:\.[a-z]{{2,16}})?\(){_Q}"
        rf"|{_ANY}(?:{_Q})?[\])]{{0,2}}[ \t]{{0,4}}"
        rf"(?P<other>\|\||\?\?|\?:|\|[ \t]?default\()[ \t]{{0,4}}{_Q}"
        rf"|{_ANY}[ \t]{{0,2}}:?(?P<below>[ \t]{{0,4}}\r?\n[ \t]{{0,32}})[\w+/=.~-]{{20}}"
        rf"|{_ANY}(?P<space>[ \t]{{1,4}}(?:-[ \t])?)[\w+/=.~!@#$%^&*-]{{5,}}"
        rf"|--?{_ANY}(?P<flag>(?:[ \t]|\\{{1,3}}(?:\r?\n|n)[ \t]*){{1,4}})"
        rf"|{_ANY}[^\r\n]*?(?P<prose>[ \t](?:{_IS})[ \t]?:?|:)[ \t](?:[\w+/=.~-]{{12}})?"
        rf"|{_ANY}(?P<loose>{_MARKS})[\w+/=.~-]{{20}}"
        r")\Z"
    ).encode("ascii")
)
"""Says of which sort a candidate is; it only sees what re2 has found."""
