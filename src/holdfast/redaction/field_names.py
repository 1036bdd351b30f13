"""What the name of a field says: how surely it holds a secret, and of which kind."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

from holdfast.redaction.words import (
    DIGEST_WORDS,
    HARMLESS_ENDS,
    HEADERS,
    ID_WORDS,
    KEY_WORDS,
    OPEN_KEY_WORDS,
    SECRET_WORDS,
    SHORT_WORDS,
    SUFFIXES,
    THING_WORDS,
    WEAK_LAST_WORDS,
    WEAK_WORDS,
)

Strength: TypeAlias = Literal["strong", "weak", "none"]
"""Strong: any real value is a secret. Weak: only one that looks random."""


_NAME_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_ASIDE = re.compile(
    r"\s(?:for|of|in|on|is|was|has|set|reset|changed|generated|string|str|std::string)\b"
    r"|\s\(|\s{2}|:"
)
_SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def name_start(data: bytes, at: int) -> int:
    """Return where the name starts that a hit at `at` is a part of."""
    start = at if data[at] in _NAME_BYTES else at + 1
    first = start - 64 if start > 64 else 0
    first += len(data[first:start].rstrip(_NAME_BYTES))
    if first and data[first - 1] == 92 and (escape := _ESCAPE.match(data, first, start)):
        return escape.end()
    return first


_ESCAPE = re.compile(rb"u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|0(?:[0-7]{2})?|[nrtfv]")
"""What follows the backslash of a separator, and is no part of the name after it."""


def name_in(text: bytes) -> str:
    """Return the name of a field without the quotes and brackets after it."""
    return text.decode("latin-1").strip(" \t\"'`\\])|,;\r\n").lstrip("-.")


def word_end(data: bytes, hit: int) -> int | None:
    """Return where the name at a hit ends, where it is one word only."""
    run = _RUN.match(data, hit)
    if run is None or data[run.end() : run.end() + 1] == b" ":
        return None
    return run.end()


_RUN = re.compile(rb"[^A-Za-z]?[A-Za-z0-9_.-]*+")


@lru_cache(maxsize=4096)
def strength_of(name: str) -> Strength:
    """Return how far the name of a field says that it holds a secret."""
    lowered = name.lower()
    if lowered.startswith(HEADERS):
        return "strong"
    words = words_of(name)
    if not words:
        return "none"
    last = words[-1]
    if last in HARMLESS_ENDS:
        is_half = last == "id" and len(words) > 1 and words[-2] in ID_WORDS
        return "weak" if is_half and words[-3:-1] != ("private", "key") else "none"
    if any(a in OPEN_KEY_WORDS and b == "key" for a, b in pairwise(words)):
        return "none"
    joined = "".join(words[-2:])
    if last.endswith(SECRET_WORDS) or joined.endswith(SECRET_WORDS) or last in SHORT_WORDS:
        return "strong"
    if last == "auth" and len(words) > 1:
        return "strong"
    if last == "key":
        return "strong" if len(words) > 1 and words[-2] in KEY_WORDS else "weak"
    if (
        last in WEAK_WORDS
        or last in WEAK_LAST_WORDS
        or (last == "keys" and len(words) > 1 and words[-2] in KEY_WORDS)
        or any(word.endswith(SECRET_WORDS) or word in _PASS_WORDS for word in words)
        or (last.endswith("s") and last[:-1].endswith(SECRET_WORDS))
    ):
        return "weak"
    return "none"


_PASS_WORDS = frozenset(("pass", "pw", "psw", "pswd"))


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in small letters, without the numbers and suffixes at its end."""
    words = [word.lower() for word in _SPLIT.findall(_ASIDE.split(name)[0])]
    # password_for_email, token_of_bob
    told = next((at for at, word in enumerate(words) if at and word in ("for", "of")), len(words))
    words = words[:told]
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


_PIN = re.compile(r"(?i)(?:^|[^a-z])pin$|[a-z]Pin$")


@lru_cache(maxsize=4096)
def kind_of(name: str) -> str:
    """Return what the placeholder calls a field of this name."""
    lowered = name.lower()
    for word, kind in _KINDS:
        if word in lowered:
            return kind
    return "secret"


_KINDS = (
    ("pass", "password"), ("pwd", "password"), ("psw", "password"), ("pw", "password"),
    ("token", "token"), ("jwt", "token"), ("bearer", "token"), ("auth", "token"),
    ("api", "api-key"), ("secret", "secret"), ("key", "key"),
)  # fmt: skip
"""The first word that a name has decides."""
