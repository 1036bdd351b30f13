"""Rules of the user's own, rules that are switched off, and findings that name their rule."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.testing.rows import each_row

from foldaway.errors import InvalidSetting, NotReadable, UnknownName
from foldaway.redaction import RedactionPolicy, Redactor, SecretRule
from foldaway.redaction.examples import load_examples
from foldaway.redaction.policy import STRUCTURES
from foldaway.redaction.rules import built_in_rules, parse_rules

ACME = SecretRule(name="acme-key", anchors=("acme_",), pattern=r"acme_[a-z0-9]{9}")
FILE = r"""
[defaults]
gate = "mixed"

[fragments]
nine = '[a-z0-9]{9}'
quoted = ['"(?P<value>', '{nine})"']

[[rule]]
name = "acme-key"
anchors = ["acme_", "acme-"]
pattern = '{anchors}{nine}'

[[rule]]
name = "acme-password"
kind = "acme"
anchors = ["acme.login("]
pattern = 'acme\.login\({quoted}'
gate = "any"
open_end = true
"""


def of(*rules: SecretRule, **more: Any) -> Redactor:
    """Return a redactor with rules of its own."""
    return Redactor(RedactionPolicy(key="test", rules=rules, **more))


def test_an_own_rule_finds_names_and_masks() -> None:
    """The kind is the name unless there is one; a finding names rule and gate; twice is once."""
    redactor = of(ACME)
    done = redactor.redact("é acme_k3y5k3y5z and acme_k3y5k3y5zz")
    assert [(f.kind, f.start, f.end, f.rule, f.gate) for f in done.findings] == [
        ("acme-key", 2, 16, "acme-key", "real")
    ]
    assert done.text.startswith("é [redacted:acme-key:")
    assert redactor(done.text) == done.text
    assert Redactor(RedactionPolicy(key="test"))("acme_k3y5k3y5z") == "acme_k3y5k3y5z"


def test_an_own_rule_comes_before_the_built_in_ones() -> None:
    """Where both find the same, the user's own names it."""
    token = "ghp_" + "a8Bd3Fg7Hj2Kl5Mn9Pq4Rs6Tv1Wx3Yz8Cb2D"
    mine = SecretRule(name="our-token", anchors=("ghp_",), pattern=r"ghp_[A-Za-z0-9]{36}")
    assert of(mine)(token).startswith("[redacted:our-token:")
    assert of()(token).startswith("[redacted:github-token:")


def test_a_file_of_rules_has_defaults_and_fragments(tmp_path: Path) -> None:
    """The notation is that of the built-in rules."""
    path = tmp_path / "own.toml"
    path.write_text(FILE)
    redactor = of(rules_files=[str(path)])
    found = redactor.redact('acme-k3y5k3y5z acme-abcabcabc acme.login("password1")').findings
    assert [(f.kind, f.rule, f.gate) for f in found] == [
        ("acme-key", "acme-key", "mixed"),
        ("acme", "acme-password", "any"),
    ]
    assert {rule.file for rule in redactor.rules[:2]} == {str(path)}
    assert of(rules_files=str(path), keep={"acme"}, without="acme-key")(
        'acme-k3y5k3y5z acme.login("password1")'
    ) == 'acme-k3y5k3y5z acme.login("password1")'  # fmt: skip


def test_a_rule_that_is_off_does_not_run() -> None:
    """By its name; the prefix that other rules took from it goes with it."""
    mail = "to jane.roe@mailhost.org"
    assert of(without={"email"})(mail) == mail
    token = "glsa_" + load_examples()["vendor-token"].true[0][1][4:40]
    assert of()(token) != token
    vendor = [rule.name for rule in built_in_rules() if "glsa_" in rule.anchors]
    assert of(without=[*vendor, "prefixed-token"])(token) == token


def test_every_rule_can_be_switched_off() -> None:
    """Without all of them only structures are found."""
    redactor = of(without=[rule.name for rule in built_in_rules()])
    found = redactor.redact("password=hunter2024! see ghp_a8Bd3Fg7Hj2Kl5Mn9Pq4Rs6Tv1Wx3Yz8Cb2D")
    assert [f.rule for f in found.findings] == ["field"]


def test_names_that_do_not_exist_are_refused() -> None:
    """With the likeliest first, as kinds are."""
    with pytest.raises(UnknownName, match="unknown rule 'emial'; known: email, "):
        of(without={"emial"})
    with pytest.raises(UnknownName, match="unknown kind of secret 'acme-kye'; known: acme-key"):
        of(ACME, keep={"acme-kye"})


UNUSABLE: dict[str, dict[str, Any]] = {
    "lookaround": {"pattern": r"acme_(?=x)"},
    "backreference": {"pattern": r"acme_(a)\1"},
    "too large": {"pattern": r"acme_(?:(?:x{1000}){1000}){1000}"},
    "unbalanced": {"pattern": r"acme_("},
    "not ASCII": {"pattern": "acme_é"},
    "empty match": {"pattern": r"(?:acme_)?"},
    "bad not_after": {"not_after": "("},
    "no anchor": {"anchors": ()},
    "short anchor": {"anchors": ("a",)},
    "anchor not ASCII": {"anchors": ("ключ",)},
    "name": {"name": "Acme Key"},
    "kind": {"kind": "line"},
    "taken": {"name": "github-token"},
    "name of a structure": {"name": "field"},
    "before": {"before": 10_000},
    "only built-in": {"needs": "@"},
}


@each_row("wrong", UNUSABLE.values(), ids=UNUSABLE)
def test_an_own_rule_that_cannot_be_used_is_refused(wrong: dict[str, Any]) -> None:
    """Before anything is read: with the rule, the field and what it must be."""
    with pytest.raises(InvalidSetting) as error:
        of(replace(ACME, **wrong))
    field = next(iter(wrong))
    assert f": {field} is " in str(error.value)
    assert "it must be" in str(error.value)


def test_two_own_rules_do_not_share_a_name() -> None:
    """Whether they come from code or from files."""
    with pytest.raises(InvalidSetting, match="rule 'acme-key': name"):
        of(ACME, ACME)


BAD_FILES = {
    "not TOML": ("[[rule", "is not TOML"),
    "no rules": ("[defaults]\n", "has no rules"),
    "other table": ("[rules]\n", "rules"),
    "not a table": ("rule = [3]\n", "rule"),
    "no pattern group": ('[[rule]]\nname = "x"\nanchors = "x"\npattern = "y"\n', "rule 'x'"),
    "unknown field": ('[[rule]]\nname = "x"\nregex = "y"\npattern = "y"\n', "regex"),
    "no name": ('[[rule]]\npattern = "y"\n', "name"),
    "unknown gate": ('[[rule]]\nname = "x"\npattern = "y"\ngate = "odd"\n', "'odd'"),
    "unknown fragment": ('[[rule]]\nname = "x"\npattern = "{some}"\n', "'some'"),
    "nested too deeply": ("a = " + "[" * 3_000, "is not TOML"),
    "exploding fragments": (
        '[fragments]\na = "' + "{a}" * 99 + '"\n[[rule]]\nname = "x"\npattern = "{a}"\n', "'a'",
    ),
    "endless fragments": (
        '[fragments]\na = "{a}{a}"\n[[rule]]\nname = "x"\npattern = "{a}"\n', "'a'",
    ),
}  # fmt: skip


@each_row(("text", "said"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_named_with_its_rule_and_a_remedy(text: str, said: str) -> None:
    """One sentence: the file, the rule, what is wrong, what to do."""
    with pytest.raises(NotReadable) as error:
        parse_rules(text, "own.toml")
    assert error.value.where.startswith("own.toml")
    assert said in str(error.value)
    assert error.value.remedy


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Missing, a folder, not UTF-8."""
    (tmp_path / "x.toml").write_bytes(b"\xff")
    for name in ("none.toml", "x.toml", "."):
        with pytest.raises(NotReadable, match=str(tmp_path)):
            of(rules_files=[str(tmp_path / name)])


@given(st.text(max_size=200))
def test_any_text_is_a_file_or_a_clear_error(text: str) -> None:
    """Nothing but our own error comes out of a file."""
    with suppress(NotReadable):
        parse_rules(text, "own.toml")


def test_a_finding_names_its_rule_and_its_gate() -> None:
    """Every example of a rule names a rule that exists, or the structure that gave it away."""
    redactor = Redactor(RedactionPolicy(key="test", mentions=True))
    gates = {rule.name: rule.gate for rule in built_in_rules()} | dict.fromkeys(STRUCTURES, "")
    assert not STRUCTURES.keys() & {rule.name for rule in built_in_rules()}
    seen = [
        found
        for one in load_examples().values()
        for parts in one.true
        for found in redactor.redact("".join(parts)).findings
    ]
    assert [found for found in seen if gates.get(found.rule) != found.gate] == []
    kinds = {rule.name: rule.kind for rule in built_in_rules()}
    assert [f for f in seen if f.rule in kinds and f.kind != kinds[f.rule]] == []
    assert {"field", "repeat", "companion"} <= {found.rule for found in seen}
    assert len({found.rule for found in seen}) > 600


def test_a_stream_says_where_each_secret_is() -> None:
    """The place in bytes of the whole input, and the line, wherever the pieces are cut."""
    lines = [f"line {n} acme_k3y5k3y{n % 10}z" if n % 3 == 0 else f"é {n}" for n in range(20_000)]
    data = "\n".join(lines).encode()
    seen: list[tuple[bytes, int, str]] = []
    stream = of(ACME).stream(lambda f, line: seen.append((data[f.start : f.end], line, f.rule)))
    for at in range(0, len(data), 70_001):
        stream.feed(data[at : at + 70_001])
    stream.finish()
    assert seen == [
        (line.encode()[-14:], n + 1, "acme-key") for n, line in enumerate(lines) if n % 3 == 0
    ]


def test_an_own_rule_costs_no_more_than_a_text_may(cpu_of: Any) -> None:
    """A pattern that reads far at every literal is paid from the account of the text."""
    greedy = SecretRule(name="greedy", anchors=("ab",), pattern=r"ab[\s\S]{0,1000}[\s\S]{0,1000}#")
    redactor = of(greedy)
    short, long = "ab" * 50_000, "ab" * 400_000
    most = 40 * max(cpu_of(lambda: redactor(short)), 0.002)
    assert cpu_of(lambda: redactor(long), below=most) < most


def test_an_unknown_rule_is_one_readable_sentence() -> None:
    """The similar names come first; the other seven hundred are counted, not printed."""
    with pytest.raises(UnknownName) as raised:
        Redactor(RedactionPolicy(without=["openai-keys"]))
    assert "known: openai-key, " in str(raised.value)
    assert str(raised.value).endswith(" more")
    assert len(str(raised.value)) < 1_000
