"""Words are found in every reading of a text, whatever spares looking at most of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foldaway.sessions.erased_words import Words, _read_folded, fold

PIECES = (
    "elm", "Road", "straße", "STRASSE", "ſs", "ﬁn", "fin", "K", "k", "é", "e\u0301", "的", "42",
    "-", '"', "/", " ", "\n", "\t", "\\", "\\n", "\\u0061", "\\u212A", "a", "n", "o", "_",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@given(st.lists(texts, min_size=1, max_size=3), st.lists(texts, max_size=3), st.integers(0, 3))
@example(["foobar"], ["fo\\obar"], 0)
def test_what_is_spared_has_none_of_the_words(
    sought: list[str], said: list[str], nested: int
) -> None:
    """What is found is what is in a reading: JSON within JSON, in any case and spelling."""
    held = " ".join([*said, *sought[:1]])
    for _ in range(nested):
        held = json.dumps(held, ensure_ascii=nested % 2 == 0)
    words = Words(sought)
    readings = list(_read_folded(held))
    wanted = {text for text in map(fold, sought) if text and any(text in one for one in readings)}
    assert words.among(held.encode()) == wanted
    assert words.holds(held.encode()) == bool(wanted)


@pytest.mark.parametrize("word", ["…", "的", "k"])
def test_a_word_of_one_sign_is_found(word: str) -> None:
    """Also one without letters."""
    assert Words([word]).holds(json.dumps({"content": f"so {word}"}).encode())
    assert not Words([word]).holds(b'{"said": "nothing"}')
