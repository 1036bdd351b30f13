"""Every rule beside its true and its false examples."""

from __future__ import annotations

import json

import pytest
import regex

from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.redaction.gates import GATES
from holdfast.redaction.matching import Pattern
from holdfast.redaction.rule import Rule
from holdfast.redaction.rules.chosen_examples import FALSE as CHOSEN_FALSE
from holdfast.redaction.rules.chosen_examples import TRUE as CHOSEN_TRUE
from holdfast.redaction.rules.field_examples import FALSE, TRUE
from holdfast.redaction.rules.manifest_examples import FALSE as MANIFEST_FALSE
from holdfast.redaction.rules.manifest_examples import TRUE as MANIFEST_TRUE
from holdfast.redaction.rules.registry import RULES
from holdfast.redaction.rules.wrap_examples import FALSE as WRAPPED_FALSE
from holdfast.redaction.rules.wrap_examples import TRUE as WRAPPED_TRUE

EVERYTHING = Redactor(RedactionPolicy(key="test", mentions=True))


NAMED = [pytest.param(rule, id=f"{rule.kind}-{number}") for number, rule in enumerate(RULES)]


def hidden(text: str) -> str:
    """Return the text with a dot for each hidden character."""
    chars = list(text)
    for found in EVERYTHING.redact(text).findings:
        chars[found.start : found.end] = "•" * (found.end - found.start)
    return "".join(chars)


def expected(parts: tuple[str, ...]) -> str:
    return "".join(part if n % 2 == 0 else "•" * len(part) for n, part in enumerate(parts))


@pytest.mark.parametrize("rule", NAMED)
def test_a_rule_hides_its_true_examples_and_nothing_beside_them(rule: Rule) -> None:
    """The values of the true examples are hidden to the character, by whatever rule finds them."""
    assert rule.true
    for parts in rule.true:
        assert hidden("".join(parts)) == expected(parts)


@pytest.mark.parametrize("rule", NAMED)
def test_a_rule_leaves_its_false_examples_alone(rule: Rule) -> None:
    """A near miss stays as it is."""
    assert rule.false
    for text in rule.false:
        assert hidden(text) == text


def test_a_rule_is_well_formed() -> None:
    """Kind, anchors and pattern are such that the engine can find and name what they describe."""
    for rule in RULES:
        assert set(Pattern(rule.pattern).groups) <= {b"value"}, rule
        assert rule.gate in GATES, rule
        assert rule.kind == rule.kind.lower().replace("_", "-").replace(" ", "-")
        assert all(len(anchor.encode()) >= 2 for anchor in rule.anchors), rule


def test_no_anchor_is_dead() -> None:
    """What starts with an anchor can go on to be a match, unless the match starts before it."""
    for rule in (rule for rule in RULES if not rule.before):
        pattern = rule.pattern.replace("(?-i:", "(?:").replace(r"\z", r"\Z")
        able = regex.compile(pattern, regex.VERSION0 | regex.IGNORECASE)
        bytewise = [anchor.encode().decode("latin-1") for anchor in rule.anchors]
        dead = [anchor for anchor in bytewise if able.match(anchor, partial=True) is None]
        assert dead == [], rule.kind


def test_a_field_hides_its_value() -> None:
    """The name of a field gives its value away, in every notation."""
    examples = TRUE + WRAPPED_TRUE + CHOSEN_TRUE + MANIFEST_TRUE
    assert [parts for parts in examples if hidden("".join(parts)) != expected(parts)] == []


def test_a_field_that_holds_no_secret_stays() -> None:
    """Code, prose and counts beside a secret word are left alone."""
    assert [
        text
        for text in FALSE + WRAPPED_FALSE + CHOSEN_FALSE + MANIFEST_FALSE
        if hidden(text) != text
    ] == []


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("rule", NAMED)
def test_a_rule_stays_within_the_string_of_json_that_it_starts_in(rule: Rule, every: int) -> None:
    """Wherever its example is cut off, in the soak after every character."""
    for number, parts in enumerate(rule.true):
        text = "".join(parts)
        for cut in range(1 + number % every, len(text) if len(text) < 200 else 0, every):
            out = EVERYTHING(json.dumps({"a": [text[:cut], 4012888888881881, "x"]}))
            assert json.loads(out)["a"][-1] == "x", text[:cut]
            assert EVERYTHING(out) == out


def test_there_are_many_vendors() -> None:
    """At least 150 formats of vendors' tokens."""
    vendors = [rule for rule in RULES if rule.family == "vendor"]
    assert sum(max(1, len(rule.anchors)) for rule in vendors) >= 150
