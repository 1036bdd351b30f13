"""How known tokenizers part a text before they look anything up, for texts of ASCII."""

from __future__ import annotations

import re

from msgspec import Struct

_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"


class Split(Struct, frozen=True):
    """A way to part a text into pieces: by this pattern in a tokenizer file."""

    regex: str
    pieces: re.Pattern[str]
    """Finds the same pieces in a text of ASCII."""


def _split(regex: str) -> Split:
    """Return the split by a pattern that Python cannot read: it knows no classes of Unicode."""
    ascii_regex = regex
    for letters, meant in (
        (r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", "A-Z"), (r"\p{Ll}\p{Lm}\p{Lo}\p{M}", "a-z"),
        (r"\s\p{L}\p{N}", r"\sA-Za-z0-9"), (r"\r\n\p{L}\p{N}", r"\r\nA-Za-z0-9"),
        (r"\p{L}", "[A-Za-z]"), (r"\p{N}", "[0-9]"),
    ):  # fmt: skip
        ascii_regex = ascii_regex.replace(letters, meant)
    return Split(regex, re.compile(ascii_regex, re.ASCII))


GPT2 = _split(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)  # what `ByteLevel` does by itself
_AFTER_WORDS = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_CL100K = _CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _AFTER_WORDS
_QWEN2 = _CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _AFTER_WORDS
_O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    + _CONTRACTION
    + r"?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    + _CONTRACTION
    + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPLITS: dict[str, Split] = {
    split.regex: split for split in (GPT2, *map(_split, (_CL100K, _QWEN2, _O200K)))
}
"""By their pattern. cl100k is Llama 3's too; o200k is that of gpt-oss."""
