"""Passwords that a person has chosen: any string, told from labels and messages by their words.

How far a string beside a secret name is a value depends on what ties them: a comparison, a keyword
argument or a call that sets it holds one, the entry of a map as often a label or a message.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from holdfast.redaction.field_names import kind_of, words_of
from holdfast.redaction.fillers import real
from holdfast.redaction.matching import compiled
from holdfast.redaction.randomness import AT_ONCE
from holdfast.redaction.references import is_reference
from holdfast.redaction.words import (
    FOREIGN_WORDS,
    HASH_WORDS,
    LABEL_WORDS,
    MESSAGE_WORDS,
    NAME_SAYS_MORE,
    READING_VERBS,
    SECRET_LABELS,
)

SHORTEST, LONGEST = 3, 80
SHORTEST_STATED = 4
"""As an entry of a map, where labels and types stand too."""
MOST_WORDS = 8

Tie: TypeAlias = Literal["given", "stated", "none"]
"""How a string is tied to a secret name: as its value, as an entry of a map, not at all."""

Sort: TypeAlias = Literal["password", "secret", "token", ""]
"""What a name says that its value is; nothing where it speaks about one."""


class Quoted(NamedTuple):
    """A string in quotes beside a strong name of a field."""

    name: str
    mode: str
    """How the name is tied to it: a group of `field_scan.SORT`."""
    compares: bool
    separator: bytes
    before: bytes
    """What stands before the name, a few bytes."""
    after: bytes
    """What follows the closing quote."""


@lru_cache(maxsize=4096)
def sort_of_name(name: str, *, called: bool = False) -> Sort:
    """Return what a person may have chosen for a field of this name, or given to a call of it."""
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
        return "token" if len(words) > 1 and (words[-2] in _ACCESS or name.isupper()) else ""
    if kind == "password" or words[-1] == "psk":
        return "password"
    return "secret" if "secret" in words[-3:] else ""


def is_chosen_password(value: bytes, sort: Sort, place: Quoted) -> bool:
    """Whether a string beside a strong name is the value that somebody has chosen for it."""
    if (sort == "token" and not _is_chosen_token(value)) or not is_chosen(value):
        return False
    tie = _tie_of(place)
    if tie == "none" or _JOINED.match(place.after) or _TEXTS.search(place.before):
        return False
    given = tie == "given"
    words = words_of(place.name)
    match sort:
        case "token":
            pairs = place.mode == "pair" and place.name.isupper()
            access = len(words) < 2 or words[-2] in _ACCESS
            told = (
                place.name.lower().rstrip("_0123456789").endswith("token")
                or _DIGIT.search(value) is not None
            )
            return given and told and (pairs or access)
        case "password":
            if given or (place.name.isupper() and b" " in value):
                return words[-1] != "pwd" or b" " not in value
            return is_stated(value)
        case "secret":
            if given:
                return len(value) > SHORTEST
            return is_stated(value) and (len(value) > SHORTEST_STATED or len(words) > 1)
        case "":
            return False


def _tie_of(place: Quoted) -> Tie:
    if place.mode == "assign":
        if place.compares:
            return "given"
        if _UNPACKED.search(place.before) and _NEXT_STRING.match(place.after):
            return "none"  # user, password = "bob", "…"
        name_is_quoted = place.before[-1:] in _QUOTES and place.separator[:1] in _QUOTES
        equals = place.separator.rstrip().endswith(b"=")
        return "given" if equals and not name_is_quoted else "stated"
    if place.mode == "pair":
        if _SETTER.search(place.before):
            return "given"
        # ("password", "…") and nothing else, or the name of a variable before it
        alone = _TUPLE.search(place.before) and _TUPLE_END.match(place.after)
        return (
            "stated" if alone or (_TUPLE.search(place.before) and place.name.isupper()) else "none"
        )
    if place.mode == "call":
        return "given" if _is_given_to(place) else "none"
    if place.mode == "dash":
        starts = _LINE.search(place.before) and _LINE_END.match(place.after)
        starts = starts or (_DEFINES.search(place.before) and _DEFINED.match(place.after))
        return "stated" if starts else "none"
    return "given" if place.mode in ("named", "other") else "none"


def _is_given_to(place: Quoted) -> bool:
    """Whether a call of this name takes a password first: `set_password("…")`."""
    words = words_of(place.name)
    # service, user, password
    keeps = not _PAIRED.isdisjoint(words) and _MORE.match(place.after) is not None
    return READING_VERBS.isdisjoint(words) and kind_of(place.name) == "password" and not keeps


def _is_chosen_token(value: bytes) -> bool:
    return len(value) >= 6 and b" " not in value and not value.isalpha()


_QUOTES = (b'"', b"'", b"`")
_ACCESS = frozenset(
    ("access", "auth", "api", "bearer", "refresh", "session", "csrf", "xsrf", "user", "bot",
     "admin", "oauth", "app")
)  # fmt: skip
_JOINED = re.compile(rb"[ \t]{0,4}(?:\+[ \t]{0,4}[A-Za-z_$]|%[ \t]{1,4}[A-Za-z_(]|\.format\(| if )")
"""What follows a string that is put together or chosen among others."""
_TEXTS = re.compile(
    rb"(?i)(?:lang|label|message|msg|text|string|translation|error|help|locale|i18n)s?\\?[\[(.]"
    rb"""\\{0,6}["'`]?$"""
)
"""A map of texts, one of which is that of the password."""
_TUPLE = re.compile(rb"""(?:^|[^\w.])[({]\s{0,8}b?\\{0,6}["'`]$""")
_TUPLE_END = re.compile(rb"\s{0,8},?\s{0,8}[)}]")
_DEFINES = re.compile(
    rb"(?:#[ \t]*define[ \t]+|\((?:setq|defvar|defparameter|define|def)[ \t]+|[ \t({\[]:|\(|\bset["
    rb" \t]+)$"
)
"""What stands before a name without a sign between it and its value: C, Lisp, Clojure, Tcl."""
_DEFINED = re.compile(rb"[ \t]*(?:[)}\]]|;|,|[\r\n]|$)")
_UNPACKED = re.compile(rb"[A-Za-z0-9_], ?[@$]?$")
_NEXT_STRING = re.compile(rb"""\s{0,4},\s{0,24}b?\\{0,6}["'`]""")
_PAIRED = frozenset(("set", "user", "username"))
_MORE = re.compile(rb"""[ \t]{0,4},[ \t]{0,4}["'`\w]""")
_LINE = re.compile(rb"(?:^|[\r\n])[ \t]*$")
_LINE_END = re.compile(rb"[ \t]*;?[ \t]*(?:[\r\n]|$)")
_SETTER = re.compile(
    rb"(?i)(?:^|[^a-z])(?:[a-z_.]*(?:set|put|add|env|property|default|define|store|update|save|header|append)"
    rb"|(?:environ|config|settings|conf|props?|properties|params?|os)\.(?:get|pop)|\$?env)"
    rb"(?:env|property|default|_?var|_?param|_?option|_?value|_?string|_?config|_?secret|item)?"
    rb"\(\s{0,8}\\{0,6}[\"'`]$|flags?\.string\w{0,4}\((?:&[\w.]{1,32},[ ]?)?\"$"
)
"""A call that takes a name and its value, or a name and what it is otherwise."""


@lru_cache(maxsize=AT_ONCE)
def is_chosen(value: bytes) -> bool:
    """Whether a string that is given to or compared with a password can be one."""
    if not SHORTEST <= len(value) <= LONGEST or value.count(b" ") >= MOST_WORDS:
        return False
    if not _SPOKEN.search(value) or is_about(value) or _ADDRESS.match(value):
        return False
    if is_reference(value):
        return False
    if len(value) == SHORTEST:
        return value.isalnum() and len(set(value)) > 1
    return real(value) or _is_of_letters(value)


def _is_of_letters(value: bytes) -> bool:
    """Whether a value has letters beyond ASCII, and not only the dots of a mask."""
    return not value.isascii() and all(map(str.isalpha, value.decode("utf-8", "replace")))


def is_stated(value: bytes) -> bool:
    """Whether an entry of a map can be one: names, titles and sentences stand there as often."""
    if len(value) < SHORTEST_STATED or not is_chosen(value):
        return False
    if b" " in value:
        return value.islower() and _PHRASE.match(value) is not None
    return not _TITLE.match(value) and (not _NAME.match(value) or is_joined(value))


def is_joined(value: bytes) -> bool:
    """Whether a value is joined words that speak of no password: one in three may be a label's."""
    if not _JOINED_WORDS.match(value):
        return False
    words = value.lower().decode("ascii").replace("_", "-").split("-")
    labels = LABEL_WORDS.intersection(words)
    return len(labels) <= len(words) // 3 and SECRET_LABELS.isdisjoint(labels)


@lru_cache(maxsize=AT_ONCE)
def is_about(value: bytes) -> bool:
    """Whether a value is a label, a message, a type or a rule about a password."""
    if _LABEL_OR_FOREIGN.after(value) is not None and (
        _NUMBER.search(value) is None or _FOREIGN.after(value) is not None
    ):
        return True
    return b" " in value and _MESSAGE.after(value) is not None


def is_aside(name: str, value: bytes) -> bool:
    """Whether a value says itself that it is none: a rule, a message, a version, its own name."""
    if value.isalnum():
        return False
    if is_about(value) or _REFERENCE.match(value) or (b" " in value and name.lower() == "pwd"):
        return True
    return value.rstrip(b"0123456789").lower() == name.lower().encode("latin-1")


_SPOKEN = re.compile(rb"[A-Za-z0-9\x80-\xff]")
_DIGIT = re.compile(rb"[0-9]")
_NUMBER = re.compile(rb"(?i)(?<!sha)(?<!aes)(?<![0-9])[0-9]{3}")
_LABEL = (
    rf"(?:(?:{'|'.join(sorted(LABEL_WORDS))})"
    r"|[ _.,:;|=?!'/()<>\[\]-]|[0-9]|\b[as]\b)+"
)
_MESSAGE = compiled(rf"(?i)(?:^|[^a-z])(?:{'|'.join(sorted(MESSAGE_WORDS))})(?:[^a-z]|$)")
_SPEECH = rf"(?:[^\W\d]|[ \x80-\xff:])*(?:{FOREIGN_WORDS})(?:[^\W\d]|[ \x80-\xff:])*"
_FOREIGN = compiled(rf"(?i)^{_SPEECH}$")
_LABEL_OR_FOREIGN = compiled(rf"(?i)^(?:{_LABEL}|{_SPEECH})$")
"""Either, in one look: most values are neither."""
_ADDRESS = re.compile(
    rb"""(?ix)
    (?: [a-z][a-z0-9+.-]*:// | \{\w+\} | \.{0,2}/[\w.-]* (?:/|$) | ~/ | [a-z]:\\ | arn: | env/
      | [\^~<>=]{0,2} v?\d+ \. \d+ [\w.+-]* $          # a version
      | \d+ / [a-z]                                    # a rate
      | [a-z_]\w* (?: \. [a-z_]\w* )+ $                # a path of modules
      | (?-i: [A-Z]+ (?: _ [A-Z0-9]+ )+ $ )            # the name of a variable
      | [?&] [\w.]+ =
    )
    """
)
_REFERENCE = re.compile(
    rb"[\^~<>=]{0,2}v?\d+\.\d+(?:\.\d+)?$|\d+/[a-z]+(?:/[a-z]+)?$|(?:env|file|vault|ssm|op)[:/]"
    rb"|[?&][\w.]+=$|(?:\\x[0-9a-fA-F]{2}){1,3}$"
)
"""Versions, rates, where a secret is kept, the start of a query, a byte or two."""
_JOINED_WORDS = re.compile(rb"[A-Za-z]{3,16}(?:[-_][A-Za-z]{3,16}){1,3}$")
_PHRASE = re.compile(rb"[a-z\x80-\xff]+(?: [a-z\x80-\xff]+){1,5}$")
_TITLE = re.compile(rb"(?:[A-Z]|\xc3[\x80-\x9e])[a-z\x80-\xff]*$|[A-Z]+$")
_NAME = re.compile(rb"[A-Za-z]+(?:[-_./:][A-Za-z]+)+[:.,?]?$|[a-z]+(?:[A-Z][a-z]+)+$|[a-zA-Z]+:$")
