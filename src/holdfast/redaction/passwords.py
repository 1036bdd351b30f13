"""Passwords that look like words or variables: only their surroundings tell them from code."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.redaction.chosen import is_joined
from holdfast.redaction.fillers import real
from holdfast.redaction.matching import compiled


class Place(NamedTuple):
    """Where the value of a field stands, as far as it says whether the text is code."""

    mode: str
    """How the name is tied to the value: a group of `field_scan.SORT`."""
    quoted: bool
    query: bool
    """Whether it is a parameter of a URL."""
    tight: bool
    """Whether nothing stands between name, separator and value: `name=value`."""
    colon: bool
    starts_line: bool
    """Whether only blanks or a list's dash stand before the name."""
    after: bytes
    """What follows the value; empty at the end of the text."""
    among_flags: bool
    """Whether another flag stands on either side, as on the line of a command."""


def is_weak_password(name: str, kind: str, value: bytes, place: Place) -> bool:
    """Whether a word beside a keyword is a password: no placeholder, no type, not in code."""
    if place.query or place.mode == "named":
        return len(value) >= 4 and _is_no_label(value)
    ends = place.after in _ENDS
    if name.isupper() and place.tight and place.mode == "assign":
        return ends and len(value) >= 4 and _is_no_label(value)
    if not value.isalnum():
        lone = place.tight or (place.colon and place.starts_line)
        return lone and ends and kind == "password" and b"_" not in value and _is_no_label(value)
    is_secret = kind == "password" or name.lower().endswith("secret")
    if not is_secret or len(value) < (4 if place.among_flags else 6) or place.mode not in _MODES:
        return False
    if value.isalpha():
        if kind != "password":
            return False
        if place.quoted:
            fits = not value.istitle() and not value.isupper()
        elif place.mode == "assign":
            fits = value.islower() and ends and (place.starts_line if place.colon else place.tight)
        elif place.mode == "flag":
            fits = ends and place.among_flags
        else:
            fits = value.islower() and place.mode == "tag"
    else:
        fits = place.quoted or ends or place.mode == "tag"
        fits = fits or (place.mode == "prose" and place.after in _STOPS)
    return fits and value not in _TYPES and _is_no_label(value)


def is_weak_form(value: bytes) -> bool:
    """Whether a value has the form of a word: letters and digits, joined, or with a sign behind."""
    return value.isalnum() or _SIGNED.match(value) is not None or is_joined(value)


_SIGNED = re.compile(rb"[A-Za-z0-9]{4,}[!#$%*?@^~]{1,3}$")


def is_weak_phrase(value: bytes) -> bool:
    """Whether the value of a passphrase is a few words, and not a label of the field."""
    return _PHRASE.match(value) is not None and _ASKS.search(value) is None


_ASKS = re.compile(rb"pass|enter|your|type|confirm|repeat|requir|must|optional|leave|empty| for ")
_PHRASE = re.compile(rb"^[a-z]{2,12}(?:[ -][a-z]{2,12}){2,11}$")


def _is_no_label(value: bytes) -> bool:
    return (_SPEAKS_OF_IT.after(value) is None or is_joined(value)) and real(value)


_MODES = frozenset(("assign", "tag", "flag", "prose"))
_ENDS = frozenset((b"", b"\n", b"\r", b" ", b"\t", b"&", b";", b'"', b"'", b"\\", b"^"))
_STOPS = frozenset((b".", b",", b"!", b"?", b")"))
_TYPES = frozenset(
    b"boolean buffer varchar bytearray integer unicode option optional required".split()
)
_SPEAKS_OF_IT = compiled(
    r"(?i)pass|pwd|pw[0-9]|secret|token|cred|user|login|value|string|input|prompt|param|field"
    r"|config|environ|result|response|request|default|requir|invalid|incorrect|missing|expire"
    r"|valid|option|null|none|undef|object|array|number|boolean|hash|crypt|hidden|mask|redact"
    r"|sample|fake|dummy|demo|foo|bar[0-9]|enter|type|your|todo|auto|generat|random|manual|vault|file|path|http|text|empty"
    r"|exist|enabled|disabled|change|wrong|correct|match|needed|found|allow|denied|error|false"
    r"|true|sha[0-9]|md5|base64|argon|bcrypt|aes|rsa|arg[0-9]|var[0-9]|key[0-9]|data[0-9]"
)
"""What variables, labels and messages about a password are called, and passwords are not."""
