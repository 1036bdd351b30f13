"""A text costs what its words cost: for every split that is known, whatever the text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foldaway.trajectories.tokenizer_file import GPT2, SPLITS, WORDS, ByWords, Split

tokenizers: Any = pytest.importorskip("tokenizers", reason="needs foldaway[trajectories]")

_ODD = (
    "aZsStTlLvVrReEmMdD09 \t\n\r\v\f\x1c\x1f\x7f\0'\"_-/\\.,:{}<>|`~"
    "éßſK\u0301\u05d0\u4e2d\u0e01\u00a0\u0085\u1680\u180e\u2003\u2028\u202f\u3000\ufeff²Ⅷ٣ǅʰ😀’"
)
TEXTS = st.one_of(
    st.text(st.sampled_from(_ODD), max_size=60),
    st.text(max_size=30),
    st.lists(
        st.sampled_from(["don't", "DON'T", "it'ſ", " foo", "\n\n  bar()", "\r\n", "x = 'y'", "42",
                         '{\\"a\\": 12345}', "naïve", "e\u0301\n", " \n \n", "HTMLParser", "-/\n"])
    ).map("".join),
)  # fmt: skip
SPLIT = pytest.mark.parametrize("split", SPLITS.values(), ids=["gpt2", "cl100k", "qwen2", "o200k"])


def _edges(pieces: list[str]) -> Iterator[int]:
    return itertools.accumulate(map(len, pieces), initial=0)


def _pieces(split: Split, text: str) -> list[str]:
    """Return the pieces as the package finds them."""
    return [piece for piece, _ in _PARTS[split.regex].pre_tokenize_str(text)]


_PARTS = {
    regex: tokenizers.pre_tokenizers.Split(tokenizers.Regex(regex), "isolated") for regex in SPLITS
}


@SPLIT
@given(text=TEXTS)
@example(text="a\u0301 b!\u0301\n \n'S")
def test_words_are_made_of_whole_pieces(split: Split, text: str):
    """The words together are the text, and the pieces of each by itself are the text's."""
    words = WORDS.findall(text)
    assert "".join(words) == text
    assert set(_edges(words)) <= set(_edges(_pieces(split, text)))
    assert [piece for word in words for piece in _pieces(split, word)] == _pieces(split, text)


@SPLIT
@given(text=TEXTS)
def test_the_pieces_of_ascii_are_found_as_the_package_finds_them(split: Split, text: str):
    """Pattern for pattern, control characters too."""
    clean = text.encode("ascii", "replace").decode()
    assert split.pieces.findall(clean) == _pieces(split, clean)


@SPLIT
def test_every_character_of_ascii_between_others(split: Split):
    """Alone and doubled, before and after a letter, a digit, a space, a line break, a sign."""
    around = ("", "a", "7", " ", "\n", "'", "-", "é")
    for code, before, after in itertools.product(range(128), around, around):
        text = f"{before}{chr(code)}{after}"
        text = f"{text} {text * 2}"
        assert set(_edges(WORDS.findall(text))) <= set(_edges(_pieces(split, text)))
        if text.isascii():
            assert split.pieces.findall(text) == _pieces(split, text)


WHOLE = Split("", re.compile("(?s).+"))
"""A word is one piece."""


class Letters:
    """A word costs its letters, whichever way it is asked; what was asked is noted."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        """Return the letters of `text`."""
        self.asked.append(text)
        return len(text)


@given(st.lists(st.text(st.sampled_from("ab1 -é"), max_size=200), max_size=30))
def test_counts_are_right_whatever_was_forgotten(texts: list[str]):
    """With room for a few words."""
    counter = ByWords("letters", len, len, GPT2, most_bytes=900)
    for text in texts:
        assert counter.count(text) == len(text)


def test_what_was_not_asked_for_lately_is_forgotten():
    """Room for 100 words of some 160 bytes: of 1,000 others the first one is pushed out, but not
    where it comes again every now and then."""
    letters = Letters()
    counter = ByWords("letters", letters.count, letters.count, WHOLE, most_bytes=17_000)
    for number in range(1_000):
        counter.count(f"again w{number}")
    assert letters.asked.count("again") == 1
    letters.asked.clear()
    assert counter.count("again w0 w999") == len("again w0 w999")
    assert letters.asked == [" w0"]


def test_a_word_is_asked_once_and_its_pieces_are_not_asked_again():
    """`(foo` and `foo` share a piece."""
    letters = Letters()
    counter = ByWords("letters", letters.count, letters.count, GPT2)
    assert counter.count("foo (foo (foo") == 13
    assert sorted(letters.asked) == [" (", "foo"]
    letters.asked.clear()
    assert counter.count("(foo foo") == 8
    assert sorted(letters.asked) == [" foo", "("]


@given(st.integers(0, 3), st.text(st.sampled_from("a b-é'"), max_size=40))
def test_long_texts_are_looked_at_in_blocks(times: int, text: str):
    """Wherever a block ends, no word is cut; a word that is longer than a block is one word."""
    letters = Letters()
    long = (text + "word " * 20) * (700 * times) + "-" * 70_000 * times + text
    assert ByWords("letters", letters.count, letters.count, WHOLE).count(long) == len(long)
    assert set(letters.asked) == set(WORDS.findall(long))


def test_threads_may_count_at_the_same_time():
    """Records that wait for a model are worked on side by side."""
    counter = ByWords("letters", len, len, GPT2, most_bytes=5_000)
    texts = [" ".join(f"w{number % (at + 7)}" for number in range(300)) for at in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(counter.count, texts)) == list(map(len, texts))
