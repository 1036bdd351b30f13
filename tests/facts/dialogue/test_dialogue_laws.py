"""What holds for every function over a message's text, whatever the text is."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.facts.dialogue.cues import language_of
from foldaway.facts.dialogue.statements import constraints, decisions
from foldaway.facts.rows import data_rows

PIECES = st.sampled_from((
    "never", "don't use tabs", "不要", "しないで", "하지 마세요", "لا تستخدم", "मत करो", "nunca",
    "?", "？", "؟", ".", "。", " ", "\n", "\r\n", "\t", "`", "```", "~~~", "because",
    "root cause is",
    "I'll use X instead of Y", "port is now 8081", "from 30 to 60", "set the", "version 1.2.3",
    "https://a.b/c?d=1", "$1,200", "May 22, 2024", "10:30 AM", "ZFA04Y", "john_doe_1234",
    "reservation IFOYYZ", "a@b.example", "deadbee1", "#12", "{", "}", "[", "]", "(", '"k": 1', "'",
    '"', "\\", ",", ":", "- ", "1. ", "**", "\x00", "\x1b[31m", "\ud800", "İ", "ß", "e.g. ", "|",
    "# ", "branch feat/x", "what is it", "can you do it", "x" * 400, "only",
))  # fmt: skip


def rules_in(text: str) -> list[str]:
    """Return the words of the rules in a text."""
    return [rule.text for rule in constraints(text)]


TEXTS = st.one_of(
    st.lists(PIECES, max_size=30).map("".join),
    st.lists(PIECES, max_size=30).map(" ".join),
    st.text(max_size=300),
    st.text(alphabet=st.characters(), max_size=200),
)


@given(TEXTS)
def test_what_is_quoted_stands_in_the_text(text: str) -> None:
    """Rules and decisions are pieces of the text, letter for letter."""
    found = [*rules_in(text), *decisions(text)]
    for piece in found:
        assert piece in text
        assert piece == piece.strip()
        assert piece


@given(TEXTS)
def test_results_are_bounded(text: str) -> None:
    """Counts and lengths have limits that no text can pass."""
    assert len(constraints(text)) <= 40
    assert len(decisions(text)) <= 24
    pieces = (*rules_in(text), *decisions(text))
    assert all(len(piece) <= 300 for piece in pieces)
    for most in (0, 1, 5):
        assert len(data_rows(text, most)) <= most


@given(TEXTS)
def test_nothing_stands_twice(text: str) -> None:
    """A sentence or a value is listed once."""
    for found in (rules_in(text), decisions(text)):
        assert len(set(found)) == len(found)


@given(TEXTS)
def test_the_strongest_rules_come_first(text: str) -> None:
    """In falling strength."""
    order = [-rule.strength for rule in constraints(text)]
    assert order == sorted(order)


@given(TEXTS)
def test_line_ends_do_not_matter(text: str) -> None:
    """A text with CRLF states the same rules as with LF."""
    plain = text.replace("\r", "")
    assert constraints(plain) == constraints(plain.replace("\n", "\r\n"))


READERS: dict[str, Callable[[str], object]] = {
    "constraints": constraints,
    "decisions": decisions,
    "data": lambda text: data_rows(text, 20),
    "language": language_of,
}
SIZE = 400_000
HOSTILE: dict[str, str] = {
    "question marks": "?", "spaced question marks": "? ", "questions": "why? ", "cues": "never ",
    "rules in one line": "never do it. ", "rules": "never do it\n", "idle": "i don't know ",
    "full stops": ".", "spaces": " ", "empty lines": "\n", "one word": "a", "digits": "1",
    "numbers": "1 ", "tabs": "\t1", "ticks": "`", "fences": "```\n", "schemes": "http://",
    "addresses": "http://a.b/c?d ", "Chinese": "不要", "Arabic": "لا تستخدم ", "hex": "abcdef0123",
    "words with marks": "a_", "verbs": "set the a b to ", "nouns": "port: ", "brackets": "[",
    "braces": '{"a":', "rows": "('x', 1), ", "surrogates": "\ud800", "NUL": "\0",
    "carriage returns": "\r", "quotes": '"', "apostrophes": "' ", "versions": "1.",
    "dates": "May 1 ",    "growing letters": "İ", "codes": "reservation ABCDEF ", "escapes": "['\\",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("part", [4, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", READERS)
def test_hostile_texts_take_linear_time(name: str, part: int) -> None:
    """Each letter costs about the same, however a text is made; two seconds is ten times that. A
    busy machine makes it slower, so the best of three counts."""
    for shape, piece in HOSTILE.items():
        text = piece * (SIZE // part // len(piece))
        assert any(_seconds(READERS[name], text) < 2 / part for _ in range(3)), shape


def _seconds(read: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    read(text)
    read(f"[{text}")
    return time.process_time() - started
