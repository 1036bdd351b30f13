"""Secrets that a field's name gives away: `password = …`, `"apiKey": "…"`, `--token …`.

One re2 scan finds a secret word that is followed by a separator. The whole name of the field then
decides how much its value has to look like a secret, and the value is taken by its quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.redaction.field_names import Strength, kind_of, name_of, strength_of, word_at
from holdfast.redaction.field_scan import SORT, Candidate
from holdfast.redaction.field_values import MAX_VALUE, is_unbalanced, value_at
from holdfast.redaction.gates import (
    bare_password,
    is_opaque,
    is_unspeakable,
    is_uuid,
    looks_random,
    mixed,
    password,
    random,
    real,
)
from holdfast.redaction.matching import compiled
from holdfast.redaction.passwords import Place, is_weak_password

MAX_WORD = 24
LOOK = 512
"""So much of a value decides whether it is a secret."""


class Field(NamedTuple):
    """A value that a field's name gives away."""

    start: int
    end: int
    kind: str


class _Link(NamedTuple):
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

    @property
    def query(self) -> bool:
        """Whether it is a parameter of a URL."""
        return self.before in (b"?", b"&", b"#")


def values_at(data: bytes, at: Candidate, *, code: bool) -> tuple[list[Field], int]:
    """Return the secrets that a candidate gives away, and how many bytes were read for it.

    With `code`, values without quotes count only after `--flag` and in URLs.
    """
    link = _link_at(data, at)
    value = None if link is None else _value_of(data, link)
    if link is None or value is None:
        return [], 0
    start, end, quoted = value
    look = data[start : min(end, start + LOOK)]
    if not (_is_weak(data, at.start, link, look, value) or _is_secret(link, look, quoted)):
        return [], end - start
    bare = not quoted and link.mode in ("assign", "prose", "cell")
    if code and bare and not link.query and link.before != b"-":
        return [], end - start
    field = Field(start, end, kind_of(link.name))
    if not quoted:
        return [field], end - start
    beside = _siblings(data, end, data[start:end])
    return [field, *(Field(a, b, field.kind) for a, b in beside)], end - start


def _link_at(data: bytes, at: Candidate) -> _Link | None:
    word = word_at(data, at.start)
    if word is not None and strength_of(word.name) == "none":
        return None
    if word is not None and word.end + 1 == at.end and data[word.end] in b"=:":
        mode, start, end = "assign", word.end, at.end  # most are such; no need to sort them
    else:
        hit = SORT.match(data, *at)
        if hit is None or hit.lastgroup is None:
            return None
        mode = hit.lastgroup
        start, end = hit.start(mode), hit.end() if mode == "named" else hit.end(mode)
        word = word or name_of(data, at.start, start)
    name, before, _ = word
    strength = strength_of(name)
    if strength == "none" or (mode == "dash" and name.lower() == "pass"):  # a verb
        return None
    if name == "PASS" and data[end - 1] != ord("="):  # what test runners say
        return None
    return _Link(name, before, strength, mode, start, end, data[end - 2 : end] in (b"==", b"!="))


def _value_of(data: bytes, link: _Link) -> tuple[int, int, bool] | None:
    value = value_at(data, link.end, lines=link.mode in ("tag", "flag"), query=link.query)
    if value is None or value[0] == value[1]:
        return None
    start, end, quoted = value
    if link.mode == "tag":
        close = data.find(b"</", start, start + MAX_VALUE) if link.before == b"<" else -1
        end = start + len(data[start:close].rstrip())
        return None if close < 0 or end == start else (start, end, quoted)
    if quoted:
        return value
    if link.mode == "prose":
        end = start + (len(data[start:end].rstrip(b".,:;!?")) or end - start)
    return None if data[start] in b"[{(" else (start, end, False)


def _is_weak(
    data: bytes, name_at: int, link: _Link, look: bytes, value: tuple[int, int, bool]
) -> bool:
    """Whether the surroundings tell that a word is a password."""
    if link.strength != "strong" or link.compares or len(look) > MAX_WORD or not look.isalnum():
        return False
    start, end, quoted = value
    colon = data[link.end - 1] == ord(":")
    place = Place(
        mode=link.mode,
        quoted=quoted,
        query=link.query,
        tight=link.end == start and data[link.start - 1] not in b" \t",
        colon=colon,
        starts_line=colon and _LINE_START.search(data, max(0, name_at - 80), name_at) is not None,
        after=data[end : end + 1],
    )
    return is_weak_password(link.name, kind_of(link.name), look, place)


_LINE_START = re.compile(rb"(?:^|[\r\n])[ \t]*(?:- )?[\w.-]*$")
_SIBLING = compiled(
    r"[ ]?(\\{0,6}[\"'`])\s{0,4}(?:[|,+]|\\{1,3}n)?\s{0,16}(\\{0,6}[\"'`])"
    r"[ ]?([^\s\"'`\\\x00]{8,1000})[ ]?"
)
MAX_SIBLINGS = 64


def _siblings(data: bytes, end: int, secret: bytes) -> Iterator[tuple[int, int]]:
    """Yield the values that stand beside a secret in one list, or that are joined to it."""
    for _ in range(MAX_SIBLINGS):
        found = _SIBLING.at(data, end)
        if found is None:
            return
        (_, end), closing, opening, (start, stop) = found
        quote = data[slice(*opening)]
        if data[slice(*closing)] != quote or not data.startswith(quote, end):
            return
        value = data[start:stop]
        if value != secret and (
            len(value) < 12 or not (mixed(value) or random(value) or is_unspeakable(value))
        ):
            return
        yield start, stop


def _is_secret(link: _Link, value: bytes, quoted: bool) -> bool:
    name, strength, mode = link.name, link.strength, link.mode
    if strength == "weak" or link.compares:
        if is_uuid(value):
            return (strength == "weak" and "secret" in name) or "role" in name
        odd = strength == "strong" and quoted and _is_odd(value)
        return odd or (is_opaque(value) and (len(value) >= 16 or quoted))
    if mode == "prose":
        return _is_said(value)
    if mode == "tag" and b" " in value:
        return any(
            random(piece.strip(b"{}")) or is_uuid(piece.strip(b"{}")) for piece in value.split()
        )
    if quoted and mode in ("assign", "named", "flag", "tag"):
        return password(value)
    if mode == "dash":
        return password(value) and b" " not in value and (
            mixed(value) or is_unspeakable(value) or looks_random(value) or _is_odd(value)
        )  # fmt: skip
    if mode in ("pair", "cell"):
        return (mixed(value) and (looks_random(value) or is_uuid(value))) or (
            quoted and real(value) and (is_unspeakable(value) or _is_odd(value))
        )
    if is_unbalanced(value):
        return real(value)
    if value.isdigit() and kind_of(name) == "password":
        return len(value) >= 6 and real(value)
    if mode == "flag":
        return real(value) and not value.startswith((b"-", b"/", b"http")) and (
            bare_password(value) or (len(value) >= 8 and not value.isalpha() and b"/" not in value)
        )  # fmt: skip
    return bare_password(value)


def _is_said(value: bytes) -> bool:
    """Whether a word of prose is a password: nobody says `the token is valid` with digits in it."""
    return bare_password(value) and (
        mixed(value) or value.count(b"-") >= 3 or is_unspeakable(value)
    )


def _is_odd(value: bytes) -> bool:
    """Whether a value is full of signs, as only a password is."""
    return len(value) >= 8 and sum(c in b"{}()[]<>$#@!%^&*~" for c in value) >= 3 and real(value)
