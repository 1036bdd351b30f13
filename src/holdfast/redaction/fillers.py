"""What stands where a secret would: placeholders, references, literals of languages."""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.redaction.matching import compiled
from holdfast.redaction.randomness import AT_ONCE, looks_random


@lru_cache(maxsize=AT_ONCE)
def real(value: bytes) -> bool:
    """Whether the value is no placeholder, reference or filler."""
    if b"\x00" in value or len(value) < 4 or value.lower() in _LITERALS:
        return False
    if _REFERENCE.match(value):
        return False
    value = _without_dots(value)
    if _FILLER.after(value) and (_SIGN.after(value) or not any(map(_is_body, _RUN.findall(value)))):
        return False
    varied = len(set(value.lower()))
    return varied > 2 or (varied == 2 and len(value) < 6)


def _without_dots(value: bytes) -> bytes:
    """Return a value that somebody has cut without the sign of it, if the most of it is there."""
    if not value.endswith(_DOTS):
        return value
    cut = _CUT.match(value)
    return cut[1] if cut and len(cut[1]) >= CUT and looks_random(cut[1]) else value


CUT = 20
"""So much of a secret is worth hiding, though its end is missing."""
_DOTS = (b"...", b"\xe2\x80\xa6", b"...\n", b"\xe2\x80\xa6\n")
_CUT = re.compile(rb"(?s)(.*?)(?:\.{3}|\xe2\x80\xa6)$")


def _is_body(run: bytes) -> bool:
    """Whether a run of letters and digits is the body of a key, whatever words stand around it."""
    return len(run) >= BODY and looks_random(run)


BODY = 32
_RUN = re.compile(rb"[A-Za-z0-9]+")
_WORDS = (
    r"(?:^|[^a-z0-9])(?:your|my[_-]?(?:api|secret|key|token|pass)|example|placeholder|redacted"
    r"|masked|hidden|removed|replace[_-]?(?:me|this|with)?|insert|dummy|fake|goes[_-]?here|here"
    r"|todo|fixme|secret[_-]?(?:value|key|token)|foo(?:bar)?|lorem|token[_-]?here|not[_-]?set"
    r"|unset|encrypted)(?:[^a-z]|$)"
)
_SIGNS = (
    r"(?:^|[^a-z])(?:x{4,}|\*{3,}|\.{3,})(?:[^a-z]|$)|^change[_-]?me$"
    r"|(?:^|[=:])%[sdqvrx]$|example(?:key)?=*$|(?-i:^EXAMPLE)|\.\.\.$|^\.\.\.|\xe2\x80\xa6"
    r"|\\[swdb][*+?{)\]]|\[\^?(?:a-|0-|\\)|\(\?[:=!<p]|0-9a-z|a-z0-9|a-za-z"
    r"|\$\{[a-z_][\w.]*(?:\([^{}]*\)[\w.()' ]*)?\}|\{[a-z_]+\.[a-z_]+\}"
)
_FILLER = compiled(f"(?i){_WORDS}|{_SIGNS}")
_SIGN = compiled(f"(?i){_SIGNS}")
_REFERENCE = re.compile(
    rb"""(?isx)
    ^ (?: \$[a-z_][a-z0-9_]*$ | \$\{[^}]*\} | \$\( | \{\{ | \{% | %\( | %[a-z_]+%$ | %[sdrv]$
      | <[^<>]*>?$ | \#\{ | @@ | __[a-z_]+__$ | \{[a-z_.]*\}$ | \[.*\]$ | !!?[a-z]+$ | &[a-z]+;?$
      | \*[a-z_]+$ | \(.*\)$ | (?:sha(?:1|224|256|384|512)|md5|h1)[:=-][a-z0-9+/=]{16,}$
      | \$ansible_vault;
      | [^a-z0-9]*$ | \#[0-9a-f]{3,8}$ | \*\*[0-9]{1,5}\*\*$ | [a-z]+:\\*"[\w,-]*\\*"$
      | (?-i:[a-z_]++(?:["'][a-z_]*+)?[=:]$) | (?-i:ENC\[[A-Z0-9_]+(?:,|$)) | (?-i:[a-z]+>$)
    )
    """
)
_LITERALS = frozenset(
    b"true false null none nil undefined yes no on off string str int integer bool boolean bytes"
    b" number object any void unknown empty default optional required required, hidden password"
    b" passwd secret token key text char auto self this disabled enabled".split()
)
