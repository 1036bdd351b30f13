"""Text made ready for the search of words: small letters, no punctuation, as bytes.

Bytes, because `bytes.translate` and `bytes.split` take any text at the speed of ASCII, where
`str.translate` is thirty times slower as soon as one letter is not ASCII.
"""

from __future__ import annotations

_WIDE_BLANKS = "\u2014\u2013\u2026\u201c\u201d\u2022\u00a0\u00a1\u00ab\u00bb\u00bf\u201e"
"""Marks of other alphabets that stand directly at words."""
_BLANKED = b'\r\t\x0b\x0c,:;!?"()[]{}*#|~'
_TO_BLANK = bytes.maketrans(_BLANKED, b" " * len(_BLANKED))


def folded(text: str) -> bytes:
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


def padded(words: list[bytes]) -> bytes:
    """Return words with one blank before and after each, in which a phrase is a substring."""
    return b" %b " % b" ".join(words)


def words_of(text: str) -> list[bytes]:
    """Return the words of a text."""
    return folded(text).split()
