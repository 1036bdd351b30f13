"""A value that nobody can use gets an error that says where it is and what to give instead."""

from __future__ import annotations

import datetime
import math
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway import Redactor, check, convert, dump, load, redact, repair
from foldaway.errors import FoldawayError, InvalidSetting, NotReadable, UnknownName
from foldaway.redaction import RedactionPolicy, SecretRule

SAID = [{"role": "user", "content": "hello"}]


class Unfriendly:
    """Nothing can be asked of it."""

    def __len__(self) -> int:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def nested(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def loop() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=20),
    st.sampled_from([10**400, "\ud800", 1j, Decimal(1), datetime.date.min, len, dict, math]),
    st.builds(Unfriendly),
    st.builds(loop),
    st.builds(nested, st.sampled_from([3, 100_000])),
    st.builds(object),
    st.sets(st.integers(), max_size=2),
    st.builds(deque, st.just(SAID)),
    st.builds(bytearray, st.just(b"[]")),
    st.builds(memoryview, st.just(b"[]")),
    st.builds(iter, st.just(SAID)),
    st.just(load(SAID)),
)
KEYS = st.sampled_from(
    ["role", "content", "messages", "input", "contents", "tool_calls", "type", "parts", "from", 1]
)
JUNK = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(KEYS, inner, max_size=3),
        st.tuples(inner, inner),
        st.fixed_dictionaries({"role": st.just("user"), "content": inner}).map(lambda one: [one]),
        st.fixed_dictionaries({"role": st.just("assistant"), "tool_calls": inner}).map(
            lambda one: [*SAID, one]
        ),
    ),
    max_leaves=6,
)
CALLS: dict[str, Callable[[Any], object]] = {
    "load": load,
    "load, dialect": lambda value: load(SAID, dialect=value),
    "check": check,
    "check, provider": lambda value: check(SAID, provider=value),
    "check, dialect": lambda value: check(SAID, dialect=value),
    "repair": repair,
    "repair, provider": lambda value: repair(SAID, provider=value),
    "convert": lambda value: convert(value, "anthropic"),
    "convert, to": lambda value: convert(SAID, value),
    "convert, dialect": lambda value: convert(SAID, "gemini", dialect=value),
    "dump": dump,
    "redact": redact,
    "Redactor": Redactor,
    "Redactor.redact": lambda value: Redactor().redact(value),
    "Redactor.stream": lambda value: Redactor().stream().feed(value),
    "RedactionPolicy.key": lambda value: Redactor(RedactionPolicy(key=value)),
    "RedactionPolicy.keep": lambda value: Redactor(RedactionPolicy(keep=value)),
    "RedactionPolicy.without": lambda value: Redactor(RedactionPolicy(without=value)),
    "RedactionPolicy.rules": lambda value: Redactor(RedactionPolicy(rules=value)),
    "RedactionPolicy.personal": lambda value: Redactor(RedactionPolicy(personal=value)),
}


def refusal(call: Callable[[Any], object], value: Any) -> FoldawayError | None:
    try:
        call(value)
    except FoldawayError as error:
        return error
    return None


@each_row("name", list(CALLS))
@given(JUNK)
def test_no_value_breaks_a_public_function(name: str, value: Any) -> None:
    """It is taken, or refused in one sentence that says what to do; nothing else is raised."""
    if (error := refusal(CALLS[name], value)) is not None:
        assert 10 < len(str(error)) < 2_000
        assert not isinstance(error, NotReadable) or error.remedy


@each_row(
    "value, where",
    [
        ([*SAID, {"role": "user", "content": object()}], "$[1].content"),
        ([{"role": "user", "content": [{"type": "text", "text": b"x"}]}], "$[0].content[0].text"),
        ({"messages": [*SAID, {"role": {1, 2}}]}, "$.messages[1].role"),
        ([{"role": "user", 3: "x"}], "$[0]"),
        ([{"role": "user", "content": math.nan}], "$[0].content"),
        (deque([{"role": "user", "content": (1, math.inf)}]), "$[0].content[1]"),
    ],
)
@each_row("call", [load, check, repair, lambda value: convert(value, "gemini")])
def test_the_error_names_the_place_in_the_value(
    value: Any, where: str, call: Callable[[Any], object]
) -> None:
    """As a JSON path, so that it is found in a list of a thousand messages."""
    with pytest.raises(NotReadable) as found:
        call(value)
    assert found.value.where == where
    assert where in str(found.value)


@each_row(
    "call, value, kind, words",
    [
        (convert, "sharegpt,gemini", UnknownName, "unknown dialect 'sharegpt,gemini'; known: open"),
        ("convert, to", [], UnknownName, "unknown dialect of type list; known: openai-chat"),
        ("load, dialect", [], UnknownName, "unknown dialect of type list"),
        ("check, provider", {}, UnknownName, "unknown provider of type dict"),
        ("load", "[]", NotReadable, "parse the JSON first"),
        ("load", b"[]", NotReadable, "parse the JSON first"),
        ("load", load(SAID), NotReadable, "dump() it first"),
        ("dump", SAID, NotReadable, "is of type list, not a transcript; give what load() returned"),
        ("redact", b"key", NotReadable, "is of type bytes, not a text; decode it first"),
        ("redact", ["key"], NotReadable, "is of type list, not a text; redact each text of it"),
        ("Redactor.stream", "key", NotReadable, "is of type str, not bytes; encode it first"),
        ("Redactor", {"key": "x"}, InvalidSetting, "policy is of type dict; give a RedactionPolic"),
        ("RedactionPolicy.key", 3, InvalidSetting, "key is of type int; it must be a text"),
        ("RedactionPolicy.keep", 3, InvalidSetting, "keep is of type int; it must be a list of"),
        ("RedactionPolicy.rules", ["x"], InvalidSetting, "list; it must be a list of SecretRule"),
    ],
)
def test_a_wrong_value_is_refused_in_these_words(
    call: Any, value: Any, kind: type[FoldawayError], words: str
) -> None:
    """What it is, and what to give instead."""
    ask = CALLS[call] if isinstance(call, str) else lambda one: convert(SAID, one)
    with pytest.raises(kind) as found:
        ask(value)
    assert words in str(found.value)


def test_a_rule_of_ones_own_is_still_taken() -> None:
    """What refuses junk does not refuse what is right."""
    rule = SecretRule(name="acme-key", anchors=("acme_",), pattern="acme_[a-z0-9]{8}")
    for rules in ((rule,), [rule], {rule.name: rule}.values()):
        policy = RedactionPolicy(rules=cast("Any", rules), keep="email", without=iter(()))
        assert "acme_" not in Redactor(policy)("acme_1x2y3z4w")
