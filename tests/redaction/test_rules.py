"""The built-in rules: their files, their examples, and what holds for all of them."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import pytest
import regex

from foldaway.redaction import RedactionPolicy, Redactor, SecretRule
from foldaway.redaction.examples import STRUCTURES, Examples, load_examples
from foldaway.redaction.gates import GATES
from foldaway.redaction.matching import Pattern
from foldaway.redaction.rules import built_in_rules, compile_rules, select_rules

EVERYTHING = Redactor(RedactionPolicy(key="test", mentions=True))
RULES = select_rules(built_in_rules())
EXAMPLES = load_examples()


def hidden(text: str) -> str:
    """Return the text with a dot for each hidden character."""
    chars = list(text)
    for found in EVERYTHING.redact(text).findings:
        chars[found.start : found.end] = "•" * (found.end - found.start)
    return "".join(chars)


def expected(parts: tuple[str, ...]) -> str:
    return "".join(part if n % 2 == 0 else "•" * len(part) for n, part in enumerate(parts))


def test_the_compiled_rules_are_those_of_the_files() -> None:
    """What a process reads is what the TOML files say; after a change run `make rules`."""
    read = list(built_in_rules())
    assert msgspec.json.decode(compile_rules(), type=list[SecretRule]) == read, "run `make rules`"


def test_a_process_reads_neither_examples_nor_toml() -> None:
    """They are for tests and for `foldaway redact --explain`."""
    code = (
        "import sys, foldaway; foldaway.redact('token: ghp_x');"
        "print({'foldaway.redaction.examples', 'tomllib'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_every_rule_has_examples_under_its_name() -> None:
    """No rule without a true and a false example, and no example without its rule."""
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    assert EXAMPLES.keys() == {*names, *STRUCTURES}
    assert [name for name, one in EXAMPLES.items() if not one.true or not one.false] == []


def test_a_true_example_is_hidden_and_nothing_next_to_it() -> None:
    """The values of the true examples are hidden to the character, by whatever rule finds them."""
    missed = [
        (name, "".join(parts), hidden("".join(parts)))
        for name, one in EXAMPLES.items()
        for parts in one.true
        if hidden("".join(parts)) != expected(parts)
    ]
    assert missed == []


def test_a_false_example_stays() -> None:
    """A near miss of a rule stays as it is; so do code, prose and counts next to a secret word."""
    lost = [
        (name, text, hidden(text))
        for name, one in EXAMPLES.items()
        for text in one.false
        if hidden(text) != text
    ]
    assert lost == []


def test_a_rule_is_well_formed() -> None:
    """Kind, anchors and pattern are such that the engine can find and name what they describe."""
    wrong: list[tuple[str, str]] = []
    for rule in RULES:
        assert set(Pattern(rule.pattern).groups) <= {b"value"}, rule
        Pattern(rule.not_after).at(b"", 0)
        fits = {
            "gate": rule.gate in GATES,
            "name": rule.name == rule.name.lower().replace("_", "-").replace(" ", "-"),
            "kind": rule.kind == rule.kind.lower().replace("_", "-").replace(" ", "-"),
            "anchors": all(len(anchor.encode()) >= 2 for anchor in rule.anchors),
            "anchors once": len(set(rule.anchors)) == len(rule.anchors),
            "pattern": "{anchors}" not in rule.pattern,
        }
        wrong += [(rule.name, field) for field, is_right in fits.items() if not is_right]
    assert wrong == []


def test_no_anchor_is_dead() -> None:
    """What starts with an anchor can go on to be a match, unless the match starts before it."""
    dead: list[tuple[str, str]] = []
    for rule in (rule for rule in RULES if not rule.before):
        pattern = rule.pattern.replace("(?-i:", "(?:").replace(r"\z", r"\Z")
        able = regex.compile(pattern, regex.VERSION0 | regex.IGNORECASE)
        bytewise = [anchor.encode().decode("latin-1") for anchor in rule.anchors]
        dead += [(rule.name, a) for a in bytewise if able.match(a, partial=True) is None]
    assert dead == []


@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.soak)])
def test_a_rule_stays_within_the_string_of_json_that_it_starts_in(every: int) -> None:
    """Wherever its example is cut off, in the soak after every character."""
    broken: list[tuple[str, str]] = []
    for rule in RULES:
        for text in _cut(EXAMPLES[rule.name], every):
            out = EVERYTHING(json.dumps({"a": [text, 4012888888881881, "x"]}))
            if json.loads(out)["a"][-1] != "x" or EVERYTHING(out) != out:
                broken.append((rule.name, text))
    assert broken == []


def _cut(examples: Examples, every: int) -> list[str]:
    """Return the true examples, cut off after every so many characters."""
    texts = ["".join(parts) for parts in examples.true]
    return [
        text[:cut]
        for number, text in enumerate(texts)
        for cut in range(1 + number % every, len(text) if len(text) < 200 else 0, every)
    ]
