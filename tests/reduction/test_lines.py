"""Escape codes, line ends and progress bars; many literals in one pass; JSON without its spaces."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.reduction.lines import Signs, plain, without_spaces


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;https://a.invalid\x07link\x1b]8;;\x07", "link"),
        ("\x1b(B\x1b[?25l text", " text"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("kept\r", "kept"),
        ("\x1b", "\x1b"),
        ("plain", "plain"),
    ],
)
def test_text_is_as_a_terminal_leaves_it(given_: str, shown: str) -> None:
    """No codes, line feeds alone, what was overwritten is gone."""
    assert plain(given_) == shown


@given(st.text(st.sampled_from("ab\x1b[];0m\x07\\\r\n"), max_size=60))
def test_the_number_of_lines_stays(text: str) -> None:
    """Only line feeds part lines, and none comes or goes."""
    assert plain(text).count("\n") == text.count("\n")


LITERALS = ("rror", "error", "ERR", "not ok ", "fatal", "a", "r")
SIGNS = Signs(LITERALS)
TEXTS = st.lists(
    st.sampled_from((*LITERALS, " ", "é", "\ud800", "x", "not ", "ok", "er", "ror")), max_size=12
).map("".join)


@given(text=TEXTS | st.text(st.characters(), max_size=80))
def test_the_same_as_looking_for_each(text: str) -> None:
    """Also where one stands inside another, and in text that cannot be encoded."""
    assert SIGNS.held(text) == {place for place, sign in enumerate(LITERALS) if sign in text}
    assert SIGNS.any_in(text) == any(sign in text for sign in LITERALS)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("ab \"\\\n\t", max_size=4), inner),
)  # fmt: skip


@given(VALUES, st.sampled_from((None, 0, 2, "\t")), st.booleans())
def test_the_value_and_every_token_stay(value: Any, indent: int | str | None, plain: bool) -> None:
    """The same value, the same tokens letter for letter, no space between them; twice is once."""
    text = json.dumps({"value": value, "more": "x" * 40}, indent=indent, ensure_ascii=plain)
    made = without_spaces(text)
    assert repr(json.loads(made)) == repr(json.loads(text))
    assert tokens(made) == tokens(text)
    assert "".join(tokens(made)) == made
    assert without_spaces(made) == made


def tokens(text: str) -> list[str]:
    return re.findall(r'"(?:[^"\\]|\\.)*"|[^\s"]', text, re.DOTALL)


@pytest.mark.parametrize(("given_", "made"), [
    ('{"a": 1.0, "b": 1e5, "a": 12345678901234567890123456789}',
     '{"a":1.0,"b":1e5,"a":12345678901234567890123456789}'),
    ('[ "a  b\\" : , ", "\\u00e9\\/", "\t", 1, 2, 3, 4, 5 ]', None),
    ('\n[ "a  b\\" : , ", "\\u00e9\\/",\r\n 1, 2, 3, 4, 5 ]\n',
     '["a  b\\" : , ","\\u00e9\\/",1,2,3,4,5]'),
    ('{"a": 1, "b": 2} and then some more words', None),
    ('{"a": 1, "b": NaN, "c": "some more words"}', None),
    ('{"a": 1, "b": 2, "c": "some more words"', None),
    ('"a text that is JSON, with  spaces in it"', None),
    ('Exit code 0\n{"a": 1, "b": 2, "c": "some more"}', None),
    ('{"a": "\ud800", "b": 2, "c": "some more words"}', None),
    ("[" * 1_000_000 + " " + "]" * 1_000_000, None),
])  # fmt: skip
def test_numbers_keys_and_strings_are_slices_of_the_source(given_: str, made: str | None) -> None:
    """Keys that stand twice too. What is not JSON as a whole is left alone."""
    assert without_spaces(given_) == (given_ if made is None else made)


def test_a_long_text_is_read_once() -> None:
    """Ten megabytes of one string, and of nothing but escapes."""
    text = json.dumps(["x" * 5_000_000, '"\\' * 1_250_000], indent=4)
    assert len(without_spaces(text)) == len(text) - 11
