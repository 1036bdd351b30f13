"""Private keys in objects of JSON."""

from __future__ import annotations

import json

from tests.testing.rows import each_row

from foldaway.redaction import RedactionPolicy, Redactor, Vault

KEYED = Redactor(RedactionPolicy(key="test"))
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvAIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n"
ACCOUNT = {
    "type": "service_account",
    "project_id": "a-project",
    "private_key_id": "2ffbf3e0b6e9aba45ee6ebc57f4590641e1f0378",
    "private_key": PEM,
    "client_email": "worker@a-project.iam.gserviceaccount.com",
    "token_uri": "https://oauth2.googleapis.com/token",
}
WEB_KEY = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "d": "C6dT0ctPVnaawqrczLJWImKMG4hEbuUVDPDR-m0k5iq",
}
HIDDEN = {"[redacted:private-key]": ""}


@each_row("key", [ACCOUNT, WEB_KEY])
@each_row("indent", [None, 2, "\t"])
@each_row("depth", [1, 2, 3])
@each_row("order", [False, True])
def test_the_object_of_a_key_is_one_credential(
    key: dict[str, str], indent: int | str | None, depth: int, order: bool
) -> None:
    """All that stands between its braces goes, in JSON, in a string of it and in one of that."""
    text = json.dumps({"a": [key], "b": 1}, indent=indent, sort_keys=order)
    for _ in range(depth - 1):
        text = json.dumps(text)
    hidden = KEYED(text)
    assert KEYED(hidden) == hidden
    for _ in range(depth):
        hidden = json.loads(hidden)
    assert hidden == {"a": [HIDDEN], "b": 1}


def test_a_public_key_and_an_account_without_a_key_stay() -> None:
    """What everybody may know is left alone."""
    public = json.dumps({name: value for name, value in WEB_KEY.items() if name != "d"})
    account = json.dumps({"type": "service_account", "project_id": "a-project"})
    long = json.dumps({"type": "service_account", "roles": ["a"] * 800}, indent=1)
    many = json.dumps({"keys": [{"kty": "RSA", "n": "AbC9_-" * 340, "e": "AQAB"}] * 9}, indent=2)
    for text in (public, account, long, many):
        assert KEYED(text) == text


@each_row(
    "odd",
    [
        {"a {": 1, **WEB_KEY, "b}": 2},
        {"a{": "b", **WEB_KEY, "c": "}"},
        {"a": "{", **ACCOUNT, "b}": "c"},
        {"a": 'x{"kty": "EC"', **WEB_KEY, "b": '"}'},
    ],
)
def test_a_brace_within_a_string_is_none_of_the_object(odd: dict[str, object]) -> None:
    """JSON stays JSON, whatever its strings hold."""
    for text in (json.dumps(odd), json.dumps(json.dumps(odd)), json.dumps([odd, odd], indent=1)):
        json.loads(KEYED(text))


def test_a_key_in_python_and_a_stream_of_keys() -> None:
    """A dict of Python is read as JSON is, and one cut between two pieces is found."""
    assert KEYED(repr(ACCOUNT)) == "{'[redacted:private-key]': ''}"
    data = (json.dumps(ACCOUNT) + "\n").encode() * 300
    stream = KEYED.stream()
    out = b"".join(stream.feed(data[at : at + 4_099]) for at in range(0, len(data), 4_099))
    lines = (out + stream.finish()).decode().splitlines()
    assert lines == [json.dumps(HIDDEN)] * 300


def test_a_vault_gives_the_object_back() -> None:
    """What it restores is the text that was, beside a key that stood alone."""
    vault = Vault()
    keeper = Redactor(RedactionPolicy(key="test"), vault=vault)
    for text in (json.dumps(WEB_KEY), json.dumps({"a": json.dumps(ACCOUNT, indent=1)}), PEM):
        assert keeper(text) != text
        assert vault.restore(keeper(text)) == text
    two = json.dumps([WEB_KEY, {**WEB_KEY, "d": WEB_KEY["d"][::-1]}])
    assert vault.restore(keeper(two)) == keeper(two)
