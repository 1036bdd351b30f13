"""Short passwords without quotes, where the line cannot be code: settings, XML, connections."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.redaction.chosen import is_chosen
from holdfast.redaction.gates import mixed
from holdfast.redaction.randomness import is_numbered_name

ABOVE, BELOW = 600, 80
"""How far the heading of a section and the line below are looked for."""


class Setting(NamedTuple):
    """A value without quotes beside a strong name."""

    mode: str
    """How the name is tied to it: a group of `field_scan.SORT`."""
    start: int
    """Where the name starts."""
    separator: bytes
    end: int
    """Where the value ends."""


def is_setting(data: bytes, value: bytes, at: Setting) -> bool:
    """Whether a word is a password, since it stands where code has none."""
    if _EDGES.search(value) or not is_chosen(value):
        return False
    if at.mode == "tag":
        return True
    if at.mode == "attr":
        return _NAMED_TAG.search(data, max(0, at.start - BELOW), at.start) is not None
    if at.mode != "assign":
        return False
    before = data[max(0, at.start - BELOW) : at.start]
    after = data[at.end : at.end + BELOW]
    if _IN_CONNECTION.search(before) and _CONNECTION_END.match(after):
        return at.separator == b"="
    if _IN_PAIRS.search(before) and _PAIR_END.match(after):
        return at.separator == b"="
    if not _LINE_END.match(after):
        return False
    line = _LINE_START.search(before)
    if line is None:
        return False
    if at.separator.strip() == b":":
        return (_WORD.match(value) is not None or _is_odd_word(value)) and not line[1]
    if at.separator.strip() != b"=":
        return False
    if value.startswith(b"!"):
        return _NEXT.match(after) is not None or _is_in_section(data, at.start)
    if not _IDENTIFIER.match(value):
        return not _NUMBER.match(value) and not _SUM.search(value)
    return _is_in_section(data, at.start) or _NEXT.match(after) is not None or bool(line[1])


def _is_in_section(data: bytes, at: int) -> bool:
    """Whether the heading of a section stands above, with nothing but settings between."""
    above = data[max(0, at - ABOVE) : at]
    heads = list(_SECTION.finditer(above))
    return bool(heads) and _CODE.search(above, heads[-1].end()) is None


def _is_odd_word(value: bytes) -> bool:
    """Whether a word has digits as no type and no variable does."""
    return (
        mixed(value)
        and _ODD_WORD.match(value) is not None
        and not _SIZED.match(value)
        and not is_numbered_name(value)
    )


_ODD_WORD = re.compile(rb"[a-z0-9][A-Za-z0-9!@#$%^&*+_-]{5,63}$")
_SIZED = re.compile(rb"(?:u?int|float|sha|md|utf|base|aes|rsa|ed|uuid|v)_?[0-9]+$")
_NAMED_TAG = re.compile(
    rb"""<(?:param|property|prop|entry|setting|arg|string|item|credential)\b[^<>]*["'][\w.-]*$"""
)
_EDGES = re.compile(rb"""[\s"'`(){}\[\]<>,;]""")
_LINE_END = re.compile(rb"[ \t]*(?:\r?\n|$)")
_LINE_START = re.compile(rb"(?:^|[\r\n])[ \t]*:?([#;]+[ \t]?)?$")
_IN_CONNECTION = re.compile(rb";[ \t]?$|[\w.-]:[0-9]{2,5},(?:[a-zA-Z]+=[\w.]+,){0,4}$")
"""After a semicolon, or after a host and a port: `cache:6380,password=…,ssl=True`."""
_CONNECTION_END = re.compile(rb"""[;"']|,[a-zA-Z]+=|$""")
_IN_PAIRS = re.compile(rb"(?:^|\s)(?:host|port|user|username|dbname|login)=[^\s,;]+ $")
"""After another pair with a blank between, as libpq and logs write them, and code does not."""
_PAIR_END = re.compile(rb"""[ \t"'\\\r\n]|$""")
_WORD = re.compile(rb"[a-z]{4,24}$")
_IDENTIFIER = re.compile(rb"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$")
_NUMBER = re.compile(rb"[\d.+-]+$")
_SUM = re.compile(rb"^[^A-Za-z0-9]|[+*/|&=:]|\.\w+-")
_SECTION = re.compile(rb"(?:^|\n)[ \t]*\[[\w .:/-]{1,64}\][ \t]*(?=\r?\n)")
_CODE = re.compile(rb"[;{}]|\)[ \t:]*\n|(?:^|\n)[ \t]*(?:def|class|return|import|if|for)\b")
_NEXT = re.compile(
    rb"[ \t]*\r?\n[ \t]*(?:[\w.]+-[\w.-]+[ \t]*=|[\w.]+[ \t]*=[ \t]*"
    rb"(?:/[\w./-]+|\d+(?:\.\d+){3}[\d.,]*|localhost|[a-z]+://[^\s\"']+|[\w-]+\.[\w.-]+\.[a-z]{2,6})"
    rb"[ \t]*(?:\r?\n|$))"
)
"""The line below is a setting too: a name with a hyphen, a path, an address without quotes."""
