"""What is found near another secret: the id that belongs to it, and the same value again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foldaway._core import Regex
from foldaway.redaction.gates import is_mixed, is_unnamed, is_uuid
from foldaway.redaction.matching import Pattern, Range
from foldaway.redaction.names import WORDS
from foldaway.redaction.text import LINE, PRIVATE_KEY, Span
from foldaway.redaction.values import describes_password, is_named

NEAR = 320
"""How many bytes before and after a secret are searched for ids: about six lines of settings."""
KIND = "credential-id"
_LATE = 1 << 20
"""The rank of what is found here, after that of any rule."""
_ID = Pattern(
    r"(?:([A-Za-z0-9]{1,32}(?:[ _.-][iI][dD]|I[dD])|(?:app|client|account|tenant)id|[tT]enant"
    r"|[uU]ser(?:_?[nN]ame)?|USER(?:_?NAME)?|[eE]mail|EMAIL|[lL]ogin|LOGIN)"
    r"[\"'`\\]{0,4}[ \t]{0,8}(?::=|=>|[:=-])[ \t]{0,4}[\"'`\\]{0,4}([\w.~@-]{12,80})"
    r"|<id>\{?(?:[\w.-]{1,32} )?([\w.~@#&%!-]{12,80}))"
)
_APP = (b"app_id", b"appid", b"app-id", b"client_id", b"clientid", b"client-id")
"""Names of ids that may be numbers."""
MIN_NUMBER = 10
"""Fewest digits of such an id."""
MIN_SNOWFLAKE = 15
"""Fewest digits of any other id; shorter ones are counters or times."""
_OTHER = tuple(
    (word + joint + "id").encode() for word in WORDS["other_id"] for joint in ("", *"_-. ")
)
"""Names of ids that belong to no credential."""


def find_paired_ids(data: bytes, secrets: Sequence[Span], kinds: frozenset[str]) -> list[Span]:
    """Return the ids near `secrets` of other than these kinds: the other half of a credential.

    `client_id`, `accountSid` or `zentrix_app_id` is worth hiding only if its secret is within a few
    lines. A user's name counts only if it looks random: a service has generated it.
    """
    found: list[Span] = []
    for start, end in _stretches(secrets, kinds):
        for _, (first, last), *values in _ID.all(data[max(0, start) : end]):
            begin, stop = max(values)
            base = max(0, start)
            name = data[base + first : base + last].lower()
            value = data[base + begin : base + stop]
            if not name.endswith(_OTHER) and (
                is_uuid(value)
                or is_unnamed(value)
                or _is_number(value, MIN_NUMBER if name.endswith(_APP) else MIN_SNOWFLAKE)
            ):
                found.append(Span(base + begin, base + stop, KIND, _LATE))
    for span in secrets:
        after = _AFTER_ID.at(data, span.end) if span.kind == "aws-access-key-id" else None
        if after is not None and is_unnamed(data[slice(*after[1])]):
            found.append(Span(*after[1], "aws-secret-key", _LATE))
        if span.kind == "jwt":
            found += _parts_of_token(data, span)
        first = None if span.kind in kinds else _argument_before(data, span.start)
        if first is not None:
            found.append(Span(*first, KIND, _LATE))
    return found


def _is_number(value: bytes, size: int) -> bool:
    """Whether a value is a number of at least `size` digits, perhaps with a prefix: `cli_123…`."""
    return value.lstrip(_LETTERS).isdigit() and len(value.lstrip(_LETTERS)) >= size


_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"


def _argument_before(data: bytes, at: int) -> Range | None:
    """Return the random string before the one that starts at `at`: `("id…", secret="…")`."""
    if data[at - 1 : at] not in _QUOTES:
        return None
    base = max(0, at - ARGUMENT_REACH)
    before = _ARGUMENT.after(data[base:at])
    if before is None:
        return None
    start, end = before[1]
    value = data[base + start : base + end]
    return (base + start, base + end) if is_unnamed(value) or is_uuid(value) else None


def _parts_of_token(data: bytes, span: Span) -> Iterator[Span]:
    """Yield the claims of a token if its parts are separate strings."""
    base = max(0, span.start - NEAR)
    for _, (start, end) in _CLAIMS.all(data[base : span.end + NEAR]):
        yield Span(base + start, base + end, span.kind, _LATE)


_CLAIMS = Pattern(
    r"(?:payload|claims|body)\\{0,6}[\"'`]?\]?[ \t]{0,4}(?::?=|:)[ \t]{0,4}b?\\{0,6}[\"'`](ey[A-Za"
    r"-z0-9_-]{8,1000})"
)
_AFTER_ID = Pattern(
    r"\\{0,6}[\"'`]?[ \t]{0,4}[,;:| \t][ \t]{0,8}\\{0,6}[\"'`]?"
    r"([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/]|$)"
)
"""The secret directly after the id of its key, without a name."""
ARGUMENT_REACH = 160
"""How far before a secret the argument before it may start: no match of `_ARGUMENT` is longer."""
_QUOTES = (b'"', b"'", b"`")
_ARGUMENT = Pattern(
    r"[\"'`]([A-Za-z0-9_.+/=~-]{12,80})\\{0,6}[\"'`],\s{0,24}(?:[A-Za-z_]{1,24}[ ]?[=:][ ]?)?"
    r"\\{0,6}[\"'`]$"
)


def _stretches(secrets: Sequence[Span], kinds: frozenset[str]) -> Iterator[Range]:
    """Yield the ranges around secrets, joined if they overlap."""
    start, end = 0, -1
    for span in secrets:
        if span.kind in kinds:
            continue
        if span.start - NEAR > end:
            if end > 0:
                yield start, end
            start = span.start - NEAR
        end = span.end + NEAR
    if end > 0:
        yield start, end


REPEAT_REACH = 1_024
"""How many bytes before and after a secret are searched for the same value."""
SHORTEST, LONGEST = 4, 256
"""Length of a value that is searched for again: a password at least, a token at most."""
PLAIN = 6
"""Shortest value that counts as a part of a string or without quotes."""
MOST = 8
"""Most repeats that are searched for around one secret; each repeat is searched around again."""
_PERCENT = Regex(rb"%([0-9A-Fa-f]{2})")
_WORD = Regex(rb"[A-Za-z0-9_\x80-\xff]")


def find_repeats(data: bytes, secrets: Sequence[Span], kinds: frozenset[str]) -> list[Span]:
    """Return where the value of a secret of other than these kinds is repeated without its name.

    A test contains a URL and then the password that it expects, a document an assignment and then
    what it printed. A value that is not telling by itself counts only as a whole string.
    """
    found: list[Span] = []
    known = {span.start for span in secrets}
    searched: dict[bytes, int] = {}
    for span in secrets:
        size = span.end - span.start
        if not SHORTEST <= size <= LONGEST or span.kind in kinds or span.kind in _NEVER:
            continue
        value = data[span.start : span.end]
        for written in (value, _decode_percent(value)) if b"%" in value else (value,):
            if not _is_worth_search(span, written):
                continue
            low = max(span.start - REPEAT_REACH, searched.get(written, 0))
            high = span.end + REPEAT_REACH
            searched[written] = high - len(written) + 1
            for at in _places(data, written, low, high, known):
                end = at + len(written)
                if _is_alone(data, at, end, written):
                    found.append(Span(at, end, span.kind, _LATE))
    return found


def _places(data: bytes, value: bytes, low: int, high: int, known: set[int]) -> Iterator[int]:
    """Yield where a value occurs, except as a known secret."""
    at = data.find(value, low, high)
    for _ in range(MOST if len(value) >= SHORTEST else 0):
        while at in known:
            at = data.find(value, at + len(value), high)
        if at < 0:
            return
        yield at
        at = data.find(value, at + len(value), high)


def _decode_percent(value: bytes) -> bytes:
    """Return a value without the percent encoding of a URL."""
    return _PERCENT.sub(lambda sign: bytes((int(sign[1], 16),)), value)


def _is_worth_search(span: Span, value: bytes) -> bool:
    """Whether a second occurrence can be more than a word by chance, and is not code."""
    if b"\x00" in value or not value.isascii() or _CODE.search(value):
        return False
    return span.kind in _IN_URLS or not _NAME.match(value)


_IN_URLS = frozenset(("url-password", "connection-password", "jdbc-password", "curl-user"))
_CODE = Regex(rb"://|[(){}\[\];]|===|\?\.")
_NAME = Regex(rb"[A-Za-z]+(?:[-_.:/ ][A-Za-z]+)*$")
"""Words: outside of a URL they may be a label that was mistaken for a password."""
_NEVER = frozenset((LINE, PRIVATE_KEY, "credential-id"))


def _is_alone(data: bytes, start: int, end: int, value: bytes) -> bool:
    """Whether a value is a whole string, or a whole word if it is distinctive."""
    before = data[start - 1 : start]
    if before and before in _BEFORE and _STRING_END.match(data, end):
        return is_mixed(value) or not describes_password(value)
    if _WORD.match(data, end) or (
        _WORD.match(before) and not _ESCAPE.search(data, start - 2, start)
    ):
        return False
    if _NUMBER.match(value) and (before in _SIGNS or data[end : end + 1] in _SIGNS):
        return False  # part of a longer number
    return (
        len(value) >= PLAIN
        and is_mixed(value)
        and not describes_password(value)
        and not is_named(value)
    )


_BEFORE = b"\"'`:"
_STRING_END = Regex(rb"""(?:\\{1,2}[nr])?\\{0,6}["'`]""")
_ESCAPE = Regex(rb"\\[nrt]$")
_NUMBER = Regex(rb"[0-9.]+[eE][-+]?[0-9]*$")
_SIGNS = (b"-", b"+", b".")
