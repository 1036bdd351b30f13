"""What the value of a field says by itself, given its name and how it is tied to it."""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.redaction.chosen import is_aside
from holdfast.redaction.field_names import Strength, is_key_of, is_pin, kind_of
from holdfast.redaction.field_values import is_unbalanced
from holdfast.redaction.fillers import real
from holdfast.redaction.gates import (
    bare_password,
    is_counted_name,
    is_label,
    is_opaque,
    is_passphrase,
    is_uuid,
    mixed,
    password,
    random,
    unnamed,
)
from holdfast.redaction.passwords import is_weak_phrase
from holdfast.redaction.randomness import AT_ONCE, is_named, is_unspeakable, looks_random
from holdfast.redaction.references import is_reference


@lru_cache(maxsize=AT_ONCE)
def is_secret(
    value: bytes, quoted: bool, name: str, strength: Strength, mode: str, compares: bool
) -> bool:
    """Whether a field of this name holds a secret, by its value alone."""
    if mode == "loose" and is_named(value):
        return False
    if strength == "weak" or compares:
        return _is_weak_secret(value, quoted, name, strength, mode)
    if mode == "prose":
        return is_said(value)
    if mode == "item":
        return unnamed(value) or is_uuid(value)
    if is_pin(name) and not value.isdigit():
        return False
    if mode == "tag" and b" " in value:
        return any(
            random(piece.strip(b"{}")) or is_uuid(piece.strip(b"{}")) for piece in value.split()
        )
    if mode in _LOOSE:
        return len(value) >= (16 if mode == "space" else 20) and (
            is_uuid(value) or is_opaque(value)
        )
    if mode == "call":
        return _is_given(value, sets=bool(_SETS.match(name)))
    if quoted and name.lower().endswith("key") and is_label(value):
        return False
    if quoted and mode in ("assign", "named", "flag", "tag", "other"):
        if kind_of(name) == "token" and is_counted_name(value):
            return False
        return (password(value) and not is_aside(name, value)) or (
            name.lower().endswith("passphrase") and is_weak_phrase(value)
        )
    if mode == "argument":  # of a list, after its flag
        return quoted and not value.startswith(b"-") and b" " not in value and password(value)
    if mode == "attr":  # what a page says beside an input is no value
        return b" " not in value and password(value)
    if mode == "dash":
        return b" " not in value and password(value) and (
            mixed(value) or is_unspeakable(value) or looks_random(value) or _is_odd(value)
        )  # fmt: skip
    if mode in ("pair", "cell"):
        return _is_given(value) if quoted else _is_key(value) and mixed(value)
    if is_unbalanced(value):
        return real(value) and b"://" not in value
    if is_pin(name) and mode == "assign":
        return 4 <= len(value) <= 8 and real(value)
    if value.isdigit() and kind_of(name) == "password":
        return len(value) >= 6 and real(value)
    if mode == "flag":
        if is_reference(value) or value.startswith((b"-", b"/", b"http")):
            return False
        return real(value) and (
            bare_password(value)
            or (len(value) >= 8 and not value.rstrip(b".,").isalpha() and b"/" not in value)
        )  # fmt: skip
    return bare_password(value)


def _is_weak_secret(value: bytes, quoted: bool, name: str, strength: Strength, mode: str) -> bool:
    """Whether a value looks random enough for a weak name, or for something that is compared."""
    if is_uuid(value):
        return (strength == "weak" and ("secret" in name or is_key_of(name))) or "role" in name
    if mode in _LOOSE:
        return len(value) >= 20 and is_opaque(value) and "pub" not in name.lower()
    if len(value) < 16 and (not quoted or _HEX.match(value)):
        return False
    if name.lower().endswith("api") and not looks_random(value):
        return False
    odd = quoted and _is_odd(value) and (strength == "strong" or _is_odd_key(name, value))
    return odd or is_opaque(value)


_HEX = re.compile(rb"[0-9a-f]+$|[0-9A-F]+$")
_LOOSE = frozenset(("space", "below", "loose"))
"""Modes in which a name and its value may stand side by side by chance."""
_SETS = re.compile(
    r"(?i)^(?:set|with|use)?_?(?:new_?)?pass(?:word|wd|phrase)?$|^(?:set|with)_?api_?key$"
)


def _is_given(value: bytes, *, sets: bool = False) -> bool:
    """Whether the argument of a call is a secret: more often it is a name or a message."""
    if (
        (_is_key(value) and mixed(value))
        or ((is_unspeakable(value) or is_passphrase(value)) and real(value))
        or _is_odd(value)
    ):
        return True
    return sets and b" " not in value and mixed(value) and password(value)


def _is_key(value: bytes) -> bool:
    """Whether a value is random and no name of something, or a UUID."""
    return (looks_random(value) and not is_named(value)) or is_uuid(value)


def is_said(value: bytes) -> bool:
    """Whether a word of prose is a password: nobody says `the token is valid` with digits in it."""
    is_odd = mixed(value) or value.count(b"-") >= 3 or is_unspeakable(value)
    return is_odd and bare_password(value)


def _is_odd_key(name: str, value: bytes) -> bool:
    """Whether the key of a service is random letters, digits and signs."""
    return is_key_of(name) and b" " not in value and mixed(value) and looks_random(value)


def _is_odd(value: bytes) -> bool:
    """Whether a value is full of signs, as only a password is."""
    signs = len(value) - len(value.translate(None, b"{}()[]<>$#@!%^&*~"))
    return len(value) >= 8 and signs >= 3 and real(value)
