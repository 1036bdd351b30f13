"""The named checks: which one decides about a field, and that none is dead."""

from __future__ import annotations

from typing import cast

from foldaway.redaction.fields import FieldLink
from foldaway.redaction.judge import STRONG_CHECKS, WEAK_CHECKS, FieldText, deciding_check
from foldaway.redaction.names import NAME_CHECKS, Strength, check_name
from foldaway.redaction.surroundings import WORD_CHECKS, WordContext, is_weak_password

KEY = b"Ab3dEf6hIj9lMn2pQr5t"
STRONG = (
    (b"Ed25519PrivateKey", False, "token", "loose", "name of a thing", False),
    (b"hunter2024!", False, "password", "prose", "word of a sentence", True),
    (KEY, True, "token", "item", "item of a list", True),
    (b"abcd", True, "pin", "assign", "PIN with letters", False),
    (b"see " + KEY, False, "token", "tag", "words in a tag", True),
    (KEY, False, "token", "space", "next to the name by chance", True),
    (b"hunter2024!", True, "set_password", "call", "argument of a call", True),
    (b"cache-entry", True, "api_key", "assign", "label of a key", False),
    (b"engine2_upgrades", True, "token", "assign", "name with a counter", False),
    (b"hunter2024!", True, "password", "assign", "string", True),
    (b"--verbose", True, "password", "argument", "string after its flag", False),
    (b"hunter2024!", True, "password", "attr", "value of an input", True),
    (b"hunter2024!", True, "password", "dash", "string after a dash", True),
    (KEY, True, "token", "pair", "string of a pair", True),
    (b"password", False, "token", "cell", "word of a pair", False),
    (b"m{{h}o)p${e]nib(o", False, "password", "assign", "unbalanced bracket", True),
    (b"4711", False, "pin", "assign", "PIN", True),
    (b"49382716", False, "password", "assign", "digits", True),
    (b"/etc/token", False, "token", "flag", "reference after a flag", False),
    (KEY, False, "token", "flag", "value of a flag", True),
    (b"get_password", False, "password", "assign", "bare word", False),
)
UUID = b"0b8f5c2e-7d41-4c7e-9a52-3f6d1e8a7b90"
WEAK = (
    (b"Ed25519PrivateKey", False, "key", "loose", "name of a thing", False),
    (UUID, True, "node_key", "assign", "UUID", False),
    (KEY, False, "key", "below", "next to the name by chance", True),
    (b"primary", False, "key", "assign", "short value", False),
    (b"https://example.org/v1", True, "api", "assign", "words of an API", False),
    (b"aB3$x!9@kQ7#mZ2&", True, "zentrixKey", "assign", "string full of signs", True),
    (KEY, False, "key", "assign", "random value", True),
)
NAMES = {
    "x-api-key": "header",
    "": "no words",
    "client_id": "id of a credential",
    "token_count": "harmless end",
    "public_key_pem": "public key",
    "dbPassword": "secret word at the end",
    "basic_auth": "some auth",
    "aes_key": "secret key",
    "nodeKey": "any key",
    "signature": "weak word at the end",
    "aes_keys": "secret keys",
    "password_thing": "secret word",
    "any_tokens": "secret words",
    "colour": "any other name",
}


def test_the_check_that_decides_has_a_name() -> None:
    """Each check of both tables decides about an example, as its name says."""
    for rows, table, strength in ((STRONG, STRONG_CHECKS, "strong"), (WEAK, WEAK_CHECKS, "weak")):
        for value, quoted, name, mode, label, verdict in rows:
            field = FieldText(value, quoted, name, cast("Strength", strength), mode, compares=False)
            check = deciding_check(field)
            assert (check.label, check.is_secret(field)) == (label, verdict), field
        assert [row[4] for row in rows] == [check.label for check in table]


def test_the_check_of_a_name_has_a_name() -> None:
    """Each check of a name decides about an example."""
    found = {name: check_name(name).label for name in NAMES}
    assert found == NAMES
    assert list(NAMES.values()) == [check.label for check in NAME_CHECKS]


def test_the_check_of_a_word_has_a_name() -> None:
    """Each check of a word decides about an example."""
    rows = (
        ("password", "assign", True, b"hunter", "parameter of a URL, or named value", True),
        ("PASSWORD", "assign", False, b"hunter", "variable of an environment", True),
        ("password", "assign", False, b"hunter2!", "words or signs", True),
        ("token", "assign", False, b"hunter2", "not for a word", False),
        ("password", "assign", False, b"hunter", "letters", True),
        ("password", "assign", False, b"hunter22", "letters and digits", True),
    )
    for name, mode, query, value, label, verdict in rows:
        link = FieldLink(name, b"", "strong", mode, 0, 0, compares=False, query=query, first=0)
        word = WordContext(link, value, False, True, False, False, b"\n", False)
        assert next(check.label for check in WORD_CHECKS if check.applies(word)) == label, word
        assert is_weak_password(word) == verdict, word
    assert [row[4] for row in rows] == [check.label for check in WORD_CHECKS]
