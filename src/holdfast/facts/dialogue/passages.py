"""Which lines of a message are its author's own words, and which were pasted in."""

from __future__ import annotations

import re

_LONG_LINES = 200
"""A message of more lines holds a document; its beginning and end are read as the author's."""
_OWN_HEAD = 20
_OWN_TAIL = 15
_MARKED_START = re.compile(
    r"""\d{4}-\d\d-\d\d[T ]\d|\d\d:\d\d:\d\d|\[[\w:./ -]{1,40}\]\s|[-+][^\s\w*]|[-+]\w+[ (.=]|"""
    r"""[@$❯➜%]{1,2}\s|>>>|//|/\*|\*/|#!|#include|</?[\w!?][\w:-]*[\s>/]|"""
    r"""["'][\w.-]+["']\s*:|[{}\[\]()]\s*\Z|\d+[│|:]\s"""
)
_WORDED_START = re.compile(
    r"""at\s[\w.$<]+\(|File\s"|E\s{3}|"""
    r"""(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE|Error|Warning|Traceback)\b[:\s\[]|"""
    r"""(?:def|class|func|fn|var|let|const|import|from|return|if|for|while|export|public|private|"""
    r"""package|type|struct|enum)\s[^:;{(=]{1,80}[:;{(=]\s*\Z"""
)
_FINISH = ("{", ";", "(", "}", "},", "],", "=>", "&&", "||", "\\")
_SYMBOLS = "{};=<>[]$|\\&"
_MOST_SYMBOLS = 0.08
_READ_CHARS = 400
_HEAD_CHARS = 60_000
_TAIL_CHARS = 20_000
"""What a person writes around a paste stands at its ends."""


def both_ends(text: str) -> str:
    """Return a text as it is, or of a huge one its beginning and its end, on lines of their own."""
    if len(text) <= _HEAD_CHARS + _TAIL_CHARS:
        return text
    return f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"


def fenced_lines(lines: list[str]) -> frozenset[int]:
    """Return the indices of the lines inside or at the marks of fenced code."""
    inside: list[int] = []
    fence = ""
    for index, line in enumerate(lines):
        bare = line.lstrip() if line[:1] in " \t>-*" else line
        mark = bare[:3]
        if mark == "```" or mark == "~~~":
            inside.append(index)
            if not fence:
                fence = mark
            elif mark == fence:
                fence = ""
        elif fence:
            inside.append(index)
    return frozenset(inside)


def in_document(index: int, count: int) -> bool:
    """Return whether a line stands in the middle of a message of very many lines."""
    return count > _LONG_LINES and _OWN_HEAD <= index < count - _OWN_TAIL


def looks_pasted(line: str) -> bool:
    """Return whether one line looks like code, a log or markup rather than a sentence."""
    bare = line[:_READ_CHARS].strip()
    start = _WORDED_START if bare[:1].isalpha() else _MARKED_START
    if start.match(bare):
        return True
    if "`" in bare:
        bare = "".join(bare.split("`")[::2])
    signs = sum(map(bare.count, _SYMBOLS))
    if signs == 0:
        return False
    return signs > max(len(bare) * _MOST_SYMBOLS, 2) or (signs > 1 and bare.endswith(_FINISH))
