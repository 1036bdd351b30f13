"""Words are found in every reading of a text, whatever spares looking at most of them."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foldaway.sessions.erased_words import Words, _read_folded, fold

PIECES = (
    "elm", "Road", "straße", "STRASSE", "ſs", "ﬁn", "fin", "K", "k", "é", "e\u0301", "的", "42",
    "-", '"', "/", " ", "\n", "\t", "\\", "\\n", "\\u0061", "\\u212A", "\\u0301", "\\u005c",
    "a", "n", "o", "_",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@given(st.lists(texts, min_size=1, max_size=3), st.lists(texts, max_size=3), st.integers(0, 3))
@example(["foobar"], ["fo\\obar"], 0)
@example(["cafe"], ["cafe\\\u0301"], 0)
@example(["u51fa这"], ["\\\\u51fa\\u8fd9"], 0)
@example(["出这"], ["\\u005cu51fa\\u8fd9"], 0)
@example(["出"], ["\uf9ff \\uf9ff"], 0)
@example(["這"], ["\ufa00"], 0)
@example(["é"], ["e\\u0301"], 0)
@example(["😀"], ["\\ud83d\\ude00"], 0)
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
    others = [b"", b'{"said": "elm \\u7684"}', "的\n".encode()]
    sifted = set(words.sift([*others, held.encode(), *others]))
    assert len(others) in sifted or not wanted
    assert all(at in sifted for at, one in enumerate(others) if words.holds(one))


def test_what_has_nothing_of_the_words_is_not_looked_into() -> None:
    """Whatever else it has; a word in one of several tells which."""
    others = [b'{"said": "a\\nb"}', '{"said": "的 elm"}'.encode(), b'"\\u7684\\n"', b"", b"road"]
    assert list(Words(["Elm-Straße 4"]).sift([*others, b'"ELM-STRASSE 4"', *others])) == [5]
    assert list(Words(["了的"]).sift([*others, b'"\\u4e86\\u7684"', *others])) == [5]
    assert list(Words([]).sift(others)) == []


@pytest.mark.parametrize("word", ["…", "的", "k"])
def test_a_word_of_one_sign_is_found(word: str) -> None:
    """Also one without letters."""
    assert Words([word]).holds(json.dumps({"content": f"so {word}"}).encode())
    assert not Words([word]).holds(b'{"said": "nothing"}')


@pytest.mark.slow
def test_no_other_sign_is_folded_to_what_is_looked_for() -> None:
    """Every code of Unicode is kept as it is, or is one of those that are always looked into."""
    plain = re.compile(r"[!-~\u4e00-\u9fff]")
    for char in map(chr, (*range(0x80, 0xD800), *range(0xE000, 0x110000))):
        if plain.search(fold(char)) and fold(char) != char:
            assert list(Words(["zzz"]).sift([char.encode()])) == [0], hex(ord(char))
            assert list(Words(["zzz"]).sift([json.dumps(char).encode()])) == [0], hex(ord(char))
