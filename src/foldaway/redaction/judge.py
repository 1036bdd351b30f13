"""Whether the value of a field is a secret, judged by the value, the name and what ties them.

Tables of named checks decide: the first check that applies gives the verdict. What is around a
field is judged in `surroundings.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from foldaway._core import Regex
from foldaway.redaction.fields import MAX_VALUE, is_unbalanced
from foldaway.redaction.gates import (
    is_bare_password,
    is_counted_name,
    is_label,
    is_mixed,
    is_opaque,
    is_passphrase,
    is_password,
    is_random,
    is_unnamed,
    is_uuid,
)
from foldaway.redaction.names import Strength, is_key_of, is_pin, kind_of
from foldaway.redaction.values import (
    AT_ONCE,
    is_named,
    is_real,
    is_reference,
    is_remark,
    is_unspeakable,
    looks_random,
)

T = TypeVar("T")


class Check(Struct, Generic[T], frozen=True):
    """A row of a table of checks."""

    label: str
    modes: str
    """The modes of a `FieldLink` in which it is tried, with blanks between; empty for all."""
    applies: Callable[[T], bool]
    is_secret: Callable[[T], bool]
    """The verdict if this is the first check that applies."""


class FieldText(NamedTuple):
    """The value of a field, its name and how they are tied."""

    value: bytes
    quoted: bool
    name: str
    strength: Strength
    mode: str
    """As that of `FieldLink`."""
    compares: bool


FieldCheck: TypeAlias = Check[FieldText]


@lru_cache(maxsize=AT_ONCE)
def is_secret(field: FieldText) -> bool:
    """Whether a field holds a secret, by its value alone."""
    return deciding_check(field).is_secret(field)


def deciding_check(field: FieldText) -> FieldCheck:
    """Return the check that decides about a field."""
    is_weak = field.strength == "weak" or field.compares
    return first_check(_checks_of(field.mode, is_weak=is_weak), field)


def first_check(checks: tuple[Check[T], ...], field: T) -> Check[T]:
    """Return the first check that applies; the last one of a table always does."""
    for check in checks:
        if check.applies(field):
            return check
    raise LookupError(field)


@cache
def _checks_of(mode: str, *, is_weak: bool) -> tuple[FieldCheck, ...]:
    table = WEAK_CHECKS if is_weak else STRONG_CHECKS
    return tuple(check for check in table if not check.modes or mode in check.modes.split())


MIN_AFTER_BLANK, MIN_BY_CHANCE = 16, 20
"""Shortest value that is tied to a strong name by a blank, or by chance in another way."""
MIN_WEAK = 16
"""Shortest value without quotes, or of hexadecimal digits, of a weak name."""


def _always(_: object) -> bool:
    return True


def _never(_: object) -> bool:
    return False


def _has_key(value: bytes) -> bool:
    """Whether one of several words is random or a UUID, in braces or not."""
    pieces = [piece.strip(b"{}") for piece in value.split()]
    return any(is_random(piece) or is_uuid(piece) for piece in pieces)


def _is_long_key(f: FieldText) -> bool:
    shortest = MIN_AFTER_BLANK if f.mode == "space" else MIN_BY_CHANCE
    return len(f.value) >= shortest and (is_uuid(f.value) or is_opaque(f.value))


def _is_key_label(f: FieldText) -> bool:
    return f.name.lower().endswith("key") and is_label(f.value)


def _is_counted(f: FieldText) -> bool:
    return kind_of(f.name) == "token" and is_counted_name(f.value)


def _is_string(f: FieldText) -> bool:
    return (is_password(f.value) and not is_remark(f.name, f.value)) or (
        f.name.lower().endswith("passphrase") and is_weak_phrase(f.value)
    )


def _is_given(f: FieldText) -> bool:
    return not f.value.startswith(b"-") and _is_one_word(f.value)


def _is_no_url(f: FieldText) -> bool:
    return is_real(f.value) and b"://" not in f.value


def _is_digit_password(f: FieldText) -> bool:
    return f.value.isdigit() and kind_of(f.name) == "password"


def _is_number(value: bytes, least: int, most: int = MAX_VALUE) -> bool:
    return least <= len(value) <= most and is_real(value)


def _is_secret_uuid(f: FieldText) -> bool:
    is_key = f.strength == "weak" and ("secret" in f.name or is_key_of(f.name))
    return is_key or "role" in f.name


def _is_long_private(f: FieldText) -> bool:
    is_long = len(f.value) >= MIN_BY_CHANCE and is_opaque(f.value)
    return is_long and "pub" not in f.name.lower()


def _is_plain(f: FieldText) -> bool:
    return not f.quoted or _HEX.match(f.value) is not None


def _is_api_word(f: FieldText) -> bool:
    return f.name.lower().endswith("api") and not looks_random(f.value)


def _is_odd_string(f: FieldText) -> bool:
    return _has_signs(f.value) and (f.strength == "strong" or _is_service_key(f.name, f.value))


def _is_one_word(value: bytes) -> bool:
    return b" " not in value and is_password(value)


def _is_odd_word(value: bytes) -> bool:
    return _is_one_word(value) and (
        is_mixed(value) or is_unspeakable(value) or looks_random(value) or _has_signs(value)
    )


def _is_argument(value: bytes, name: str = "") -> bool:
    """Whether the argument of a call of this name is a secret: mostly it is another name."""
    if (
        (_is_key(value) and is_mixed(value))
        or ((is_unspeakable(value) or is_passphrase(value)) and is_real(value))
        or _has_signs(value)
    ):
        return True
    sets = _SETTER.match(name) is not None
    return sets and b" " not in value and is_mixed(value) and is_password(value)


def _is_flag_reference(value: bytes) -> bool:
    return is_reference(value) or value.startswith((b"-", b"/", b"http"))


def _is_flag_value(value: bytes) -> bool:
    return is_real(value) and (
        is_bare_password(value)
        or (len(value) >= 8 and not value.rstrip(b".,").isalpha() and b"/" not in value)
    )


def _is_key(value: bytes) -> bool:
    """Whether a value is a UUID, or random and not the name of something."""
    return (looks_random(value) and not is_named(value)) or is_uuid(value)


def is_said(value: bytes) -> bool:
    """Whether a word of prose is a password: in `the token is valid` the last word has no digit."""
    is_odd = is_mixed(value) or value.count(b"-") >= 3 or is_unspeakable(value)
    return is_odd and is_bare_password(value)


def is_weak_phrase(value: bytes) -> bool:
    """Whether the value of a passphrase is a few words, and not a label of the field."""
    return _PHRASE.match(value) is not None and _ASKS.search(value) is None


def _is_service_key(name: str, value: bytes) -> bool:
    """Whether the key of a service is random letters, digits and signs."""
    return is_key_of(name) and b" " not in value and is_mixed(value) and looks_random(value)


def _has_signs(value: bytes) -> bool:
    """Whether a value is full of signs, as only a password is."""
    signs = len(value) - len(value.translate(None, b"{}()[]<>$#@!%^&*~"))
    return len(value) >= 8 and signs >= 3 and is_real(value)


_HEX = Regex(rb"[0-9a-f]+$|[0-9A-F]+$")
_SETTER = Regex(
    r"(?i)^(?:set|with|use)?_?(?:new_?)?pass(?:word|wd|phrase)?$|^(?:set|with)_?api_?key$"
)
_PHRASE = Regex(rb"^[a-z]{2,12}(?:[ -][a-z]{2,12}){2,11}$")
_ASKS = Regex(rb"pass|enter|your|type|confirm|repeat|requir|must|optional|leave|empty| for ")


_STRINGS = "assign named flag tag other"
"""Modes in which a string in quotes is the value of its name."""
_BY_CHANCE = "space below loose"
"""Modes in which a name and a value may be next to each other by chance."""
_NAME_OF_THING = FieldCheck("name of a thing", "loose", lambda f: is_named(f.value), _never)
STRONG_CHECKS: tuple[FieldCheck, ...] = (
    _NAME_OF_THING,
    FieldCheck("word of a sentence", "prose", _always, lambda f: is_said(f.value)),
    FieldCheck(
        "item of a list", "item", _always, lambda f: is_unnamed(f.value) or is_uuid(f.value)
    ),
    FieldCheck("PIN with letters", "", lambda f: is_pin(f.name) and not f.value.isdigit(), _never),
    FieldCheck("words in a tag", "tag", lambda f: b" " in f.value, lambda f: _has_key(f.value)),
    FieldCheck("next to the name by chance", _BY_CHANCE, _always, _is_long_key),
    FieldCheck("argument of a call", "call", _always, lambda f: _is_argument(f.value, f.name)),
    FieldCheck("label of a key", "", lambda f: f.quoted and _is_key_label(f), _never),
    FieldCheck("name with a counter", _STRINGS, lambda f: f.quoted and _is_counted(f), _never),
    FieldCheck("string", _STRINGS, lambda f: f.quoted, _is_string),
    FieldCheck("string after its flag", "argument", _always, lambda f: f.quoted and _is_given(f)),
    FieldCheck("value of an input", "attr", _always, lambda f: _is_one_word(f.value)),
    FieldCheck("string after a dash", "dash", _always, lambda f: _is_odd_word(f.value)),
    FieldCheck(
        "string of a pair", "pair cell", lambda f: f.quoted, lambda f: _is_argument(f.value)
    ),
    FieldCheck(
        "word of a pair", "pair cell", _always, lambda f: _is_key(f.value) and is_mixed(f.value)
    ),
    FieldCheck("unbalanced bracket", "", lambda f: is_unbalanced(f.value), _is_no_url),
    FieldCheck("PIN", "assign", lambda f: is_pin(f.name), lambda f: _is_number(f.value, 4, 8)),
    FieldCheck("digits", "", _is_digit_password, lambda f: _is_number(f.value, 6)),
    FieldCheck("reference after a flag", "flag", lambda f: _is_flag_reference(f.value), _never),
    FieldCheck("value of a flag", "flag", _always, lambda f: _is_flag_value(f.value)),
    FieldCheck("bare word", "", _always, lambda f: is_bare_password(f.value)),
)
"""For strong names, unless the value is compared."""
WEAK_CHECKS: tuple[FieldCheck, ...] = (
    _NAME_OF_THING,
    FieldCheck("UUID", "", lambda f: is_uuid(f.value), _is_secret_uuid),
    FieldCheck("next to the name by chance", _BY_CHANCE, _always, _is_long_private),
    FieldCheck("short value", "", lambda f: len(f.value) < MIN_WEAK and _is_plain(f), _never),
    FieldCheck("words of an API", "", _is_api_word, _never),
    FieldCheck("string full of signs", "", lambda f: f.quoted and _is_odd_string(f), _always),
    FieldCheck("random value", "", _always, lambda f: is_opaque(f.value)),
)
"""For weak names, and for values that are compared: they must look random."""
