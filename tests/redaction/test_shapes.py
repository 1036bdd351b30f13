"""Shapes without a literal: quicker ways to look for them find the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway.redaction import Redactor
from foldaway.redaction.examples import load_examples
from foldaway.redaction.matchers import RuleMatcher
from foldaway.redaction.policy import RedactionPolicy, SecretRule
from foldaway.redaction.rules import built_in_rules, select_rules
from foldaway.redaction.shapes import REACH, Shapes

USED = [rule for rule in select_rules(built_in_rules()) if not rule.anchors]
SHAPES = Shapes([RuleMatcher(rule, "", rank) for rank, rule in enumerate(USED)])
PLAIN = Shapes([RuleMatcher(replace(rule, pivot=""), "", rank) for rank, rule in enumerate(USED)])
EXAMPLES = [
    "".join(text).encode()
    for rule in USED
    for text in (*load_examples()[rule.name].true, *load_examples()[rule.name].false)
]
RUNS = (b"a", b"A9", b"a+", b"0", b"/b", b"a.%", b"x-y_")
PIECES = st.one_of(
    st.sampled_from(EXAMPLES),
    st.sampled_from(
        (b"@", b"==", b"=", b"+", b" ", b"\n", b":", b"(", b'"', b"@b.cc", b":p4ss@h.st:80 ",
         b"+12345678", b"123-45-6789", b"+4111111111111111", b'"card_id": "4111111111111111',
         b"AC12", b"abc_", b"\\n", b"//"),
    ),
    st.tuples(st.sampled_from(RUNS), st.sampled_from((1, 16, 31, 43, 63, 64, 65, 86, 300))).map(
        lambda run: (run[0] * run[1])[: run[1]]
    ),
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=20).map(b"".join)


def places(shapes: Shapes, data: bytes) -> list[tuple[int, int]]:
    found = list[tuple[int, int]]()
    scan = shapes.places(data)
    assert scan is not None
    while (place := scan.after(found[-1][1] if found else 0)) is not None:
        found.append(place)
    return found


@given(TEXTS)
@settings(deadline=None)
@example(b" " + b"a" * 65 + b"@b.cc")
@example(b"(" + b"a+" * 200 + b"+12345678@b.cc")
@example(b"(4111111111111111+4111111111111111+" + b"a" * 60 + b"== 123-45-6789")
@example(b"+" + b"a" * 40 + b"+" + b"Ab9/" * 21 + b"xy==")
@example(b"+a@b.cc\na+a@b.cc+a@b.cca@b.cc")
@example(b"AC12 123-456-7890@b.cc+12345678:p4ss@h.st:80 ")
@example(b" 4111111111111111@b.cc,4111111111111111:p4ss@h.st:80 ")
def test_a_rule_found_by_its_pivot_has_the_places_of_its_pattern(data: bytes) -> None:
    """No place is lost, none is added, and each reaches as far."""
    assert places(SHAPES, data) == places(PLAIN, data)


@given(TEXTS)
@settings(deadline=None)
@example(b'"card_abcdefghijklmnopqrstuv1234567890123-')
@example(b"((123) 456-7890\n(123) 456-7890\n+1 234 567 8901\na@b.cc\n4111111111111111")
@example(b' "card_id": "9876543210987" ')
def test_the_value_of_a_place_is_what_its_pattern_says(data: bytes) -> None:
    """Where the value is told without a match, a match would tell the same."""
    for start, end in places(SHAPES, data):
        hit = SHAPES.at(data, start, end)
        if hit is not None:
            one, whole, value = hit
            found = one.pattern.at(data, whole[0], end)
            assert found is not None
            assert (found[0], found[one.group]) == (whole, value)


@each_row("rule", USED, ids=lambda rule: rule.kind)
def test_no_shape_is_longer_than_what_is_read(rule: SecretRule) -> None:
    """One more stands before it."""
    parser = cast("Any", import_module("re._parser"))
    _, longest = parser.parse(re.sub(r"\\z", r"\\Z", rule.pattern)).getwidth()
    assert longest + 1 <= REACH


@pytest.mark.parametrize("size", [50_000, pytest.param(200_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    ("piece", "end"),
    [
        ("a+", "@b.cc"), ("+4111111111111111", "=="), ("+123-45-6789", "@b.cc"),
        ("+" + "a" * 32 + "==", ""), (" " + "a" * 65 + "@b.cc", ""), ("a+", ":p4ss@b.cc:80 "),
    ],
)  # fmt: skip
def test_what_is_almost_a_shape_costs_in_proportion(
    piece: str, end: str, size: int, assert_proportion: Callable[..., None]
) -> None:
    """Four times as much of it takes about four times as long, and not sixteen."""
    redactor = Redactor(RedactionPolicy(key="test"))
    short, long = [piece * (times * size // len(piece)) + end for times in (1, 4)]
    assert_proportion(partial(redactor, short), partial(redactor, long), times=8, plus=0.02)
