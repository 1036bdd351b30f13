"""A `tokenizers` file as a counter: by words where it parts texts in a way that is known."""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from holdfast.trajectories.by_words import ByWords
from holdfast.trajectories.splits import GPT2, SPLITS, Split


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
    """Return a counter by words where the file does nothing by which a text could cost other than
    its words; by the tokenizer otherwise.
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
    """Return what finds the tokens, where several begin at one place the longest."""
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
    """Whether it is looked for in normalised text, and after those of which it is not so."""
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
    stands before it.
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
    stand for half a surrogate pair.
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
