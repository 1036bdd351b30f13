"""The engine: what the package keeps to itself gives what it promises."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import re2 as untyped_re2  # pyright: ignore[reportMissingTypeStubs]
from hypothesis import given
from hypothesis import strategies as st

from foldaway.redaction.matching import Automaton, Pattern, PatternSet, inner_calls, public_calls

re2 = cast("Any", untyped_re2)
PATTERNS = (r"a+(?P<value>b*)", r"(?m)(?:^|x)(\d+)|(z)", r"token=\S+")


@pytest.mark.parametrize("pattern", PATTERNS)
@given(st.lists(st.sampled_from([b"a", b"b", b"1", b"x", b"\n", b"token=", b" "]), max_size=12))
def test_both_ways_to_call_the_engine_give_the_same(pattern: str, pieces: list[bytes]) -> None:
    """A release without the private call is slower and finds the same."""
    made = re2.compile(pattern.encode())
    data = b"".join(pieces)
    inner = inner_calls(made)
    assert inner is not None
    for one, other in zip(inner, public_calls(made), strict=True):
        for pos in range(len(data) + 1):
            found, again = one(data, pos, len(data)), other(data, pos, len(data))
            assert again == (found if found[0] != (-1, -1) else [(-1, -1)])


def test_a_release_without_the_private_call_is_noticed() -> None:
    """Where the attribute is missing, or answers otherwise, the public call is taken."""
    assert inner_calls(SimpleNamespace(groups=0)) is None
    for answer in (None, (), [], [(-1, -1)]):

        def match(*_: object, answer: object = answer) -> object:
            return answer

        odd = SimpleNamespace(Match=match)
        assert inner_calls(SimpleNamespace(groups=1, _regexp=odd)) is None


def test_a_pattern_is_matched_in_place_and_within_its_bounds() -> None:
    """Nothing is read past the end that is given, and what stands before counts as context."""
    pattern = Pattern(r"b+")
    assert pattern.at(b"abbbc", 0) is None
    assert pattern.at(b"abbbc", 1, 3) == [(1, 3)]
    assert pattern.after(b"abbbc", 0) == [(1, 4)]
    assert [found[0] for found in pattern.all(b"b bb b")] == [(0, 1), (2, 4), (5, 6)]


def test_the_first_of_several_patterns_wins() -> None:
    """A text that two patterns match belongs to the earlier one; all of it must match."""
    ways = PatternSet([r"\d{3}", r"[0-9a]{3}", r"x.*"])
    assert [ways.first(text) for text in (b"123", b"12a", b"xyz", b"12", b"")] == [
        0, 1, 2, None, None,
    ]  # fmt: skip


def test_literals_are_found_in_any_case_also_where_they_overlap() -> None:
    """One pass finds all of them, ordered by their ends."""
    assert Automaton([b"abc", b"bc"]).hits(b"xABCx") == [(0, 1, 4), (1, 2, 4)]
