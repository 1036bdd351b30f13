"""Where terms stand in a text."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.search.query import parse_query, split_terms
from foldaway.search.text import clean
from foldaway.search.words import flatten, has_term, places

texts = st.text(st.characters(), max_size=80) | st.text("aàÀéẞßİıΣς中ｆＦ \n_.-'", max_size=80)


@given(texts)
def test_every_character_keeps_its_place(text: str) -> None:
    """Small letters without accents are as many as before, whatever a letter folds to."""
    assert len(flatten(text)) == len(text)


@given(texts, texts)
def test_places_are_in_the_text_and_in_order(text: str, query: str) -> None:
    """A term has a place exactly where the text holds it."""
    text = clean(text)
    for term in parse_query(query).terms:
        found = list(places(text, flatten(text), term))
        assert all(0 <= start < stop <= len(text) for start, stop in found)
        assert found == sorted(found)
        if term.kind != "substring":
            assert bool(found) == has_term(text, term)


@given(texts, st.data())
def test_a_substring_is_held_in_any_case(text: str, data: st.DataObject) -> None:
    """As it stands, and in capitals where it is ASCII."""
    text = clean(text)
    start = data.draw(st.integers(0, max(len(text) - 1, 0)))
    piece = text[start : start + 5]
    if not piece.strip() or '"' in piece:
        return
    [term] = parse_query(f'"{piece}"').terms
    assert has_term(text, term)
    if piece.isascii():
        [loud] = parse_query(f'"{piece.upper()}"').terms
        assert has_term(text, loud)


@each_row(
    ("query", "pieces"),
    [
        ("配置文件", ["配置", "置文", "文件"]),
        ("配置", ["配置"]),
        ('"配置文件"', ["配置文件"]),
        ("foo_bar.py", ["foo_bar.py"]),
    ],
)
def test_runs_without_blanks_are_parted(query: str, pieces: list[str]) -> None:
    """In twos; what was quoted and what has blanks stays whole."""
    assert [term.text for term in split_terms(parse_query(query).terms)] == pieces


@each_row("piece", ["a", "ab ", "é", "_", "foo.", "中"])
def test_looking_is_linear(piece: str) -> None:
    """Many near misses in a long text cost no more than its length."""
    text = piece * (400_000 // len(piece))
    start = time.process_time()
    for term in parse_query('aab abc "a a b" foo.bar éé ab* _a').terms:
        has_term(text, term)
    assert time.process_time() - start < 3
