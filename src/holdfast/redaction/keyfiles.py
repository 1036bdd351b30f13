"""Private keys in an object of JSON: the key file of a service account, a JSON web key.

Such an object is one credential, as the block of a PEM file is, and it is hidden as one.
"""

from __future__ import annotations

import re

from holdfast.redaction.keyblocks import Key

OBJECTS = ("service_account", "kty")
"""What gives such an object away, in lower case."""
REACH = 8_192
"""So far before and after that word the object may go on."""
TIMES = 16
"""A byte that is looked through costs so much less than one of a failed try."""


def key_object(data: bytes, at: int, covered: int) -> Key:
    """Return what stands between the braces of the key that the word at `at` is in."""
    start = data.rfind(b"{", max(0, at - REACH), at) + 1
    end = data.find(b"}", at, at + REACH)
    inner = data[start : max(start, end)] if start else b""
    opened = None if b"}" in inner or b"\x00" in inner else _OPENS.match(inner)
    if opened is None or (len(opened[1]) > 1 and _SHALLOWER.search(inner)):
        return Key(None)
    private = _WEB_KEY if _TYPED.match(data, at) else _SERVICE
    is_whole = private.search(inner) and _CLOSES[opened[1]].search(inner)
    return Key((start, end) if is_whole else None, len(inner) // TIMES)


_SHALLOWER = re.compile(rb"""(?<!\\)["']""")
"""A quote that ends the string which an escaped object is in."""
_Q = rb"""\\{0,6}["']"""
_BLANKS = rb"(?:\s|\\{1,3}[nrt])"
_OPENS = re.compile(_BLANKS + rb"""*+((?:\\|\\\\\\)?["'])\w{1,40}+\1""" + _BLANKS + rb"{0,8}:")
_CLOSES = {
    quote: re.compile(
        rb""":%b{0,8}(?:%b(?:[^"'\\{}]|\\{1,6}[nrtu/])*+%b|[0-9.]{1,20}|true|false|null)%b*\Z"""
        % (_BLANKS, re.escape(quote), re.escape(quote), _BLANKS)
    )
    for quote in (b'"', b"'", b'\\"', b"\\'", b'\\\\\\"', b"\\\\\\'")
}
"""How such an object starts and ends, so that neither brace is one within a string."""
_SERVICE = re.compile(rb"private_key" + _Q + rb"[ \t]{0,4}:[ \t]{0,4}" + _Q + rb"-{4,5} ?BEGIN ")
_TYPED = re.compile(rb"kty" + _Q + rb"[ \t]{0,4}:[ \t]{0,4}" + _Q + rb"(?:RSA|EC|OKP|oct)\b")
_WEB_KEY = re.compile(
    rb"""["'][dk]""" + _Q + rb"[ \t]{0,4}:[ \t]{0,4}" + _Q + rb"[A-Za-z0-9_-]{16,1400}={0,2}" + _Q
)
"""The part of a web key that nobody else has; without it the key is a public one."""
