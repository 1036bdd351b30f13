"""What is hidden does not depend on the notation: one password, one key, every way to write it."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.redaction import RedactionPolicy, Redactor

REDACTOR = Redactor(RedactionPolicy(key="test"))

NOTATIONS = {
    "json": '{"host": "db.internal", "%s": "%s", "port": 5432}',
    "json in a string": '{"content": "{\\"user\\": \\"jdoe\\", \\"%s\\": \\"%s\\"}"}',
    "yaml, quoted": "db:\n  host: db.internal\n  %s: '%s'\n",
    "toml": '[db]\n%s = "%s"\nport = 5432\n',
    "terraform": 'resource "x" "y" {\n  %s = "%s"\n}\n',
    "python": "{'user': 'jdoe', '%s': '%s', 'ttl': 30}",
    "xml": "<db><%s>%s</%s></db>",
    "shell": 'export %s="%s"\n',
    "query": "GET /v1/items?page=2&%s=%s&sort=asc HTTP/1.1",
    "form": "POST /login\n\nusername=jdoe&%s=%s&remember=1",
    "flag": "tool --%s %s --region eu-west-1",
    "flag with a sign": "tool --%s=%s --verbose",
}
"""Where a name and its value stand, and no code can."""
COMMANDS = {
    "curl": "curl -s -u jdoe:%s https://api.example.com",
    "docker login": "docker login -u jdoe -p %s registry.example.com",
    "redis-cli": "redis-cli -h 10.2.3.4 -a %s ping",
    "sshpass": "sshpass -p %s ssh root@10.2.3.4",
    "libpq": "host=db.internal port=5432 user=jdoe password=%s sslmode=require",
    "redis": "cache.internal:6380,password=%s,ssl=True,abortConnect=False",
    "odbc": "Driver={X};Server=db.internal;Uid=jdoe;Pwd=%s;",
    "url": "postgres://jdoe:%s@db.internal:5432/app",
}
"""Where only a password can stand."""

WORDS = st.sampled_from(
    ["sunshine", "dragonfly", "monkey", "hunter", "river", "horse", "battery", "staple", "copper"]
)
CHOSEN = st.one_of(
    WORDS,
    st.tuples(WORDS, WORDS).map("-".join),
    st.tuples(WORDS, WORDS, WORDS).map("-".join),
    st.tuples(WORDS, st.sampled_from("!#?*")).map(lambda both: both[0].title() + both[1]),
    st.tuples(WORDS, st.integers(10, 9999)).map(lambda both: f"{both[0]}{both[1]}"),
    st.integers(100_000, 99_999_999).filter(lambda n: len(set(str(n))) > 2).map(str),
)
"""What people choose."""


def is_hidden(text: str, value: str) -> bool:
    """Whether the value is gone; its letters may also be a part of another word."""
    return REDACTOR.redact(text).text.count(value) < text.count(value)


@pytest.mark.parametrize("notation", NOTATIONS)
@given(name=st.sampled_from(("password", "db_password", "passwd")), value=CHOSEN)
@example(name="password", value="correct-horse-battery")
@example(name="password", value="sunshine-dragonfly-sunshine")
@example(name="passwd", value="river")
def test_a_chosen_password_is_hidden_in_every_notation(
    notation: str, name: str, value: str
) -> None:
    if notation == "query" and "#" in value:
        return  # there it would end the query
    pattern = NOTATIONS[notation]
    names = (name.upper() if notation == "shell" else name,)
    assert is_hidden(pattern % (*names, value, *names * (pattern.count("%s") - 2)), value)


@pytest.mark.parametrize("command", COMMANDS)
@given(value=CHOSEN)
@example(value="river")
def test_a_chosen_password_is_hidden_in_every_command(command: str, value: str) -> None:
    if command == "url" and "#" in value:
        return
    assert is_hidden(COMMANDS[command] % value, value)


ALPHABETS = (
    string.hexdigits[:16],
    string.ascii_lowercase + string.digits,
    string.ascii_letters + string.digits,
    string.ascii_letters + string.digits + "_-",
)


@each_row("notation", NOTATIONS)
def test_a_key_is_hidden_in_every_notation(notation: str) -> None:
    rng = random.Random(notation)
    pattern = NOTATIONS[notation]
    missed: list[str] = []
    for alphabet in ALPHABETS:
        for length in (20, 24, 32, 40, 64):
            for name in ("api_key", "zentrix_token", "client_secret"):
                value = "".join(rng.choice(alphabet) for _ in range(length)).strip("-_")
                text = pattern % (name, value, *(name,) * (pattern.count("%s") - 2))
                missed += [] if is_hidden(text, value) else [value]
    assert missed == []


@each_row(
    "value",
    [
        "abcdef1234567890abcdef1234567890", "0123456789abcdef0123456789abcdef",
        "1234567890abcdef1234567890abcdef", "ABCDEF0123456789ABCDEF0123456789",
    ],
)  # fmt: skip
def test_a_key_that_was_typed_in_order_is_hidden(value: str) -> None:
    assert is_hidden(f"ZENTRIX_API_KEY={value}", value)
    assert is_hidden(f'"zentrix_key": "{value}"', value)


@each_row(
    "text",
    [
        'CHARS = "abcdefghijklmnopqrstuvwxyz0123456789"',
        '{"password": "current-password"}', "{'password': 'reset-password-link'}",
        '{"password": "user_password"}', "--password option --user option",
        "use --password to set it", 'autocomplete="new-password"', "password=some_variable\n",
        "tool --password PASSWORD --user USER", "tool --password <password> --user jdoe",
        "docker login && docker run -p 8080:80 img",
    ],
)  # fmt: skip
def test_what_only_speaks_of_a_password_stays(text: str) -> None:
    assert REDACTOR.redact(text).text == text
