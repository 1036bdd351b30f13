"""A text as people write it: words without accents, sentences, passages that were pasted."""

from __future__ import annotations

from collections.abc import Iterator

from foldaway._core import Regex
from foldaway.facts.languages import WORDS

_WIDE_BLANKS = "\u2014\u2013\u2026\u201c\u201d\u2022\u00a0\u00a1\u00ab\u00bb\u00bf\u201e"
"""Marks of other alphabets that stand directly at words."""
_BLANKED = b'\r\t\x0b\x0c,:;!?"()[]{}*#|~'
_TO_BLANK = bytes.maketrans(_BLANKED, b" " * len(_BLANKED))


def fold(text: str) -> bytes:
    """Return `text` with its words between blanks, in as many lines as before.

    What holds code together stays: `read-only`, `do_not_use`, `a/b`, `x=1` and `foo.bar` are one
    word each, so that no cue is found inside them.
    """
    small = text.lower()
    if not small.isascii():
        small = small.replace("\u2019", "'")
        for mark in _WIDE_BLANKS:
            small = small.replace(mark, " ")
    plain = small.encode("utf-8", "surrogatepass").translate(_TO_BLANK)
    if b"'" in plain:
        plain = plain.replace(b"' ", b"  ").replace(b" '", b"  ")
    plain = plain.replace(b". ", b"  ").replace(b".\n", b" \n")
    return plain[:-1] if plain.endswith(b".") else plain


def pad(words: list[bytes]) -> bytes:
    """Return words with one blank before and after each, in which a phrase is a substring."""
    return b" %b " % b" ".join(words)


def words_of(text: str) -> list[bytes]:
    """Return the words of a text."""
    return fold(text).split()


MOST_CHARS = 300
"""The longest piece; a longer run without an end of sentence comes in several."""
_END = Regex(
    r"""[.!?…؟।]["')\]*`_»”’]{0,3}(?=\s)\s*+|[。！？｡][」』”’）)"]{0,3}\s*+|[؛;](?=\s)\s*+"""
)
_SHORT_FORMS = WORDS["short_forms"]
_LIST_MARK = Regex(r"\s*(?:[-*+•>]\s+|\(?\d{1,3}[.)]\s+|#+\s+)*")
_TAIL = " \t\r*_"


def sentences(line: str) -> Iterator[str]:
    """Yield the sentences of one line, each of at most `MOST_CHARS` characters."""
    start = 0
    for found in _END.finditer(line):
        if line[found.start()] == "." and _is_short_form(line, start, found.start()):
            continue
        yield from _stretches(line, start, found.end())
        start = found.end()
    yield from _stretches(line, start, len(line))


def sentences_with_words(line: str) -> Iterator[tuple[str, list[bytes]]]:
    """Yield each sentence of a line with its words, all folded at once."""
    pieces = list(sentences(line))
    for piece, words in zip(pieces, fold("\n".join(pieces)).split(b"\n"), strict=True):
        yield piece, words.split()


def trimmed(piece: str) -> str:
    """Return a piece without the list mark before it and the blanks and emphasis around it."""
    mark = _LIST_MARK.match(piece[:80])
    bare = piece[mark.end() :] if mark else piece
    return bare.strip(_TAIL) if bare.count("**") % 2 else bare.strip()


def _stretches(line: str, start: int, end: int) -> Iterator[str]:
    while end - start > MOST_CHARS:
        blank = line.rfind(" ", start + MOST_CHARS // 2, start + MOST_CHARS)
        middle = blank + 1 if blank >= 0 else start + MOST_CHARS
        yield line[start:middle]
        start = middle
    if start < end:
        yield line[start:end]


def _is_short_form(line: str, start: int, stop: int) -> bool:
    """Return whether the full stop at `stop` ends "e.g." or the number of a list."""
    first = line.rfind(" ", max(start, stop - 8), stop) + 1 or max(start, stop - 8)
    word = line[first:stop].strip("(*_").lower()
    return word in _SHORT_FORMS or word[-2:-1] == "." or (first <= start and word.isdigit())


_LONG_LINES = 200
"""A message of more lines holds a document; its beginning and end are read as the author's."""
_OWN_HEAD = 20
"""Lines at the start of such a message that count as the author's; chosen."""
_OWN_TAIL = 15
"""Lines at its end that do; chosen."""
_MARKED_START = Regex(
    r"""\d{4}-\d\d-\d\d[T ]\d|\d\d:\d\d:\d\d|\[[\w:./ -]{1,40}\]\s|[-+][^\s\w*]|[-+]\w+[ (.=]|"""
    r"""[@$❯➜%]{1,2}\s|>>>|//|/\*|\*/|#!|#include|</?[\w!?][\w:-]*[\s>/]|"""
    r"""["'][\w.-]+["']\s*:|[{}\[\]()]\s*\Z|\d+[│|:]\s"""
)
_WORDED_START = Regex(
    r"""at\s[\w.$<]+\(|File\s"|E\s{3}|"""
    r"""(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE|Error|Warning|Traceback)\b[:\s\[]|"""
    r"""(?:def|class|func|fn|var|let|const|import|from|return|if|for|while|export|public|private|"""
    r"""package|type|struct|enum)\s[^:;{(=]{1,80}[:;{(=]\s*\Z"""
)
_FINISH = ("{", ";", "(", "}", "},", "],", "=>", "&&", "||", "\\")
_SYMBOLS = "{};=<>[]$|\\&"
_MOST_SYMBOLS = 0.08
"""Share of brackets, operators and the like from which on a line is code; chosen."""
_READ_CHARS = 400
"""Of a line, to tell whether it is code; chosen."""
_HEAD_CHARS = 60_000
"""Of a very long message, the start that is read; chosen, it bounds the time."""
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
