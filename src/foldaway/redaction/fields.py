"""Where the fields of a text are: a name, a separator and a value.

One re2 scan finds a secret word that is followed by a separator (a candidate). The text before it
gives the whole name, the separator tells how the name is tied to its value (the mode), and the
value ends at its quotes or at what separates it from the next field.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeAlias

from foldaway._core import Regex
from foldaway.redaction.matching import Pattern, Range
from foldaway.redaction.names import (
    HEADERS,
    ID_WORDS,
    SECRET_WORDS,
    SHORT_WORDS,
    WEAK_LAST_WORDS,
    WEAK_WORDS,
    Strength,
    strength_of,
)
from foldaway.redaction.text import is_in_string

Candidate: TypeAlias = Range
"""Where a secret word starts, and where the separator after it ends."""


def next_candidate(data: bytes, at: int) -> Candidate | None:
    """Return the first candidate from `at` on."""
    found = SCANNER.after(data, at)
    return None if found is None else found[0]


def is_value_hidden(data: bytes, at: int) -> bool:
    """Whether the value after the separator that ends at `at` is already hidden."""
    return data[at - 1] in _SEPARATORS and _HIDDEN.match(data, at) is not None


def mode_of(candidate: bytes) -> tuple[str, int, int] | None:
    """Return the mode of a candidate, and where its separator starts and ends in its text."""
    hit = MODE.match(candidate)
    if hit is None or hit.lastgroup is None:
        return None
    mode = hit.lastgroup
    return mode, hit.start(mode), hit.end() if mode == "named" else hit.end(mode)


_SEPARATORS = b"=:>|, \t\"'`"
_HIDDEN = Regex(rb"""[ \t]{0,16}+\\{0,6}+["'`]{0,3}+\x00""")


LONGEST = 512
"""How many bytes before a value are read for its name: all other parts are shorter."""
_IN_QUERY = (b"?", b"&", b"#")


class FieldLink(NamedTuple):
    """How the name of a field is tied to its value."""

    name: str
    before: bytes
    """The character before the name."""
    strength: Strength
    mode: str
    """The group of `MODE` that the separator matches, or `argument` or `item`."""
    start: int
    end: int
    """Where the separator starts and ends."""
    compares: bool
    query: bool
    """Whether it is a parameter of a URL."""
    first: int
    """Where the name starts, with the dashes of a flag."""


def link_at(data: bytes, at: Candidate) -> FieldLink | None:
    """Return how the name at a candidate is tied to its value, if it is the name of a secret."""
    hit, last = at
    hit = max(hit, last - LONGEST)
    first = name_start(data, hit)
    link = _link_of(data[first:last], hit - first if hit > first else 0)
    if link is None:
        return None
    name, before, strength, mode, start, end, compares, _, _ = link
    before = before or data[max(0, first - 1) : first]
    query = before in _IN_QUERY
    if query and data[first + start] not in b"=%":
        before, query = b"", False  # `…&password": 1`: a query's name is followed by its value
    if mode == "space":
        if _PUBLIC.search(data, max(0, first - 16), first):
            return None
    elif mode == "pair":
        if before == b"-":
            mode = "argument"
        elif _ITEM.search(data, max(0, first - 24), first):
            mode = "item"
    return FieldLink(
        name, before, strength, mode, first + start, first + end, compares, query, first
    )


_PUBLIC = Regex(
    rb"(?i)(?:public|pub|pgp|gpg|rsa|dsa|ecdsa|ed25519|ssh|primary|foreign|cache|sort|by|for) $"
)
"""Words of a sentence that make a key a public one."""
_ITEM = Regex(rb"""["'`],\s{0,8}\\{0,6}["'`]$""")
"""What is before a name in a list of strings, of which the next is not its value."""


@lru_cache(maxsize=4096)
def _link_of(text: bytes, hit: int) -> FieldLink | None:
    """Return the link of a name and a separator that are `text`, with a secret word at `hit`.

    There are few of them, and they repeat. What is before the name is not known here, except the
    dash of a flag.
    """
    run = word_end(text, hit)
    name = "" if run is None else name_in(text[:run])
    if run is not None and strength_of(name) == "none":
        return None
    if run is not None and run + 1 == len(text) and text[run] in b"=:":
        mode, start, end = "assign", run, len(text)  # most candidates; no need for `mode_of`
    else:
        found = mode_of(text[hit:])
        if found is None:
            return None
        mode, start, end = found[0], hit + found[1], hit + found[2]
        name = name_in(text[:start]) if run is None else name
    strength = strength_of(name)
    if strength == "none" or (mode == "dash" and name.lower() == "pass"):  # a verb
        return None
    if mode == "flag" and not text.startswith(b"-"):  # `no-token mode`
        return None
    if name == "PASS" and text[end - 1] != ord("="):  # what test runners print
        return None
    before = b"-" if text.startswith(b"-") else b""
    compares = text[end - 2 : end] in (b"==", b"!=")
    return FieldLink(name, before, strength, mode, start, end, compares, query=False, first=0)


_NAME_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"


def name_start(data: bytes, at: int) -> int:
    """Return where the name around a hit at `at` starts."""
    start = at if data[at] in _NAME_BYTES else at + 1
    first = start - 64 if start > 64 else 0
    first += len(data[first:start].rstrip(_NAME_BYTES))
    if first and data[first - 1] == 92 and (escape := _ESCAPE.match(data, first, start)):
        return escape.end()
    return first


_ESCAPE = Regex(rb"u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|0(?:[0-7]{2})?|[nrtfv]")
"""What follows the backslash of a separator, and is not part of the name after it."""


def name_in(text: bytes) -> str:
    """Return the name of a field without the quotes and brackets after it."""
    return text.decode("latin-1").strip(" \t\"'`\\])|,;\r\n").lstrip("-.")


def word_end(data: bytes, hit: int) -> int | None:
    """Return where the name at a hit ends, if it is one word only."""
    run = _RUN.match(data, hit)
    if run is None or data[run.end() : run.end() + 1] == b" ":
        return None
    return run.end()


_RUN = Regex(rb"[^A-Za-z]?[A-Za-z0-9_.-]*+")


MAX_VALUE = 4096
"""Longest value in bytes."""
MAX_CLOSERS = 8
"""Most closing brackets that may follow a value with unbalanced ones."""


FieldValue: TypeAlias = "tuple[int, int, bool]"
"""Where the value of a field starts and ends, and whether it is in quotes."""


def value_at(data: bytes, at: int, *, lines: bool, query: bool) -> FieldValue | None:
    """Return the value after a separator that ends at `at`.

    With `lines` it may be on the next line; with `query` it ends like a parameter of a URL.
    """
    first = at + 1 if data.startswith(b" ", at) else at
    if data[first : first + 1] in _STARTS:
        return first, _end_of_bare(data, first, query=query), False
    opened = (_OPENED_ON_LINES if lines else _OPENED).match(data, at)
    if opened is None:
        return None
    start, end = opened.span(1)
    if start < 0:
        start = opened.start(2)
        return start, _end_of_bare(data, start, query=query), False
    if data[end : end + 1] in _NO_VALUE or _OPERATOR.match(data, end):
        return None
    closed = _end_of_quoted(data, end, data[start:end])
    if closed > end:
        return (*_strip_blanks(data, end, closed), True)
    return end, _end_of_bare(data, end, query=query), False


def _strip_blanks(data: bytes, start: int, end: int) -> Range:
    value = data[start:end]
    if not (value.startswith(b" ") and value.endswith(b" ")) or not value.strip():
        return start, end
    return end - len(value.lstrip()), start + len(value.rstrip())


_OPENED = Regex(
    rb"""[ \t]{0,16}(?:!!?[a-z]{1,12}[ \t]{1,4}|&[\w-]{1,32}[ \t]{1,4})?"""
    rb"""(?:[|>][+-]?[0-9]?[ \t]{0,4}\r?\n[ \t]{1,32})?"""
    rb"""(?:[brfu@$]{0,2}(\\{0,6}(?:\"\"\"|'''|["'`]))|([^\s\x00]))"""
)
_OPENED_ON_LINES = Regex(
    rb"""(?:\s|\\{1,3}\r?\n|\\{1,4}[nrt]){0,64}+"""
    rb"""(?:[brfu]{0,2}(\\{0,6}(?:\"\"\"|'''|["'`]))|([^\s\x00]))"""
)
_STARTS = frozenset(bytes((c,)) for c in range(256) if c not in b"\x00\t\n\v\f\r \"'`\\brfu@$!&|>")
"""Bytes that can only start a value without quotes."""
# Possessive, and no two alternatives start alike: these read each byte once, and no further than
# the value goes.
_BREAK = r"""\\(?:[nrtfv0"'`\\u\s\x00]|x(?:0[0aAbBcC]|1[c-fC-F]))"""
"""A quote or an end of a line, record or variable, as strings of JSON and C write it."""
_PLAIN = rf"""(?!{_BREAK})\\."""
_OVER = rf"""[\s"'`<\x00]|{_BREAK}|\\?\Z"""
_CARET = r"\^(?!@[A-Z_][A-Z0-9_]{0,64}+=)"
"""Not the NUL before the next variable, as a terminal shows it."""
_BARE = Regex(
    (
        rf"""(?:%26)?(?:[^\s"'`<\\\x00,;&|)\]}}%^]++|%(?!26)|{_PLAIN}|{_CARET}"""
        rf"""|[,;&|](?![\w.%-]{{0,64}}+[=:]|[)\]}}]|{_OVER})|[)\]}}]++(?![.,;]{{0,64}}+(?:{_OVER})|,[\[{{0-9-]))*+"""
    ).encode("ascii")
)
_QUERY = Regex(rf"""(?:[^\s"'`<\\\x00&#%]++|%(?!26)|{_PLAIN})*+""".encode("ascii"))
_QUOTED = {
    quote: Regex(rb"(?:[^\\\r\n\x00" + quote + rb"]|\\[^\r\n\x00])*+")
    for quote in (b'"', b"'", b"`")
}


_JOINT = Regex(rb"""(?<!\\)"[ \t]{0,8}(?:[,:][ \t]{0,8}[\w"\[{-]|[\]}])""")
"""Where a string of JSON ends and another begins: no quoted value goes beyond it."""


_NO_VALUE = (b",", b"]", b"}", b":", b";", b")", b"")
"""What follows a quote that closes a string instead of opening a value."""
_OPERATOR = Regex(rb"[ \t]++(?:&&|\|\||[+.&|<>=*])[ \t]")
"""The same: `"token|" + time.Now()`."""


def _end_of_quoted(data: bytes, start: int, quote: bytes) -> int:
    """Return where the closing quote is, -1 if none is escaped like the opening one."""
    if quote.startswith(b"\\") or len(quote) >= 3:
        end = data.find(quote, start, start + MAX_VALUE)
        if end >= 0 and not (is_in_string(data, start, end) and data.find(0, start, end) < 0):
            return -1
        line = data.find(b"\n", start, end if end >= 0 else start + MAX_VALUE)
        return -1 if end < 0 or (line >= 0 and len(quote) < 3) else end
    run = _QUOTED[quote].match(data, start, start + MAX_VALUE)
    end = start if run is None else run.end()
    if data[end : end + 1] != quote or (quote != b'"' and _JOINT.search(data, start, end)):
        return -1
    return end


def _end_of_bare(data: bytes, start: int, *, query: bool) -> int:
    """Return the end of a value without quotes: before the separator to the next field."""
    run = (_QUERY if query else _BARE).match(data, start, start + MAX_VALUE)
    end = start if run is None else run.end()
    if query:
        return end
    value = data[start:end]
    if is_unbalanced(value):
        after = data[end : end + MAX_CLOSERS]
        return end + len(after) - len(after.lstrip(b")]}"))
    return start + len(value.rstrip(b",;:"))


def is_unbalanced(value: bytes) -> bool:
    """Whether a long value, so not code, has a closing bracket that was never opened."""
    if len(value) < 12 or not _CLOSES.search(value):
        return False
    opened: list[int] = []
    for at, c in enumerate(value):
        if c in b"([{":
            opened.append(c)
        elif c in b")]}" and (not opened or b"([{".index(opened.pop()) != b")]}".index(c)):
            return value[at + 1 : at + 2].isalnum()
    return False


_CLOSES = Regex(rb"[)\]}][A-Za-z0-9]")


_Q = r"\\{0,6}[\"'`]"
_PASS = r"(?-i:p(?i:ass)|P(?:a(?i:ss)|A(?:s(?i:s)|Ss)))"
"""Any spelling except all capitals."""
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
"""A number after the name: `token 1 = …`, `API key #2: …`."""
_TAIL = r"[A-Za-z0-9_.-]*"
_MARKS = r"[^\w\r\n\x00/.=@-][^\w\r\n\x00]{0,7}"
_NAME = (
    rf"(?:(?:{_WORD}|{_HEADER}){_TAIL}|(?:[^A-Za-z]|^)(?:{_SHORT})(?:[0-9_.-]{_TAIL})?"
    rf"|(?-i:[a-z0-9]P(?:ass|w|sk))(?:[0-9_.-]{_TAIL})?"  # adminPass
    # PASS alone is what test runners print on every other line
    rf"|[0-9_.-](?-i:PASS)(?:[0-9_.-]{_TAIL})?|(?:[^A-Za-z]|^)(?-i:PASS)[0-9_.-]{_TAIL})"
)

_IS = r"is|was|to|from|ist|lautet|est|es|\xc3[\xa8\xa9]"
"""How a sentence says what a password is, was set to or changed from, in some languages."""

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
    # the name once and not in each alternative: re2 builds its states of all that can follow
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
SCANNER = Pattern(_SHAPE)

_ANY = r"[^A-Za-z]?[A-Za-z0-9_.-]+(?:[ ]key[A-Za-z0-9_.-]*)?"
_LONG = (
    rf"(?:[ \t]{{0,8}}(?:[bruf@]{{0,2}}{_Q}[ (]?[\w+/=.:~$%&#!-]{{12}}|{_Q}|[\w+/=.:~$%-]{{12}}))?"
)
MODE = Regex(
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
"""Tells the mode of a candidate by the name of the group; it only sees what re2 has found."""
