"""What holds for all rules of vendors beyond their own examples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldaway.redaction import Redactor
from foldaway.redaction.examples import UUID, draw, load_examples
from foldaway.redaction.finder import Finder
from foldaway.redaction.policy import RedactionPolicy, SecretRule
from foldaway.redaction.rules import built_in_rules, select_rules

VENDORS = select_rules([rule for rule in built_in_rules() if rule.family == "vendor"])
FINDER = Finder(RedactionPolicy(), VENDORS)
VALUES = [
    (rule.name, parts[1])
    for rule in VENDORS
    for parts in load_examples()[rule.name].true
    if parts[0] == "see "
]
SERVICES = next(rule.anchors for rule in VENDORS if rule.name == "service-key")
AROUND = (
    ("", ""),
    ('{"a": "', '"}'),
    ("x='", "';"),
    ("(", ")"),
    ("first line\\n", "\\nlast line"),
    ("?a%3D", "%26b"),
    ("https://host.test/?q=", "&page=2"),
    ("\x1b[31m ", " \x1b[0m"),
    ("see ", ", or not."),
)


def hidden(text: str) -> str:
    """Return the text with a dot for each byte that a rule of a vendor hides."""
    data = bytearray(text.encode())
    for span in FINDER.search(bytes(data)).spans:
        data[span.start : span.end] = b"." * (span.end - span.start)
    return data.decode()


def test_a_token_is_found_whatever_stands_around_it() -> None:
    """Quotes, brackets, escapes, percent signs and ends of the text do not hide a token."""
    missed = [
        (name, before, value, after)
        for name, value in VALUES
        for before, after in AROUND
        if "." * len(value) not in hidden(before + value + after)
    ]
    assert missed == []


LAYOUTS = (
    "{name}_API_KEY={value}",
    '"{name}Token": "{value}"',
    "{name} secret key = '{value}'",
    "{name}: {value}",
    "<{name}>{value}</{name}>",
)


@pytest.mark.soak
def test_a_key_next_to_the_name_of_its_service_is_found() -> None:
    """Every service of the rule, in any case, with any random value."""
    left: list[str] = []
    for value in (draw("hex", 32), draw("hex", 40), draw("alnum", 24), UUID):
        for layout in LAYOUTS:
            texts = [
                layout.format(name=name, value=value)
                for service in SERVICES
                for name in (service, service.upper(), service.title())
            ]
            lines = hidden("\n".join(texts)).split("\n")
            left += [text for text, line in zip(texts, lines, strict=True) if value in line]
    assert left == []


@given(st.text("0123456789abcdef", min_size=1, max_size=200))
def test_a_digest_alone_is_no_key(digest: str) -> None:
    """Hashes of any length stay, bare and with the name of their function."""
    for text in (digest, f"sha256:{digest}", f"commit {digest}", f"etag: W/{digest}"):
        assert hidden(text) == text


@given(st.lists(st.from_regex(r"[a-z]{1,12}", fullmatch=True), min_size=1, max_size=9))
def test_words_are_no_key(words: list[str]) -> None:
    """Identifiers, paths and prose of plain words stay, whatever prefix they happen to spell."""
    for joint in ("_", "-", ".", " ", "/", ":", ""):
        text = joint.join(words)
        assert hidden(text) == text
        assert hidden(text.upper()) == text.upper()


@given(st.sampled_from(VENDORS), st.integers(2, 400))
def test_a_prefix_alone_is_no_key(rule: SecretRule, repeats: int) -> None:
    """A prefix without a body, or with a filler of one letter after it, is not hidden."""
    for anchor in rule.anchors[:3]:
        assert hidden(anchor) == anchor
        if not anchor[-1].isalnum():
            filler = f"{anchor}{'x' * repeats}"
            assert hidden(filler) == filler


def test_a_kind_that_is_kept_is_kept_by_its_prefix_too() -> None:
    """A token that only its prefix gives away belongs to the kind of that prefix."""
    token = "ghp_" + draw("alnum", 44)
    text = f"one {token} and pplx-{draw('alnum', 44)}"
    kept = Redactor(RedactionPolicy(key="test", keep=frozenset({"github-token"})))(text)
    assert token in kept
    assert "pplx-" not in kept
    assert "ghp_" not in Redactor(RedactionPolicy(key="test"))(text)


def test_a_kind_that_is_kept_is_kept_by_its_shape_too() -> None:
    """Where a vendor's tokens are kept, no rule for tokens of any vendor hides them."""
    text = f"one sk_live_{draw('alnum', 24)} and zxk_{draw('alnum', 40)}"
    assert Redactor(RedactionPolicy(key="test", keep=frozenset({"stripe-key"})))(text) == text
    hidden_text = Redactor(RedactionPolicy(key="test"))(text)
    assert "sk_live_" not in hidden_text
    assert "zxk_" not in hidden_text
