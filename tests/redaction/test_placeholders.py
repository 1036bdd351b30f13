"""What placeholders promise: one for one secret, another under another key, and a way back."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.redaction import RedactionPolicy, Redactor, Vault
from foldaway.redaction.examples import load_examples
from foldaway.redaction.rules import built_in_rules

EXAMPLES = [
    *load_examples()["fields"].true,
    *(
        parts
        for rule in built_in_rules() if rule.family != "mention"
        for parts in load_examples()[rule.name].true
    ),
]  # fmt: skip
examples = st.integers(0, len(EXAMPLES) - 1).map(lambda n: "".join(EXAMPLES[n]))
TAG = re.compile(r"\[redacted:[a-z0-9-]+:([0-9a-f]+)\]")
CARD = 4012888888881881
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
passwords = st.text(LETTERS, min_size=16, max_size=24).filter(
    lambda one: len(set(one)) > 8 and any(map(str.isdigit, one)) and any(map(str.isalpha, one))
)
places = st.sampled_from([
    "password={}", "PASSWORD: {}\n", '{{"password": "{}"}}', "export DB_PASSWORD='{}'",
    "\x1b[31mpassword={}\x1b[0m", "x\npassword: {}\ny", '{{\\"password\\": \\"{}\\"}}',
])  # fmt: skip
keys = st.text(max_size=12)


def tag_of(text: str, key: str) -> str:
    found = TAG.findall(Redactor(RedactionPolicy(key=key))(text))
    assume(len(found) == 1)  # not by two rules, and none of the few that are taken for names
    return found[0]


@given(passwords, places, places, keys)
def test_the_same_secret_has_the_same_tag_wherever_it_stands(
    secret: str, one: str, other: str, key: str
) -> None:
    """A summary can still say "the same key"."""
    assert tag_of(one.format(secret), key) == tag_of(other.format(secret), key)


@given(passwords, passwords, places, keys)
def test_two_secrets_have_two_tags(one: str, other: str, place: str, key: str) -> None:
    """Under a key of one's own; the public one has too few to promise it."""
    assume(one != other and key != "foldaway")
    assert tag_of(place.format(one), key) != tag_of(place.format(other), key)


@given(passwords, places, keys, keys)
def test_another_key_gives_another_tag(secret: str, place: str, one: str, other: str) -> None:
    """Placeholders of two stores cannot be compared."""
    assume(one != other)
    assert tag_of(place.format(secret), one) != tag_of(place.format(secret), other)


@given(passwords, places)
def test_a_public_key_makes_short_tags(secret: str, place: str) -> None:
    """Sixteen bits tell the secrets of a text apart and confirm no guess."""
    assert len(tag_of(place.format(secret), "foldaway")) == 4
    assert len(tag_of(place.format(secret), "mine")) == 8


values: Any = st.recursive(
    st.one_of(examples, st.text(max_size=20), st.integers(), st.just(CARD), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["password", "pan", "token", "x"]), inner, max_size=3),
    ),
    max_leaves=6,
)
texts = st.one_of(
    st.lists(examples, min_size=1, max_size=5).map("\n".join), values.map(json.dumps),
    st.lists(st.one_of(examples, st.text(max_size=30)), max_size=8).map("".join),
)  # fmt: skip


@given(texts)
def test_a_vault_gives_back_every_character(text: str) -> None:
    """But for lines that were hidden as a whole, two private keys, and a number that stood both
    with and without quotes."""
    assume("[redacted:" not in text)
    vault = Vault()
    done = Redactor(RedactionPolicy(key="test"), vault=vault).redact(text)
    hidden = {text[one.start : one.end]: one.kind for one in done.findings}
    assume("line" not in hidden.values())
    assume(list(hidden.values()).count("private-key") < 2)
    numbers = [one for one in hidden if not one.strip("0123456789.eE+-")]
    assume(all(text.count(one) == 1 for one in numbers))
    assert vault.restore(done.text) == text


@each_row("text", [
    f'{{"pan": {CARD}}}', f"[1, {CARD}]", json.dumps(f'{{"pan": {CARD}}}'),
    f'{{"note": "card {CARD}"}}', f"card {CARD}",
])  # fmt: skip
def test_a_number_comes_back_without_the_quotes_that_it_got(text: str) -> None:
    """They were its placeholder's."""
    vault = Vault()
    assert vault.restore(Redactor(vault=vault)(text)) == text
    assert len(vault) == 1


def test_a_number_that_stood_in_quotes_too_comes_back_in_quotes() -> None:
    """The two cannot be told apart any more; JSON stays JSON."""
    vault = Vault()
    hidden = Redactor(vault=vault)(f'{{"pan": {CARD}, "s": "{CARD}"}}')
    assert json.loads(vault.restore(hidden)) == {"pan": str(CARD), "s": str(CARD)}


@given(st.lists(st.one_of(st.binary(max_size=20), examples.map(str.encode)), max_size=6))
def test_a_vault_gives_back_the_bytes_of_a_stream(pieces: list[bytes]) -> None:
    """Also those that are no UTF-8, within a secret and around it."""
    data = b"\n".join([b'password="hunter\xff2024!"', *pieces])
    assume(b"[redacted:" not in data)
    vault = Vault()
    stream = Redactor(RedactionPolicy(key="test"), vault=vault).stream()
    out = stream.feed(data) + stream.finish()
    assume("line" not in stream.counts and stream.counts["private-key"] < 2)
    assume(not re.search(rb"(?<!\d)\d{6,}", data))
    assert vault.restore(out) == data
    assert "hunter" in vault.restore(out.decode("utf-8", "surrogateescape").encode(
        "utf-8", "replace").decode())  # fmt: skip
