"""The piece of a text that is shown."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from foldaway.search.query import parse_query
from foldaway.search.text import Snippet, snippet

words = st.sampled_from(
    ("alpha", "beta", "Gamma-ray", "foo_bar.py", "中文", "é", "e\u0301", "\n", "\x1b[1m", "👩‍👩‍👧",
     "🇩🇪🇫🇷", "\u202e", "\x07", "\ud800", "x" * 90, "the")
)  # fmt: skip
texts = st.lists(words, max_size=80).map(" ".join) | st.text(st.characters(), max_size=600)


def of(text: str, query: str, most: int = 60) -> Snippet:
    """Return the snippet for a query."""
    return snippet(text, parse_query(query).terms, most)


@given(texts, texts, st.integers(8, 300))
def test_a_snippet_is_a_short_clean_line(text: str, query: str, most: int) -> None:
    """Bounded, without control characters, its marks in order and within it."""
    found = of(text, query, most)
    assert len(found.text) <= most
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in found.text)
    assert not any(char in "\u202e\u2066" for char in found.text)
    end = 0
    for start, stop in found.marks:
        assert end <= start < stop <= len(found.text)
        end = stop


def test_it_shows_the_place_with_most_terms() -> None:
    """One term early, two together late: the late place is shown and marked."""
    text = "cache " + "filler " * 100 + "the cached lease expired " + "filler " * 100
    found = of(text, "cache lease")
    assert [found.text[start:stop] for start, stop in found.marks] == ["cached", "lease"]
    assert not found.starts
    assert not found.ends


def test_forms_of_a_word_are_marked() -> None:
    """What matched by its stem or without its accent is marked as it stands."""
    found = of("Painting in a Café, painted twice", "paint cafe")
    assert [found.text[start:stop] for start, stop in found.marks] == [
        "Painting",
        "Café",
        "painted",
    ]


def test_substrings_and_phrases_are_marked_as_they_stand() -> None:
    """Letter case aside; a phrase across a line end is one mark."""
    found = of("see SRC/Foo_Bar.py: connection\nrefused", 'foo_bar.py "connection refused"')
    assert [found.text[start:stop] for start, stop in found.marks] == [
        "Foo_Bar.py", "connection refused",
    ]  # fmt: skip


def test_what_a_reader_sees_as_one_is_not_parted() -> None:
    """Accents, joined emoji and flags stay with their base at both ends."""
    for cluster in ("e\u0301\u0302", "👩‍👩‍👧", "🇩🇪", "👍🏽"):
        for most in range(20, 30):
            shown = of(cluster * 40 + "needle" + cluster * 40, '"needle"', most).text
            before, _, after = shown.partition("needle")
            assert before == cluster * (len(before) // len(cluster))
            assert after == cluster * (len(after) // len(cluster))


def test_without_a_place_it_is_the_beginning() -> None:
    """A message that was found by its neighbours shows how it begins."""
    assert of("one two three", "zebra") == Snippet("one two three")
