"""Tokens of vendors that no list names: a prefix tells what they are, and the rest is random."""

from __future__ import annotations

from holdfast.redaction.fillers import real
from holdfast.redaction.randomness import is_named, looks_random
from holdfast.regex import Regex


def marked(value: bytes) -> bool:
    """Whether something random stands after a word that says what it is: `xyz_live_…`.

    After a word that ids, tags and cache keys have too (`test`, `key`) it must have capitals, small
    letters and digits, as no digest has.
    """
    pieces = _JOINT.split(value)
    last = max((n for n, piece in enumerate(pieces[:-1]) if _MARK.search(piece)), default=-1)
    if last < 0 or _OPEN.match(pieces[0]):
        return False
    tail = value[sum(map(len, pieces[: last + 1])) + last + 1 :]
    longest = max(map(len, pieces[last + 1 :]))
    digits = _digits(tail)
    if len(tail) < 20 or (longest < 16 and len(tail) < 32) or (longest < 20 and not digits):
        return False
    if _ULID.match(tail) or not _is_random(tail):
        return False
    cased = digits > 0 and not (tail.islower() or tail.isupper())
    return cased or any(_SURE.search(piece) for piece in pieces[: last + 1])


def prefixed(value: bytes) -> bool:
    """Whether a long run of small letters, capitals and digits stands after a short prefix.

    Ids have such prefixes too (`call_…`, `cus_…`), but they are shorter, hexadecimal, or begin with
    what they are the id of.
    """
    *words, tail = _JOINT.split(value)
    if any(_OPEN.match(word) or word.lower() in _THINGS for word in words):
        return False
    if tail.startswith(b"eyJ"):  # a JSON Web Token, which has a rule of its own
        return False
    return not (tail.islower() or tail.isupper()) and _digits(tail) > 1 and _is_random(tail)


def _is_random(tail: bytes) -> bool:
    return looks_random(tail) and not is_named(tail) and real(tail)


def _digits(tail: bytes) -> int:
    return len(tail) - len(tail.translate(None, b"0123456789"))


_JOINT = Regex(rb"[_-]")
_MARK = Regex(
    rb"(?i)^(?:live|test|prod|production|sandbox|staging|api|key|access|priv|private|secret|token"
    rb"|apikey|sat|sk|rk)$|pat$"
)
_SURE = Regex(rb"(?i)^(?:live|secret|token|apikey|sat|sk|rk)$|pat$")
_OPEN = Regex(rb"(?i)^(?:pk|pub|public|publishable|anon|sha\d*|md5)$")
"""What stands before keys that anybody may know, and before digests."""
_ULID = Regex(rb"^01[0-9A-HJKMNP-TV-Za-z]{24}$")
_THINGS = frozenset(
    b"account acct ami arn asset audio batch blob block branch build bundle cache call chat "
    b"checkpoint chunk class cluster col column commit conf config conv css cursor cus "
    b"customer data db digest dir disk doc drive edge eni etag event evt example exec field "
    b"file flow fn folder font form func graph hash icon id image img index instance invoice "
    b"item job js key layer lic main message mock model module msg next node obj object order "
    b"page part path plan post prev price product ref release repo req request resp response "
    b"rev row run sample seg segment session sg shard snap span spec state static step stub "
    b"subnet sum table tag task temp test thread tmp tool toolu trace type upload user var "
    b"vendor version video view vol volume vpc".split()
)
"""What ids begin with."""
