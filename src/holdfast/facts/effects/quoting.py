"""Quotes, escapes and braces of shell words."""

from __future__ import annotations

import re

PLAIN = r"(?:[^ \t\r\n'\"\\$`|&;<>()]++|'[^']*+'|\"[^\"\\$`]*+\"|\\[^\r\n])++"
"""A word, or its beginning, that holds no expansion."""
_QUOTED = re.compile(r"'([^']*+)'|\"([^\"]*+)\"|\\(.)", re.S)
_ESCAPED = re.compile(r"\\([$`\"\\]|\r?\n)")
_BRACES = re.compile(r"\{([^{},]*+(?:,[^{},]*+)++)\}")
_MAX_EXPANDED = 64
_ANSI_C = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|[0-7]{1,3}|.)", re.S)
_ANSI_C_LETTERS = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b",
}  # fmt: skip


def unquote(raw: str) -> str:
    """Return the value of a plain word."""
    first = raw[0]
    if first in "'\"" and raw.find(first, 1) == len(raw) - 1:
        return raw[1:-1]
    if "'" in raw or '"' in raw or "\\" in raw:
        return _QUOTED.sub(_inner, raw)
    return raw


def unescape_double(text: str) -> str:
    """Return the value of what stands between double quotes, without expansions."""
    return _ESCAPED.sub(_escaped, text) if "\\" in text else text


def ansi_c(text: str) -> str:
    """Return the value of what stands in `$'…'`."""
    return _ANSI_C.sub(_ansi_c, text) if "\\" in text else text


def expand_braces(raw: str) -> list[str]:
    """Return the words that `a{b,c}` stands for; the word itself where it is quoted or too many."""
    if "'" in raw or '"' in raw or "\\" in raw:
        return [unquote(raw)]
    words = [raw]
    while found := _BRACES.search(words[0]):
        choices = found[1].split(",")
        if len(words) * len(choices) > _MAX_EXPANDED:
            return [raw]
        words = [
            f"{word[: at.start()]}{choice}{word[at.end() :]}"
            for word in words
            if (at := _BRACES.search(word))
            for choice in choices
        ]
    return words


def _inner(found: re.Match[str]) -> str:
    return found[found.lastindex or 0]


def _escaped(found: re.Match[str]) -> str:
    return found[1] if found[1] in '$`"\\' else ""


def _ansi_c(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xu" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _ANSI_C_LETTERS.get(code, code if code in "\\'\"?" else found[0])
