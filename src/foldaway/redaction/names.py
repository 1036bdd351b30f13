"""What the name of a field means: how surely it holds a secret, and of which kind.

The words are in `words.json`: those that make a field a secret one, and those of labels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from foldaway._core import Regex

with open(f"{__file__.removesuffix('names.py')}words.json", "rb") as _file:
    WORDS = msgspec.json.decode(_file.read(), type=dict[str, tuple[str, ...]])
"""The lists of words that the rules of this package share; what each is for says its constant."""

SECRET_WORDS = WORDS["secret"]
"""A field whose last word is or ends in one of these holds a secret."""
SHORT_WORDS = WORDS["short"]
"""The same, if they are words of their own: not `bypass`."""
KEY_WORDS = frozenset(WORDS["key"])
"""Before `key` these make it a secret one: `api_key`, `signing-key`."""
OPEN_KEY_WORDS = frozenset(WORDS["open_key"])
"""Before `key` these make it an open one: a half that may be known, or a key of a table."""
THING_WORDS = frozenset(WORDS["thing"])
"""Before `key` these make it the name of a thing, which a UUID often is."""
WEAK_WORDS = WORDS["weak"]
"""A field that ends in one of these holds a secret only if its value looks random."""
WEAK_LAST_WORDS = WORDS["weak_last"]
"""The same, if they are words of their own: not `path`."""
ID_WORDS = frozenset(WORDS["id"])
"""Before `id` these make it half of a credential, if it looks random."""
SUFFIXES = frozenset(WORDS["suffix"])
"""Last words that say nothing: `password_value`, `token_v2`."""
HARMLESS_ENDS = frozenset(WORDS["harmless_end"])
"""Last words of fields that speak about a secret and do not hold one: `token_count`."""
HEADERS = WORDS["header"]
"""Headers that hold a secret whatever their last word is."""
DIGEST_WORDS = frozenset(WORDS["digest"])
"""Last words of entries beside a secret that are random and not a secret."""
LABEL_WORDS = frozenset(WORDS["label"])
"""A value that consists of these alone, with joints and a small number, says nothing itself."""
SECRET_LABELS = frozenset(WORDS["secret_label"])
"""Labels that speak of a secret wherever they are: `current-db-password`."""
MESSAGE_WORDS = frozenset(WORDS["message"])
"""Any of these among several words makes them a message or a label."""
HASH_WORDS = frozenset(WORDS["hash"])
"""What a call does with a password that it is given."""
NAME_SAYS_MORE = frozenset(WORDS["name_says_more"])
"""Beside the secret word these make a name that of a text about it: `errors.password`."""
READING_VERBS = frozenset(WORDS["reading_verb"])
"""What starts the name of a call whose argument is not a password: `get_password("section")`."""
ACCESS_WORDS = frozenset(WORDS["access"])
"""Words before `token` that say what it opens."""
FOREIGN_WORDS = (
    r"passwor[td]|kennwort|mot de passe|contrase|senha|wachtwoord|l\xc3\xb6senord|adgangskode"
    r"|salasana|has\xc5\x82o|parola|parol\xc4\x83|heslo|jelsz|lozinka|geslo|slapta|\xc5\x9fifre|contrasenya"
    r"|passord|parool|palavra|clave|m\xe1\xba\xadt kh\xe1\xba\xa9u|kata sandi|sandi"
)
"""The word for a password in other languages of Latin letters, as bytes of UTF-8."""

Strength: TypeAlias = Literal["strong", "weak", "none"]
"""Strong: any real value is a secret. Weak: only one that looks random."""
Sort: TypeAlias = Literal["password", "secret", "token", ""]
"""What a person may have chosen as the value of a field; empty if the name only speaks about one.
"""


_ASIDE = Regex(
    r"\s(?:for|of|in|on|is|was|has|set|reset|changed|generated|string|str|std::string)\b"
    r"|\s\(|\s{2}|:"
)
_SPLIT = Regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class NameCheck(Struct, frozen=True):
    """A check of a name: the first one of `NAME_CHECKS` that applies decides."""

    label: str
    strength: Strength
    applies: Callable[[tuple[str, ...], str], bool]
    """Takes the words of the name, and the name in lower case."""


NAME_CHECKS = (
    NameCheck("header", "strong", lambda _, name: name.startswith(HEADERS)),
    NameCheck("no words", "none", lambda words, _: not words),
    NameCheck("id of a credential", "weak", lambda words, _: _is_credential_id(words)),
    NameCheck("harmless end", "none", lambda words, _: words[-1] in HARMLESS_ENDS),
    NameCheck("public key", "none", lambda words, _: any(map(_is_public_key, words, words[1:]))),
    NameCheck("secret word at the end", "strong", lambda words, _: _ends_in_secret(words)),
    NameCheck("some auth", "strong", lambda words, _: words[-1] == "auth" and len(words) > 1),
    NameCheck("secret key", "strong", lambda words, _: _is_key_word(words, "key")),
    NameCheck("any key", "weak", lambda words, _: words[-1] == "key"),
    NameCheck("weak word at the end", "weak", lambda words, _: words[-1] in _WEAK_ENDS),
    NameCheck("secret keys", "weak", lambda words, _: _is_key_word(words, "keys")),
    NameCheck("secret word", "weak", lambda words, _: any(map(_is_secret_word, words))),
    NameCheck("secret words", "weak", lambda words, _: words[-1].endswith(_SECRET_PLURALS)),
    NameCheck("any other name", "none", lambda words, _: True),
)


def _is_credential_id(words: tuple[str, ...]) -> bool:
    is_id = words[-1] == "id" and len(words) > 1 and words[-2] in ID_WORDS
    return is_id and words[-3:-1] != ("private", "key")


def _is_public_key(word: str, following: str) -> bool:
    return word in OPEN_KEY_WORDS and following == "key"


def _ends_in_secret(words: tuple[str, ...]) -> bool:
    joined = "".join(words[-2:])
    return (
        words[-1].endswith(SECRET_WORDS)
        or joined.endswith(SECRET_WORDS)
        or words[-1] in SHORT_WORDS
    )


def _is_key_word(words: tuple[str, ...], last: str) -> bool:
    """Whether a name ends in `last` after a word that says which key: `aes_key`."""
    return words[-1] == last and len(words) > 1 and words[-2] in KEY_WORDS


def _is_secret_word(word: str) -> bool:
    return word.endswith(SECRET_WORDS) or word in ("pass", "pw", "psw", "pswd")


_WEAK_ENDS = frozenset((*WEAK_WORDS, *WEAK_LAST_WORDS))
_SECRET_PLURALS = tuple(f"{word}s" for word in SECRET_WORDS)


def check_name(name: str) -> NameCheck:
    """Return the check that decides how surely a field of this name holds a secret."""
    lowered, words = name.lower(), words_of(name)
    return next(check for check in NAME_CHECKS if check.applies(words, lowered))


@lru_cache(maxsize=4096)
def strength_of(name: str) -> Strength:
    """Return how surely a field of this name holds a secret."""
    return check_name(name).strength


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, without the numbers and suffixes at its end."""
    words = [word.lower() for word in _SPLIT.findall(_ASIDE.split(name)[0])]
    # password_for_email, token_of_bob
    end = next((at for at, word in enumerate(words) if at and word in ("for", "of")), len(words))
    words = words[:end]
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in SUFFIXES):
        words.pop()
    return tuple(words)


def is_secret_entry(name: str) -> bool:
    """Whether an entry of a map of secrets may hold one: `prod`, and not `id` or `sha256`."""
    words = [word.lower() for word in _SPLIT.findall(name)]
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    return bool(words) and words[-1] not in HARMLESS_ENDS and words[-1] not in DIGEST_WORDS


@lru_cache(maxsize=4096)
def is_key_of(name: str) -> bool:
    """Whether a weak name is that of the key of a service: `zentrixKey`, and not `nodeKey`."""
    words = [word.lower() for word in _SPLIT.findall(name)]
    return len(words) > 1 and words[-1] == "key" and words[-2] not in THING_WORDS


@lru_cache(maxsize=4096)
def is_pin(name: str) -> bool:
    """Whether a field of this name holds a few digits."""
    return name[-3:].lower() == "pin" and _PIN.search(name) is not None


_PIN = Regex(r"(?i)(?:^|[^a-z])pin$|[a-z]Pin$")


@lru_cache(maxsize=4096)
def kind_of(name: str) -> str:
    """Return what the placeholder calls a field of this name."""
    lowered = name.lower()
    for word, kind in _KINDS:
        if word in lowered:
            return kind
    return "secret"


_KINDS = (
    ("pass", "password"),
    ("pwd", "password"),
    ("psw", "password"),
    ("pw", "password"),
    ("token", "token"),
    ("jwt", "token"),
    ("bearer", "token"),
    ("auth", "token"),
    ("api", "api-key"),
    ("secret", "secret"),
    ("key", "key"),
)
"""The first of these words that a name contains decides."""


@lru_cache(maxsize=4096)
def sort_of_name(name: str, *, called: bool = False) -> Sort:
    """Return what a person may have chosen for a field of this name, or passed to a call of it."""
    words = words_of(name)
    kind = kind_of(name)
    if called:
        words = tuple([word for word in words if word not in HASH_WORDS])
    if not words or not NAME_SAYS_MORE.isdisjoint(words):
        return ""
    if words[-2:] == ("api", "key") or words[-1].endswith("apikey"):
        return "token"
    if words[-1] == "secret":
        return "secret"
    if kind == "token" or words[-1].startswith("token"):
        return "token" if len(words) > 1 and (words[-2] in ACCESS_WORDS or name.isupper()) else ""
    if kind == "password" or words[-1] == "psk":
        return "password"
    return "secret" if "secret" in words[-3:] else ""
