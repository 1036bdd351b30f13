"""A `tokenizers` file as a counter that counts each word of a text once."""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct


class Tokenizer:
    """A `tokenizers` file; special tokens are not added, and count as what they are in a text."""

    def __init__(self, name: str, tokenizer: Any) -> None:
        """Take a tokenizer; what it says of truncation and padding is switched off."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.name = name
        self._encode = tokenizer.encode_batch_fast  # a fifth less time than `encode`

    def count(self, text: str) -> int:
        """Return the tokens of `text`; half a surrogate pair counts as a question mark."""
        try:
            return len(self._encode([text], add_special_tokens=False)[0])
        except (UnicodeEncodeError, TypeError):
            clean = text.encode("utf-8", "replace").decode()
            return len(self._encode([clean], add_special_tokens=False)[0])


def counter_of(name: str, tokenizer: Any) -> Tokenizer | WordTokenizer:
    """Return a counter by words if a text costs exactly what its words cost in this file; otherwise
    the tokenizer itself.
    """
    whole = Tokenizer(name, tokenizer)
    try:
        file = _FILE.decode(tokenizer.to_str())
    except msgspec.ValidationError:
        return whole
    split = _split_of(file.pre_tokenizer)
    if split is None or not _are_found(file):
        return whole
    tokenize = tokenizer.model.tokenize
    words = ByWords(
        name, whole.count, lambda piece: len(tokenize(piece.translate(_LETTERS))), split
    )
    return WordTokenizer(words, whole, file.added_tokens)


class WordTokenizer:
    """A tokenizer file that counts by words, and the tokens that were added to its vocabulary."""

    def __init__(self, words: ByWords, whole: Tokenizer, added: Sequence[Added]) -> None:
        """Take who counts words, who counts texts with unusual tokens, and these."""
        self.name = words.name
        self._count_words, self._count_whole = words.count, whole.count
        first = [token for token in added if not token.normalized]
        then = [token for token in added if token.normalized]
        self._added = [_any_of(tokens) for tokens in (first, then) if tokens]
        unusual = [token for token in added if token.single_word or token.lstrip or token.rstrip]
        self._unusual = _any_of(unusual) if unusual else None

    def count(self, text: str) -> int:
        """Return the tokens of `text`; half a surrogate pair counts as a question mark."""
        if self._unusual is not None and self._unusual.search(text):
            return self._count_whole(text)
        total, parts = 0, [text]
        for tokens in self._added:
            cut = [tokens.split(part) for part in parts]
            total += sum(map(len, cut)) - len(parts)
            parts = [part for some in cut for part in some]
        return total + sum(map(self._count_words, parts))


def _any_of(tokens: Sequence[Added]) -> re.Pattern[str]:
    """Return what finds the tokens; of several that begin at one place, the longest."""
    contents = sorted((token.content for token in tokens), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, contents)))


class _ByteLevel(Struct, tag="ByteLevel"):
    add_prefix_space: bool = True
    use_regex: bool = True


class _Regex(Struct, forbid_unknown_fields=True):
    Regex: str


class _Split(Struct, tag="Split"):
    pattern: _Regex
    behavior: Literal["Isolated"]
    invert: Literal[False]


class _Sequence(Struct, tag="Sequence"):
    pretokenizers: tuple[_Split, _ByteLevel]


class _Normalizer(Struct):
    type: Literal["NFC"]


class Added(Struct, frozen=True):
    """A token that is looked for in a text before anything else."""

    content: str
    normalized: bool
    """Whether it is looked for in normalized text, and after those of which it is not so."""
    single_word: bool
    lstrip: bool
    rstrip: bool


class _Model(Struct):
    type: Literal["BPE"]
    dropout: None = None
    continuing_subword_prefix: Literal[""] | None = None
    end_of_word_suffix: Literal[""] | None = None


class _File(Struct):
    """The files that are understood; NFC leaves ASCII as it is, and joins nothing to it that
    is before it.
    """

    pre_tokenizer: _ByteLevel | _Sequence
    model: _Model
    normalizer: _Normalizer | None = None
    added_tokens: list[Added] = []


_FILE = msgspec.json.Decoder(_File)


def _split_of(given: _ByteLevel | _Sequence) -> Split | None:
    last = given if isinstance(given, _ByteLevel) else given.pretokenizers[1]
    if last.add_prefix_space or last.use_regex != isinstance(given, _ByteLevel):
        return None
    return (
        GPT2 if isinstance(given, _ByteLevel) else SPLITS.get(given.pretokenizers[0].pattern.Regex)
    )


def _are_found(file: _File) -> bool:
    """Return whether the added tokens can be found in a text as it was given; a question mark may
    be half a surrogate pair.
    """
    return all(
        token.content and "?" not in token.content and not (token.normalized and file.normalizer)
        for token in file.added_tokens
    )


def _letters() -> dict[int, str]:
    """Return the letters by which a byte-level vocabulary writes the bytes of ASCII."""
    plain = range(ord("!"), ord("~") + 1)
    others = [code for code in range(128) if code not in plain]
    return {code: chr(256 + at) for at, code in enumerate(others)}


_LETTERS = _letters()


WORDS = re.compile(
    r"""(?sx) [^A-Za-z0-9]*+ [A-Za-z0-9]++
    (?: (?: ' (?=[sdmtlvrSDMTLVR\x80-\U0010ffff]) | [\x80-\U0010ffff] )
        [^A-Za-z0-9]*+ [A-Za-z0-9]*+ )*+
    | .+"""
)
"""A letter or digit of ASCII with another character of ASCII behind it: there every split of
`SPLITS` ends a piece, but for the start of a contraction such as 's. So a text costs what these
words cost, each by itself."""
_BLOCK_CHARS = 1 << 16
"""Characters of a text that are looked at at a time: its words take many times their room."""
_ENTRY_BYTES = 160
"""What a word takes in memory beside its letters."""
_MOST_BYTES = 6_000_000
"""What is remembered before a new start, and as much of the time before it. What comes again
mostly comes soon: four times as much is not faster (`python bench/trajectories.py`)."""

_Count: TypeAlias = Callable[[str], int]


class ByWords:
    """A counter that asks another one for words that it does not know yet.

    `count` gives the tokens of any text, `count_piece` those of one piece of ASCII as `split` parts
    a word, in less time. What is remembered is bounded, and several threads may count.
    """

    def __init__(
        self,
        name: str,
        count: _Count,
        count_piece: _Count,
        split: Split,
        *,
        most_bytes: int = _MOST_BYTES,
    ) -> None:
        """Take who counts what is new."""
        self.name = name
        self._count, self._count_piece = count, count_piece
        self._pieces_of = split.pieces.findall
        self._most = self._room = most_bytes
        self._known: dict[str, int] = {}
        """Words and pieces. It only grows, and then makes way for a new one: anyone who counts
        meanwhile keeps the old."""
        self._before: dict[str, int] = {}
        """What was known before that: what is asked for again is taken over."""

    def count(self, text: str) -> int:
        """Return the tokens of `text`."""
        return sum(map(self._count_words, _blocks(text)))

    def _count_words(self, words: list[str]) -> int:
        if self._room < 0:
            self._known, self._before, self._room = {}, self._known, self._most
        known = self._known
        try:
            return sum(map(known.__getitem__, words))
        except KeyError:
            self._learn(set(words).difference(known), known, self._count_pieces)
            return sum(map(known.__getitem__, words))

    def _learn(self, new: Iterable[str], known: dict[str, int], count: _Count) -> None:
        before, size = self._before.get, 0
        for text in new:
            found = before(text)
            known[text] = count(text) if found is None else found
            size += len(text) + _ENTRY_BYTES
        self._room -= size

    def _count_pieces(self, word: str) -> int:
        """Return the tokens of a new word; its pieces are mostly known."""
        if not word.isascii() or len(word) > _BLOCK_CHARS:
            return self._count(word)
        pieces, known = self._pieces_of(word), self._known
        try:
            return sum(map(known.__getitem__, pieces))
        except KeyError:
            self._learn(set(pieces).difference(known), known, self._count_piece)
            return sum(map(known.__getitem__, pieces))


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the words of a text, a block at a time."""
    find, start, size = WORDS.findall, 0, _BLOCK_CHARS
    while len(text) - start > size:
        words: list[str] = find(text, start, start + size)
        # the last one may go on behind the block
        rest = len(words.pop())
        if words:
            yield words
            start, size = start + size - rest, _BLOCK_CHARS
        else:
            size *= 2
    if start < len(text):
        yield find(text, start)


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
        (r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", "A-Z"),
        (r"\p{Ll}\p{Lm}\p{Lo}\p{M}", "a-z"),
        (r"\s\p{L}\p{N}", r"\sA-Za-z0-9"),
        (r"\r\n\p{L}\p{N}", r"\r\nA-Za-z0-9"),
        (r"\p{L}", "[A-Za-z]"),
        (r"\p{N}", "[0-9]"),
    ):
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
