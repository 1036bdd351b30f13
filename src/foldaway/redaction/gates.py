"""What a value must be beyond its pattern: no placeholder, random enough, the right check digits.

Each gate takes the bytes of a value (bounded by its pattern) and says whether it is a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from foldaway._core import Regex
from foldaway.redaction.check_digits import (
    is_basic,
    is_card,
    is_email,
    is_encoded_key,
    is_iban,
    is_jwt,
    is_luhn,
    is_phone,
    is_ssn,
)
from foldaway.redaction.names import WORDS
from foldaway.redaction.policy import Gate
from foldaway.redaction.values import (
    JOINTS,
    is_human_password,
    is_named,
    is_real,
    is_reference,
    is_unspeakable,
    looks_random,
)


def is_marked(value: bytes) -> bool:
    """Whether something random stands after a word that says what it is: `xyz_live_…`.

    After a word that ids, tags and cache keys have too (`test`, `key`) it must have capitals, small
    letters and digits, as no digest has.
    """
    pieces = _JOINT.split(value)
    last = max((n for n, piece in enumerate(pieces[:-1]) if _MARK.search(piece)), default=-1)
    if last < 0 or _OPEN.match(pieces[0]):
        return False
    tail = value[sum(map(len, pieces[: last + 1])) + last + 1 :]
    longest = max(map(len, pieces[last + 1 :]))
    digits = _digits(tail)
    if len(tail) < 20 or (longest < 16 and len(tail) < 32) or (longest < 20 and not digits):
        return False
    if _ULID.match(tail) or not _is_random_tail(tail):
        return False
    cased = digits > 0 and not (tail.islower() or tail.isupper())
    return cased or any(_SURE.search(piece) for piece in pieces[: last + 1])


def is_prefixed(value: bytes) -> bool:
    """Whether a long run of small letters, capitals and digits stands after a short prefix.

    Ids have such prefixes too (`call_…`, `cus_…`), but they are shorter, hexadecimal, or begin with
    what they are the id of.
    """
    *words, tail = _JOINT.split(value)
    if any(_OPEN.match(word) or word.lower() in _THINGS for word in words):
        return False
    if tail.startswith(b"eyJ"):  # a JSON Web Token, which has a rule of its own
        return False
    return not (tail.islower() or tail.isupper()) and _digits(tail) > 1 and _is_random_tail(tail)


def _is_random_tail(tail: bytes) -> bool:
    return looks_random(tail) and not is_named(tail) and is_real(tail)


def _digits(tail: bytes) -> int:
    return len(tail) - len(tail.translate(None, b"0123456789"))


_JOINT = Regex(rb"[_-]")
_MARK = Regex(
    rb"(?i)^(?:live|test|prod|production|sandbox|staging|api|key|access|priv|private|secret|token"
    rb"|apikey|sat|sk|rk)$|pat$"
)
_SURE = Regex(rb"(?i)^(?:live|secret|token|apikey|sat|sk|rk)$|pat$")
_OPEN = Regex(rb"(?i)^(?:pk|pub|public|publishable|anon|sha\d*|md5)$")
"""What stands before keys that anybody may know, and before digests."""
_ULID = Regex(rb"^01[0-9A-HJKMNP-TV-Za-z]{24}$")
_THINGS = frozenset(word.encode() for word in WORDS["id_prefix"])
"""What ids begin with."""


_CODE = Regex(
    rb"""(?x)
    ^ (?: [A-Za-z_$][\w$]* (?: (?: \. | :: | -> | \?\. ) [A-Za-z_$][\w$]* )* [;,]? $   # a.b::c
      | [A-Za-z_$] (?: [\w$.:] | [?!]\. )* \s* [(\[{]                                    # f(, a?.b[
      | [!&*~-]? [A-Za-z_][\w.:]* (?: \[ | \( | < | \{ )
      | (?: new | await | return | lambda | function | typeof | not | if | get | async )\b
      | [-+]? [\d._]+ $
      | (?:\.{0,2}|~)/ [\w.-]* (?: / | $ )
      | [A-Za-z]:\\
      | https?: | file: | arn: | data:
    )
    """
)
_DIGIT = Regex(rb"[0-9]")
_LETTER = Regex(rb"[A-\xff]")
_SIGN = Regex(rb"[!@#$%^&*?~+]")
_UUID = Regex(rb"(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
_WORDS = Regex(rb"^[A-Za-z]{2,}(?:[- ][A-Za-z]{2,}){3,}$")
_FILE = Regex(
    rb"(?i)\.(?:pem|key|crt|cer|json|ya?ml|toml|txt|py|js|ts|go|sh|md|html?|conf|cfg|ini|env|pub"
    rb"|lock|sum|xml|log|csv|c|h|cc|cpp|java|rb|rs|com|org|net|io|dev|local|internal|svc)$"
)


def is_mixed(value: bytes) -> bool:
    """Whether a real value has a digit and a letter."""
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None and is_real(value)


def is_random(value: bytes) -> bool:
    """Whether a real value is as varied as random characters of its length are."""
    return (
        len(value) >= 12
        and (
            looks_random(value)
            or (len(value) >= LETTERS and value.isalnum() and is_unspeakable(value))
        )
        and is_real(value)
    )


LETTERS = 20
"""So many letters without any digit can be random; fewer are a name more often."""


def is_unnamed(value: bytes) -> bool:
    """Whether a random value is not put together from words, as what code calls things is."""
    return is_random(value) and not (_CODE.match(value) and is_named(value))


def is_digest(value: bytes) -> bool:
    """Whether a value is random, or hexadecimal as long as keys are, however regular it is."""
    return is_unnamed(value) or (_DIGEST.match(value) is not None and is_mixed(value))


_DIGEST = Regex(rb"^(?:[0-9a-f]{24,128}|[0-9A-F]{24,128})$")


def is_password(value: bytes) -> bool:
    """Whether a value in quotes beside a keyword can be a password: real, no code, no sentence."""
    # blanks side by side count once: a separator of three bytes is read as three of them
    blanks = len(_BLANKS.findall(value)) if b"  " in value else value.count(b" ")
    if blanks > 4 or len(value) < SHORTEST:
        return False
    if blanks and not _WORDS.match(value):
        fits = blanks < 3 and len(value) >= 8 and _DIGIT.search(value) is not None
    elif value.startswith((b"/", b"./", b"http", b"arn:")):
        fits = not value.startswith(b"http") and not _is_file(value) and is_random(value)
    else:
        fits = not _is_plain_name(value) and not _is_file(value)
    return fits and is_real(value) and not is_reference(value)


SHORTEST = 4
_BLANKS = Regex(rb" +")


def _is_file(value: bytes) -> bool:
    return _FILE.search(value) is not None and not looks_random(value)


def is_bare_password(value: bytes) -> bool:
    """Whether a value without quotes can be one; stricter, since code has no quotes either."""
    if b" " in value or len(value) < SHORTEST:
        return False
    return (_is_no_code(value) or _WORDS.match(value) is not None) and is_password(value)


def _is_no_code(value: bytes) -> bool:
    """Whether a value without quotes is nothing that code would have in its place."""
    if _CODE.match(value):
        return not _is_call(value) and (
            (looks_random(value) and not is_named(value))
            or _ends_in_digits(value)
            or any(map(is_unspeakable, value.translate(JOINTS).split()))
            or (
                len(value) >= 8
                and value.isalnum()
                and sum(48 <= c < 58 for c in value) >= 3
                and not _ALGORITHM.match(value)
                and not _is_type(value)
            )
        )
    return (
        len(value) >= 6
        and not _SUM.match(value)
        and (
            _DIGIT.search(value) is not None
            or _SIGN.search(value) is not None
            or looks_random(value)
        )
    )


def _is_call(value: bytes) -> bool:
    """Whether a value starts with the name of something that is called: `Column(String(128`."""
    called = _CALLED.match(value)
    return called is not None and not is_unspeakable(called[1])


_CALLED = Regex(rb"^([A-Za-z_]{3,}|[A-Za-z_]+(?:[?!]?[.:]{1,2}[A-Za-z_]{2,})+)\(")
_SUM = Regex(rb"^[+.]?[A-Za-z_][A-Za-z_.]*(?:\+[A-Za-z_][A-Za-z_.]*)*\+?$")
"""Names that are joined: `"password=" + token`."""


def _is_type(value: bytes) -> bool:
    """Whether a value is the name of a class with a number in it: `Ed25519PrivateKey`."""
    return value[:1].isupper() and not value.isupper() and is_named(value)


def is_passphrase(value: bytes) -> bool:
    """Whether a value is four or more words with hyphens between them."""
    return _WORDS.match(value) is not None and b" " not in value


def is_label(value: bytes) -> bool:
    """Whether a value is a few words and numbers, as the key of a table or of a cache is."""
    return _LABEL.match(value) is not None and not is_passphrase(value)


_LABEL = Regex(rb"^[A-Za-z]{2,16}(?:[-_.:/](?:[A-Za-z]{2,16}|v?[0-9]{1,4}))+$")


def is_counted_name(value: bytes) -> bool:
    """Whether a value is words with a counter, joined as names in code are: `engine2_upgrades`."""
    return _COUNTED.match(value) is not None


_COUNTED = Regex(rb"^[a-z]{2,}[0-9]?(?:_[a-z]{2,}[0-9]?)+$")


def is_credential(value: bytes) -> bool:
    """Whether a value after an authentication scheme is a credential and no word."""
    if len(value) < 6 or not is_real(value) or _SUM.match(value):
        return False
    if _CODE.match(value) and not value.endswith(b"="):
        return looks_random(value) or (is_mixed(value) and value.isalnum())
    return is_mixed(value) or not (value.isalpha() or value.islower() or value.isupper())


def is_seed(value: bytes) -> bool:
    """Whether a value can be what one-time passwords are made from: base32, and no word."""
    body = value.translate(None, b" =-")
    return (
        len(body) >= 16
        if body.isupper()
        else len(body) >= 16 and (body.islower() and (is_mixed(body) or is_unspeakable(body)))
    )


def is_one_time_code(value: bytes) -> bool:
    """Whether a number can be a one-time password, and not the round one of a setting."""
    return len(set(value)) > 2 and not value.endswith(b"000")


def is_escaped(value: bytes) -> bool:
    r"""Whether a value is mostly bytes that are written as `\\x2b`, and they differ."""
    written = _ESCAPED.findall(value)
    return len(written) >= 6 and len(set(written)) > len(written) // 2


_ESCAPED = Regex(rb"(?i)\\x[0-9a-f]{2}")


def is_ticket(value: bytes) -> bool:
    """Whether a value is what a service gives somebody to type in or to hand on."""
    return is_mixed(value) or (_GROUPS.match(value) is not None and is_real(value))


_GROUPS = Regex(rb"[A-Z0-9]{4}-[A-Z0-9]{4}$")


def is_opaque(value: bytes) -> bool:
    """Whether a value has only the characters of keys, and looks random beside its UUIDs."""
    if len(value) < 12 or not _OPAQUE.match(value) or _DATED.match(value):
        return False
    rest = value if value.count(b"-") < 4 else _ANY_UUID.sub(b"", value)
    return is_unnamed(value) if len(rest) == len(value) else is_random(rest)


_OPAQUE = Regex(rb"^[A-Za-z0-9+/=_~%.:|$#*&!^-]+$")
_DATED = Regex(rb"^(?:19|20)\d\d-[01]\d-[0-3]\d[^\d]")
"""The name of something that was made on a day; no key starts so."""
_ANY_UUID = Regex(rb"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def is_uuid(value: bytes) -> bool:
    """Whether the value is a UUID: an identifier more often than a secret."""
    return len(value) >= 36 and _UUID.match(value) is not None


def _is_plain_name(value: bytes) -> bool:
    """Whether the value is one word, or a few joined ones without any digit: a name, a label."""
    return (value.isalpha() and not looks_random(value) and not is_unspeakable(value)) or (
        _NAME.match(value) is not None
        and not _WORDS.match(value)
        and not any(map(is_unspeakable, value.translate(JOINTS).split()))
    )


_NAME = Regex(
    rb"^[A-Za-z]+(?:[-_./:][A-Za-z]+){1,2}[:.,]?$|^[a-z]+(?:_[a-z]+)*$|^[A-Z]+(?:_[A-Z]+)+$"
    rb"|^[A-Za-z]+[:?]$"
)


_ALGORITHM = Regex(rb"(?i)^(?:sha|md|base|utf|u?int|float|aes|rsa|ed|x86|x509|h2|iso|ecdsa)")


def _ends_in_digits(value: bytes) -> bool:
    return _NUMBERED.match(value) is not None


_NUMBERED = Regex(rb"^[A-Za-z]{5,}(?:\d{2,}|_\d{3,})$")


class ValueGate(Struct, frozen=True):
    """A test of a value."""

    accepts: Callable[[bytes], bool]
    meaning: str
    """What it asks of a value, in words: what `foldaway redact --explain` prints."""


GATES: Mapping[Gate, ValueGate] = {
    "any": ValueGate(lambda value: b"\x00" not in value, "nothing more than the pattern"),
    "real": ValueGate(
        is_real, "not a placeholder (`<token>`, `xxxx`, `your-key-here`, `$VAR`, `***`)"
    ),
    "mixed": ValueGate(is_mixed, "real, with a digit and a letter"),
    "random": ValueGate(is_random, "real, and as varied as random characters of its length are"),
    "unnamed": ValueGate(
        is_unnamed, "random, and not put together from words, as names in code are"
    ),
    "digest": ValueGate(is_digest, "unnamed, or hexadecimal and as long as keys are"),
    "password": ValueGate(is_password, "real, and not a plain word, a file name or a sentence"),
    "bare": ValueGate(
        is_bare_password, "password, and neither code nor a literal: for values without quotes"
    ),
    "chosen": ValueGate(
        is_human_password,
        "anything that a person may choose: not a label, message, field name or placeholder",
    ),
    "given": ValueGate(
        lambda value: is_password(value) or is_human_password(value),
        "password or chosen: where only a password can be",
    ),
    "userinfo": ValueGate(
        lambda value: is_real(value) or is_human_password(value), "real or chosen"
    ),
    "header": ValueGate(
        is_credential, "a credential after an authentication scheme, and not a word of prose"
    ),
    "luhn": ValueGate(is_luhn, "a number with a right Luhn check digit"),
    "card": ValueGate(is_card, "a number of a payment card with a right check digit"),
    "iban": ValueGate(is_iban, "an account number with right check digits"),
    "phone": ValueGate(
        is_phone, "a telephone number, and not a date, an address or another number"
    ),
    "ssn": ValueGate(is_ssn, "a social security number that can have been given out"),
    "email": ValueGate(
        is_email, "an address at a domain that is not reserved, and not that of a service"
    ),
    "jwt": ValueGate(is_jwt, "a JSON Web Token, by its first part"),
    "encoded-key": ValueGate(is_encoded_key, "a private key in base64"),
    "seed": ValueGate(is_seed, "base32 that is not a word: what one-time passwords are made from"),
    "code": ValueGate(
        is_one_time_code,
        "a number that is not one digit again and again, nor the round one of a setting",
    ),
    "ticket": ValueGate(is_ticket, "letters and digits, or two groups of capitals"),
    "escaped": ValueGate(is_escaped, r"mostly bytes that are written as `\x2b`"),
    "basic": ValueGate(is_basic, "a user and a password in base64"),
    "marked": ValueGate(is_marked, "something random after a word that says what it is"),
    "prefixed": ValueGate(
        is_prefixed, "a short prefix and a long run of small letters, capitals and digits"
    ),
}
