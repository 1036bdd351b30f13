"""The values of `Cookie` and `Set-Cookie` headers."""

from __future__ import annotations

import re

from holdfast.redaction.fillers import real
from holdfast.redaction.matching import compiled
from holdfast.redaction.randomness import looks_random

COOKIES = (
    "cookie:",
    'cookie":',
    "cookie':",
    'cookie\\":',
    "cookie=",
    'cookie",',
    "--cookie ",
    "-b ",
)
_START = compiled(r"(?i)-{0,2}(?:cookie|b)[\\\"']{0,7}[ \t]{0,2}[:=, ][ \t]{0,4}[\\\"']{0,7}")
_PAIR = compiled(r"[ \t]{0,4}([A-Za-z0-9_.%-]{1,80})=([^\s;,\"'\\\x00]*);?")
_NAMES = (
    "sess",
    "sid",
    "token",
    "auth",
    "jwt",
    "csrf",
    "xsrf",
    "remember",
    "login",
    "secret",
    "key",
)
_ATTRIBUTES = frozenset(("path", "domain", "expires", "max-age", "samesite", "priority", "version"))
MAX_PAIRS = 100
MAX_VALUE = 4096


def is_hidden(data: bytes, at: int) -> bool:
    """Whether the header at `at` was redacted: a value of its first pairs is hidden."""
    return _HIDDEN.match(data, at) is not None


_HIDDEN = re.compile(
    rb"""(?i)-{0,2}(?:cookie|b)[\\"']{0,7}[ \t]{0,2}[:=, ]"""
    rb"(?:[^=;\r\n\x00]{0,80}=[^=;\r\n\x00]{0,80};){0,4}[^=;\r\n\x00]{1,80}=\x00"
)


def cookies(data: bytes, at: int) -> tuple[list[tuple[int, int]], int]:
    """Return the spans of the secret values in the header at `at`, and how long the header is."""
    start = _START.at(data, at)
    found: list[tuple[int, int]] = []
    if start is None:
        return found, 0
    (first, at), *_ = start
    for _ in range(MAX_PAIRS):
        pair = _PAIR.at(data, at, at + MAX_VALUE)
        if pair is None:
            break
        name = data[slice(*pair[1])].decode().lower()
        if name not in _ATTRIBUTES and _is_secret(name, data[slice(*pair[2])]):
            found.append(pair[2])
        at = pair[0][1]
    return found, at - first


def _is_secret(name: str, value: bytes) -> bool:
    if len(value) < 8 or not real(value):
        return False
    return any(word in name for word in _NAMES) or (len(value) >= 16 and looks_random(value))
