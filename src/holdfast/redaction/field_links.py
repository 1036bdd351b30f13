"""How the name of a field is tied to its value: which name, which separator, how strongly."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from holdfast.redaction.field_names import (
    Strength,
    name_in,
    name_start,
    strength_of,
    word_end,
)
from holdfast.redaction.field_scan import Candidate, sort_of

LONGEST = 512
"""So much before a value says what its name is: all other parts of a candidate are shorter."""
_IN_QUERY = (b"?", b"&", b"#")


class Link(NamedTuple):
    """What ties a name to its value."""

    name: str
    before: bytes
    """The character before the name."""
    strength: Strength
    mode: str
    """The group of `SORT` that the separator is of."""
    start: int
    end: int
    """Where the separator stands."""
    compares: bool
    query: bool
    """Whether it is a parameter of a URL."""
    first: int
    """Where the name starts, with the dashes of a flag."""


def link_at(data: bytes, at: Candidate) -> Link | None:
    """Return how the name at a candidate is tied to its value, if it is one of a secret."""
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
        if _OPEN.search(data, max(0, first - 16), first):
            return None
    elif mode == "pair":
        if before == b"-":
            mode = "argument"
        elif _ITEM.search(data, max(0, first - 24), first):
            mode = "item"
    return Link(name, before, strength, mode, first + start, first + end, compares, query, first)


_OPEN = re.compile(
    rb"(?i)(?:public|pub|pgp|gpg|rsa|dsa|ecdsa|ed25519|ssh|primary|foreign|cache|sort|by|for) $"
)
"""What makes the key of a sentence an open one."""
_ITEM = re.compile(rb"""["'`],\s{0,8}\\{0,6}["'`]$""")
"""What stands before the name where it is one string of many, and the next one not its value."""


@lru_cache(maxsize=4096)
def _link_of(text: bytes, hit: int) -> Link | None:
    """Return the link of a name and its separator that start `text`, its secret word at `hit`.

    They are few and come again and again. What stands before the name is not known here, except
    the dash of a flag.
    """
    run = word_end(text, hit)
    name = "" if run is None else name_in(text[:run])
    if run is not None and strength_of(name) == "none":
        return None
    if run is not None and run + 1 == len(text) and text[run] in b"=:":
        mode, start, end = "assign", run, len(text)  # most are such; no need to sort them
    else:
        sort = sort_of(text[hit:])
        if sort is None:
            return None
        mode, start, end = sort[0], hit + sort[1], hit + sort[2]
        name = name_in(text[:start]) if run is None else name
    strength = strength_of(name)
    if strength == "none" or (mode == "dash" and name.lower() == "pass"):  # a verb
        return None
    if mode == "flag" and not text.startswith(b"-"):  # `no-token mode`
        return None
    if name == "PASS" and text[end - 1] != ord("="):  # what test runners say
        return None
    before = b"-" if text.startswith(b"-") else b""
    compares = text[end - 2 : end] in (b"==", b"!=")
    return Link(name, before, strength, mode, start, end, compares, query=False, first=0)
