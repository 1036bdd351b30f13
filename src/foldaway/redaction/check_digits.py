"""Numbers and codes that carry their own check: cards, accounts, telephones, tokens."""

from __future__ import annotations

from base64 import b64decode

from foldaway._core import Regex
from foldaway.redaction.names import WORDS


def is_luhn(value: bytes) -> bool:
    """Whether the digits are a card number of a known network with a right check digit."""
    digits = value.translate(None, b" -")
    grouped = len(digits) < len(value)
    if not 13 <= len(digits) <= 19:
        return False
    return (_is_card_range(digits) or (grouped and len(digits) == 16)) and is_card(digits)


def is_card(digits: bytes) -> bool:
    """Whether a number that is called a card's has a right check digit."""
    doubled = sum(digits[-2::-2].translate(_DOUBLED))
    return (sum(digits[-1::-2]) + doubled - 48 * len(digits)) % 10 == 0 and len(set(digits)) > 2


_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")


def is_iban(value: bytes) -> bool:
    """Whether the value is an account number whose check digits are right."""
    text = value.replace(b" ", b"").replace(b"-", b"").upper()
    if not 15 <= len(text) <= 34:
        return False
    number = "".join(str(int(chr(c), 36)) for c in text[4:] + text[:4])
    return int(number) % 97 == 1


def is_phone(value: bytes) -> bool:
    """Whether the digits can be a telephone number."""
    digits = value.translate(None, b" ()+.-")
    return 7 <= len(digits) <= 15 and len(set(digits)) > 2


def is_ssn(value: bytes) -> bool:
    """Whether the parts are in the ranges that social security numbers have."""
    area, group, serial = value[:3], value[4:6], value[7:]
    return (
        area not in (b"000", b"666")
        and area < b"900"
        and group != b"00"
        and serial != b"0000"
        and value != b"123-45-6789"
    )


def is_email(value: bytes) -> bool:
    """Whether an address may be a person's: neither a service's nor at a domain that is reserved.

    A domain that only looks like a sample (`company.com`, `foo.org`) belongs to somebody.
    """
    name, _, domain = value.lower().partition(b"@")
    return name not in _ROLE_NAMES and _NO_MAILBOX.search(domain) is None


def is_jwt(value: bytes) -> bool:
    """Whether the first part decodes to the header of a token, or to an object with secrets."""
    head = value.partition(b".")[0].partition(b":")[0][:1024]
    try:
        text = b64decode(head[: len(head) // 4 * 4], altchars=b"-_").lower()
    except ValueError:
        return False
    return text.startswith(b"{") and (
        value.count(b".") > 1
        or b":" in value
        or any(word in text for word in (b'"alg"', b'"typ"', b'"enc"', b'"kid"'))
        or any(word in text for word in _INNER)
    )


def is_basic(value: bytes) -> bool:
    """Whether base64 holds a user and a password with a colon between them."""
    body = value.replace(b"%3D", b"=").replace(b"%3d", b"=").rstrip(b"=")
    is_word = len(body) < 8 and body.isalpha() and (body.islower() or body.istitle())
    try:
        text = b64decode(body + b"=" * (-len(body) % 4), altchars=b"-_")
    except ValueError:
        return False
    try:
        user, colon, password = text.decode().partition(":")
    except UnicodeDecodeError:
        user, colon, password = text.decode("latin-1").partition(":")
        if not user.isascii() or value.isalpha():
            return False
    return bool(colon and (user or password)) and (user + password).isprintable() and not is_word


def is_encoded_key(value: bytes) -> bool:
    """Whether the start of a value decodes to the first line of a private key."""
    try:
        text = b64decode(value[:HEAD], altchars=b"-_" if b"_" in value or b"-" in value else None)
    except ValueError:
        return False
    return b"PRIVATE KEY" in text


HEAD = 52
"""The letters that hold the longest first line, `-----BEGIN ENCRYPTED PRIVATE KEY`, and more."""


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


_INNER = (b"token", b"secret", b"passw", b"key", b"credential", b"auth")
_ROLE_NAMES = frozenset(name.encode() for name in WORDS["mail_role"])
_NO_MAILBOX = Regex(
    rb"(?:^|\.)(?:example\.(?:com|org|net)|example|test|invalid|localhost)$"  # RFC 2606, RFC 6761
    rb"|\.(?:local|internal)$|^users\.noreply\.|^openssh\.com$"
    rb"|\.(?:png|jpe?g|svg|gif|js|ts|json|css|service|target)$|^v?\d+\.\d"  # a file, a version
)
