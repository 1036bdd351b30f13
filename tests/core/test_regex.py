"""A pattern that is compiled when it is first used."""

from __future__ import annotations

import re

import pytest
from tests.testing.rows import each_row

from foldaway._core.regex import Regex

CALLS = {
    "findall": ("a1b22",),
    "fullmatch": ("22",),
    "match": ("x7", 1),
    "search": ("a1b22", 2),
    "split": ("a1b22c",),
    "sub": ("-", "a1b22"),
}


@each_row("method", CALLS)
def test_its_methods_answer_as_those_of_a_compiled_pattern(method: str) -> None:
    """At the first call, and at later ones."""
    lazy, made = Regex(r"\d+"), re.compile(r"\d+")
    expected = getattr(made, method)(*CALLS[method])
    assert repr(getattr(lazy, method)(*CALLS[method])) == repr(expected)
    assert repr(getattr(lazy, method)(*CALLS[method])) == repr(expected)


def test_nothing_is_compiled_before_the_first_call() -> None:
    """So a pattern that cannot be compiled is told of at its first call."""
    broken = Regex("(")
    with pytest.raises(re.error):
        broken.search("x")


def test_after_the_first_call_the_methods_are_those_of_the_pattern() -> None:
    """No later call costs more than one of `re`."""
    lazy = Regex(rb"B", re.I)
    assert lazy.sub(b"x", b"abB", count=1) == b"axB"
    assert [found.start() for found in lazy.finditer(b"abB")] == [1, 2]
    assert lazy.search == re.compile(rb"B", re.I).search


def test_a_method_that_was_kept_works_on() -> None:
    """As in a loop that takes it before the first call."""
    search = Regex("b").search
    assert [search(text) is not None for text in ("ab", "a", "b")] == [True, False, True]
