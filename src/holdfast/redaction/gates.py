"""What a value must be beyond its pattern: no placeholder, random enough, the right check digits.

Each gate takes the bytes of a value (bounded by its pattern) and says whether it is a secret.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Mapping
from math import log2

from holdfast.redaction.matching import compiled
from holdfast.redaction.rule import Gate

_FILLER = compiled(
    r"(?i)(?:^|[^a-z0-9])(?:your|my[_-]?(?:api|secret|key|token|pass)|example|placeholder|redacted"
    r"|masked|hidden|removed|replace[_-]?(?:me|this|with)?|insert|dummy|fake|goes[_-]?here|here"
    r"|todo|fixme|secret[_-]?(?:value|key|token)|foo(?:bar)?|lorem|token[_-]?here|not[_-]?set"
    r"|unset|encrypted)(?:[^a-z]|$)"
    r"|(?:^|[^a-z])(?:x{4,}|\*{3,}|\.{3,})(?:[^a-z]|$)|^change[_-]?me$|^abc123$"
    r"|(?:^|[=:])%[sdqvrx]$|example(?:key)?$|\.\.\.$|^\.\.\.|\xe2\x80\xa6"
    r"|\\[swdb][*+?{)\]]|\[\^?(?:a-|0-|\\)|\(\?[:=!<p]"
)
_REFERENCE = re.compile(
    rb"""(?isx)
    ^ (?: \$[a-z_][a-z0-9_]*$ | \$\{[^}]*\} | \$\( | \{\{ | \{% | %\( | %[a-z_]+%$ | %[sdrv]$
      | <[^<>]*>?$ | \#\{ | @@ | __[a-z_]+__$ | \{[a-z_.]*\}$ | \[.*\]$ | !!?[a-z]+$ | &[a-z]+;?$
      | \*[a-z_]+$ | \(.*\)$ | (?:sha(?:1|224|256|384|512)|md5|h1)[:=-][a-z0-9+/=]{16,}$
      | [^a-z0-9]*$ | (?-i:[a-z_]++(?:["'][a-z_]*+)?[=:]$)
    )
    """
)
_LITERALS = frozenset(
    b"true false null none nil undefined yes no on off string str int integer bool boolean bytes"
    b" number object any void unknown empty default optional required required, hidden password"
    b" passwd secret token key text char auto self this disabled enabled".split()
)
_CODE = re.compile(
    rb"""(?x)
    ^ (?: [A-Za-z_$][\w$]* (?: (?: \. | :: | -> | \?\. ) [A-Za-z_$][\w$]* )* [;,]? $   # a.b::c
      | [A-Za-z_$][\w$.:]* \s* [(\[{]                                                   # f(, a[
      | [!&*~-]? [A-Za-z_][\w.:]* (?: \[ | \( | < | \{ )
      | (?: new | await | return | lambda | function | typeof | not | if | get | async )\b
      | [-+]? [\d._]+ $
      | (?:\.{0,2}|~)/ [\w.-]* (?: / | $ )
      | [A-Za-z]:\\
      | https?: | file: | arn: | data:
    )
    """
)
_DIGIT = re.compile(rb"[0-9]")
_LETTER = re.compile(rb"[A-\xff]")
_SIGN = re.compile(rb"[!@#$%^&*?~+]")
_HEX = re.compile(rb"^[0-9a-f]+$|^[0-9A-F]+$")
_UUID = re.compile(rb"(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
_WORDS = re.compile(rb"^[A-Za-z]{2,}(?:[- ][A-Za-z]{2,}){3,}$")
_FILE = re.compile(
    rb"(?i)\.(?:pem|key|crt|cer|json|ya?ml|toml|txt|py|js|ts|go|sh|md|html?|conf|cfg|ini|env|pub"
    rb"|lock|sum|xml|log|csv|c|h|cc|cpp|java|rb|rs|com|org|net|io|dev|local|internal|svc)$"
)


def real(value: bytes) -> bool:
    """Whether the value is no placeholder, reference or filler."""
    if b"\x00" in value or len(value) < 4 or value.lower() in _LITERALS:
        return False
    if _REFERENCE.match(value) or _FILLER.after(value):
        return False
    varied = len(set(value.lower()))
    return varied > 2 or (varied == 2 and len(value) < 6)


def mixed(value: bytes) -> bool:
    """Whether a real value has a digit and a letter."""
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None and real(value)


def random(value: bytes) -> bool:
    """Whether a real value is as varied as random characters of its length are."""
    return len(value) >= 12 and real(value) and looks_random(value)


def looks_random(value: bytes) -> bool:
    """Whether letters and digits alternate as they do in keys, and not as in names and paths."""
    body = value.strip(b"=")[:256]
    kinds = body.translate(_KINDS)
    digits = kinds.count(1)
    switches = _switches(kinds)
    size = len(body)
    if size == 0 or not _is_varied(body, min(3.0, 0.75 * log2(size))):
        return False
    if _HEX.match(body):
        return digits >= 2 and digits < size and switches >= size * 0.2
    if digits >= 2:
        # of 62 random characters every second one is of another class than the one before
        return switches >= max(4, size * 0.24) and not _is_numbered_name(body)
    return size >= 16 and switches >= size * 0.38 and kinds.count(2) >= 4 and kinds.count(3) >= 4


def password(value: bytes) -> bool:
    """Whether a value in quotes beside a keyword can be a password: real, no code, no sentence."""
    if not real(value) or value.count(b" ") > 4:
        return False
    if b" " in value and not _WORDS.match(value):
        return value.count(b" ") < 3 and len(value) >= 8 and _DIGIT.search(value) is not None
    if _FILE.search(value) and not looks_random(value):
        return False
    if value.startswith((b"/", b"./", b"http", b"arn:")):
        return not value.startswith(b"http") and random(value)
    return not _is_plain_name(value)


def bare_password(value: bytes) -> bool:
    """Whether a value without quotes can be one; stricter, since code has no quotes either."""
    if not password(value) or b" " in value:
        return False
    if _WORDS.match(value):
        return True
    if _CODE.match(value):
        return (
            looks_random(value) or _ends_in_digits(value) or is_unspeakable(value)
            or (len(value) >= 8 and value.isalnum() and sum(48 <= c < 58 for c in value) >= 3
                and not _ALGORITHM.match(value))
        )  # fmt: skip
    return len(value) >= 6 and (
        _DIGIT.search(value) is not None or _SIGN.search(value) is not None or looks_random(value)
    )  # fmt: skip


def is_passphrase(value: bytes) -> bool:
    """Whether a value is four or more words with hyphens between them."""
    return _WORDS.match(value) is not None and b" " not in value


def is_label(value: bytes) -> bool:
    """Whether a value is a few words and numbers, as the key of a table or of a cache is."""
    return _LABEL.match(value) is not None and not is_passphrase(value)


_LABEL = re.compile(rb"^[A-Za-z]{2,16}(?:[-_.:](?:[A-Za-z]{2,16}|v?[0-9]{1,4}))+$")


def header(value: bytes) -> bool:
    """Whether a value after an authentication scheme is a credential and no word."""
    if len(value) < 6 or not real(value):
        return False
    if _CODE.match(value) and not value.endswith(b"="):
        return looks_random(value) or (mixed(value) and value.isalnum())
    return mixed(value) or not (value.isalpha() or value.islower() or value.isupper())


def is_unspeakable(value: bytes) -> bool:
    """Whether the letters of a value have runs of consonants that no word has."""
    if len(value) < 8 or not value.isalnum() or _is_identifier(value):
        return False
    lowered = value.lower()
    longest = max(map(len, _CONSONANTS.findall(lowered)), default=0)
    if value.islower() or value.isupper():
        # `catchphrase` has such a run too, but among more vowels than twelve random letters have
        vowels = len(value) - len(lowered.translate(None, b"aeiouy"))
        return value.isalpha() and len(value) >= 12 and longest >= 5 and vowels <= len(value) * 0.3
    if longest >= 5 or (longest == 4 and _DIGIT.search(value) is not None):
        return True
    return _switches(value.translate(_KINDS)) >= len(value) * 0.5


def _is_identifier(value: bytes) -> bool:
    """Whether letters are put together from words: `skipTLSVerify`."""
    words = _CAMEL.findall(value) if value.isalpha() else []
    return 1 < len(words) <= len(value) / 4 and not any(
        len(run) > 3
        for word in words
        if not word.isupper()
        for run in _CONSONANTS.findall(word.lower())
    )


_CAMEL = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CONSONANTS = re.compile(rb"[b-df-hj-np-tv-xz]+")


def _is_varied(value: bytes, bits: float) -> bool:
    """Whether the entropy is `bits` at least; mostly the number of distinct characters tells."""
    size = len(value)
    most = size - len(set(value)) + 1
    return log2(size) - _N_LOG_N[most] / size >= bits or entropy(value) >= bits


def entropy(value: bytes) -> float:
    """Return the bits a character of up to 256, by the counts of its own characters."""
    size = len(value)
    return log2(size) - sum([_N_LOG_N[n] for n in Counter(value).values()]) / size


_N_LOG_N = (0.0, *(n * log2(n) for n in range(1, 257)))


def luhn(value: bytes) -> bool:
    """Whether the digits are a card number of a known network with a right check digit."""
    digits = value.translate(None, b" -")
    grouped = len(digits) < len(value)
    if not 13 <= len(digits) <= 19:
        return False
    return (_is_card_range(digits) or (grouped and len(digits) == 16)) and card(digits)


def card(digits: bytes) -> bool:
    """Whether a number that is called a card's has a right check digit."""
    doubled = sum(digits[-2::-2].translate(_DOUBLED))
    return len(set(digits)) > 2 and (sum(digits[-1::-2]) + doubled - 48 * len(digits)) % 10 == 0


_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")


def iban(value: bytes) -> bool:
    """Whether the value is an account number whose check digits are right."""
    text = value.replace(b" ", b"").replace(b"-", b"").upper()
    if not 15 <= len(text) <= 34:
        return False
    number = "".join(str(int(chr(c), 36)) for c in text[4:] + text[:4])
    return int(number) % 97 == 1


def phone(value: bytes) -> bool:
    """Whether the digits can be a telephone number."""
    digits = value.translate(None, b" ()+.-")
    return 7 <= len(digits) <= 15 and len(set(digits)) > 2


def ssn(value: bytes) -> bool:
    """Whether the parts are in the ranges that social security numbers have."""
    area, group, serial = value[:3], value[4:6], value[7:]
    return (
        area not in (b"000", b"666") and area < b"900" and group != b"00" and serial != b"0000"
        and value != b"123-45-6789"
    )  # fmt: skip


def email(value: bytes) -> bool:
    """Whether the address belongs to a person rather than to a documentation or a service."""
    name, _, domain = value.lower().partition(b"@")
    return not (
        name in _ROLE_NAMES
        or domain.startswith((b"example.", b"test.", b"localhost"))
        or _MADE_UP.match(domain)
        or domain.endswith((b".example", b".test", b".local", b".invalid", b".internal"))
        or b".example." in domain
        or _FILE_LIKE.search(domain)
    )


def jwt(value: bytes) -> bool:
    """Whether the first part decodes to the header of a token, or to an object with secrets."""
    head = value.partition(b".")[0][:1024]
    try:
        text = b64decode(head[: len(head) // 4 * 4], altchars=b"-_").lower()
    except ValueError:
        return False
    return text.startswith(b"{") and (
        any(word in text for word in (b'"alg"', b'"typ"', b'"enc"', b'"kid"'))
        or any(word in text for word in _INNER)
    )


GATES: Mapping[Gate, Callable[[bytes], bool]] = {
    "any": lambda value: b"\x00" not in value,
    "real": real,
    "mixed": mixed,
    "random": random,
    "password": password,
    "bare": bare_password,
    "header": header,
    "luhn": luhn,
    "card": card,
    "iban": iban,
    "phone": phone,
    "ssn": ssn,
    "email": email,
    "jwt": jwt,
}

_INNER = (b"token", b"secret", b"passw", b"key", b"credential", b"auth")
_ROLE_NAMES = frozenset(
    b"git noreply no-reply root user support info admin postmaster ubuntu ec2-user centos deploy"
    b" postgres jenkins bot me you someone somebody foo bar baz test tests username email name"
    b" hello contact security help team webmaster mailer-daemon notifications dependabot".split()
)
_MADE_UP = re.compile(
    rb"(?:foo|bar|baz|foobar|domain|(?:your|my)-?(?:domain|company|org|email)|users\.noreply|acme"
    rb"|somewhere|sample|nowhere|whatever|fake|dummy)\.[a-z.]+$"
)
_FILE_LIKE = re.compile(rb"\.(?:png|jpe?g|svg|gif|js|ts|py|md|json|css|service|target)$|^\d")


_KINDS = bytes(
    1 if 48 <= c < 58 else 2 if 97 <= c < 123 else 3 if 65 <= c < 91 else 4 for c in range(256)
)
"""Digit, small letter, capital, anything else; as a table, since every value is looked up in it."""


def _switches(kinds: bytes) -> int:
    """Return how often a byte differs from the one before it: all pairs at once, as two numbers."""
    pairs = max(0, len(kinds) - 1)
    differing = int.from_bytes(kinds[1:], "big") ^ int.from_bytes(kinds[:-1], "big")
    return pairs - differing.to_bytes(pairs, "big").count(0)


def is_opaque(value: bytes) -> bool:
    """Whether a value has only the characters of keys, and looks random beside its UUIDs."""
    if not _OPAQUE.match(value) or _DATED.match(value):
        return False
    rest = _ANY_UUID.sub(b"", value)
    return random(value) if len(rest) == len(value) else random(rest)


_OPAQUE = re.compile(rb"^[A-Za-z0-9+/=_~%.:|$-]+$")
_DATED = re.compile(rb"^(?:19|20)\d\d-[01]\d-[0-3]\d[^\d]")
"""The name of something that was made on a day; no key starts so."""
_ANY_UUID = re.compile(rb"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def is_uuid(value: bytes) -> bool:
    """Whether the value is a UUID: an identifier more often than a secret."""
    return _UUID.match(value) is not None


def _is_numbered_name(value: bytes) -> bool:
    """Whether the pieces between separators are words or numbers: `my-app-2024-v1`."""
    pieces = value.translate(_JOINTS).split()
    if len(pieces) < 2:
        return False
    odd = sum(
        len(p) for p in pieces
        if not (p.isdigit() and len(p) < 9) and not p.isalpha() and not _VERSION.match(p)
    )  # fmt: skip
    long = any(len(p) >= 12 and looks_random(p) for p in pieces)
    return not long and odd < len(value) * 0.45


_JOINTS = bytes.maketrans(b"-_./:+", b"      ")
_VERSION = re.compile(rb"(?i)^(?:v?\d{1,4}[a-z]{0,2}|[a-z]{2,12}\d{1,4})$")


def _is_plain_name(value: bytes) -> bool:
    """Whether the value is one word, or a few joined ones without any digit: a name, a label."""
    return (
        value.isalpha() and not looks_random(value) and not is_unspeakable(value)
    ) or (
        _NAME.match(value) is not None and not _WORDS.match(value)
        and not any(map(is_unspeakable, value.translate(_JOINTS).split()))
    )  # fmt: skip


_NAME = re.compile(
    rb"^[A-Za-z]+(?:[-_./:][A-Za-z]+){1,2}[:.,]?$|^[a-z]+(?:_[a-z]+)*$|^[A-Z]+(?:_[A-Z]+)+$"
)


_ALGORITHM = re.compile(rb"(?i)^(?:sha|md|base|utf|u?int|float|aes|rsa|ed|x86|x509|h2|iso|ecdsa)")


def _ends_in_digits(value: bytes) -> bool:
    return re.search(rb"^[A-Za-z]{5,}\d{2,}$", value) is not None


def _is_card_range(digits: bytes) -> bool:
    size = len(digits)
    first2, first4 = int(digits[:2]), int(digits[:4])
    return (
        (digits[0] == ord("4") and size in (13, 16, 19))
        or (51 <= first2 <= 55 and size == 16)
        or (2221 <= first4 <= 2720 and size == 16)
        or (first2 in (34, 37) and size == 15)
        or (first4 == 6011 and size == 16)
        or (first2 == 65 and size == 16)
        or (3528 <= first4 <= 3589 and size == 16)
        or (first2 in (36, 38) and size == 14)
        or (300 <= first4 // 10 <= 305 and size == 14)
    )
