"""Arguments that were cut: the note is never taken for somebody's words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldaway.facts.frame import GAP, before_note


@given(st.text(), st.integers(0, 50), st.sampled_from(["", ": fa-0123456789"]))
def test_a_note_is_taken_off_with_the_word_that_it_may_have_cut(
    text: str, most: int, where: str
) -> None:
    """What is left are whole words from the start of the text, also before a gap."""
    long = text.replace("[", "(") + "x" * (most + 1)
    words = long[:most].split()
    for mark in (f"… [12 more characters{where}]", f"{GAP} and more", "[… fa-0123456789]"):
        left = before_note(long[:most] + mark)
        assert long[:most].startswith(left)
        assert left.split() in (words, words[:-1])


@given(st.text())
def test_a_text_without_a_note_is_as_it_was(text: str) -> None:
    """Also one that ends like something else in brackets."""
    text = text.replace("[", "(")
    for one in (text + ".", text + " [5 more]", text + "… [many more characters]"):
        assert before_note(one) is one
