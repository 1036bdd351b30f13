"""Names, paths and numbers in a text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.facts.ledger.lines import runs_of, terms_of

PIECES = st.sampled_from((
    "src/app.py", "max_retries", "camelCase", "8081", "v1.2.3", "--dry-run", "HTTP", "#12", "word",
    "a-b-c", "https://a.example/x?y=1", "~/.config", "@scope/pkg", "$HOME", "...", "--", "é_é",
    "文件_名", " ", "\n", "\t", ",", "(", ")", '"', "\x00", "\ud800", "x" * 130,
))  # fmt: skip
TEXTS = st.one_of(
    st.lists(PIECES, max_size=30).map("".join),
    st.lists(PIECES, max_size=30).map(" ".join),
    st.text(st.characters(), max_size=200),
)


@given(text=TEXTS, most=st.integers(1, 70))
def test_a_term_stands_in_the_text_once(text: str, most: int) -> None:
    """Terms are pieces of the text, different ones, at most so many, in their order."""
    found = terms_of(text, most)
    assert len(found) <= most
    assert len(set(found)) == len(found)
    assert all(term in text and 2 < len(term) <= 120 for term in found)


@given(text=TEXTS)
def test_fewer_terms_are_the_first_of_more(text: str) -> None:
    """A smaller bound gives a shorter start of the same list."""
    assert terms_of(text, 3) == terms_of(text, 60)[:3]


@each_row(("text", "terms"), [
    ("Fix src/app.py please.", ("src/app.py",)),
    ("set max_retries to 500", ("max_retries", "500")),
    ("call loadUser() and HTTP", ("loadUser",)),
    ("see https://a.example/x.", ("https://a.example/x",)),
    ("run it with --dry-run, twice 12", ("dry-run",)),
    ("plain words only, nothing else", ()),
    ("", ()),
])  # fmt: skip
def test_words_of_a_language_are_no_terms(text: str, terms: tuple[str, ...]) -> None:
    """What has a path, a name in code or a number in it is one; small numbers are not."""
    assert terms_of(text) == terms


HOSTILE = ("a", "a-", "a-b", "-", "--", "/", "1", "aB", "é", "a.b", "$", "~", "http://", "\ud800",
           "\x00", " ", "a b ", "_", f"x-{'b' * 5_000}", "a_b\n", "#", ".")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    """Half a million letters in one word or in very many; two seconds is ten times that."""
    text = piece * (500_000 // len(piece))
    started = time.process_time()
    terms_of(text)
    terms_of(f"{text}!")
    assert time.process_time() - started < 2


@given(text=TEXTS | st.text(st.sampled_from("a中…→│ \n\ud800٣"), max_size=40))
def test_a_text_in_any_alphabet_is_parted_sign_by_sign(text: str) -> None:
    """Letters, digits and the signs of names stay, whatever else is in the text."""
    stay = "_$.@/~+:#-\n"
    kept = [sign if sign.isalnum() or sign in stay else " " for sign in text]
    assert runs_of(text) == "".join(kept)
