"""The other half of a credential: an id or a user that stands beside a secret.

`client_id`, `accountSid` or `zentrix_app_id` is worth hiding where the secret that it belongs to
was found within a few lines, and an ordinary id elsewhere. A user's name is one only where it looks
random: a service has made it up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.redaction.gates import is_uuid, unnamed
from holdfast.redaction.matching import compiled
from holdfast.redaction.span import Span

NEAR = 320
"""So many bytes before or after the secret; some six lines of settings."""
KIND = "credential-id"
_LATE = 1 << 20
"""Its rank: any rule that finds the same comes before."""
_ID = compiled(
    r"(?:([A-Za-z0-9]{1,32}(?:[ _.-][iI][dD]|I[dD])|(?:app|client|account|tenant)id|[tT]enant"
    r"|[uU]ser(?:_?[nN]ame)?|USER(?:_?NAME)?|[eE]mail|EMAIL|[lL]ogin|LOGIN)"
    r"[\"'`\\]{0,4}[ \t]{0,8}(?::=|=>|[:=-])[ \t]{0,4}[\"'`\\]{0,4}([\w.~@-]{12,80})"
    r"|<id>\{?(?:[\w.-]{1,32} )?([\w.~@#&%!-]{12,80}))"
)
_APP = (b"app_id", b"appid", b"app-id", b"client_id", b"clientid", b"client-id")
"""These may be numbers."""
MIN_NUMBER = 10
MIN_SNOWFLAKE = 15
"""Other ids are counters or times, unless they are as long as this."""
_OTHER = tuple(
    word + joint + b"id"
    for word in b"request req trace span session message msg call tool run job build commit event"
    b" order item record row node parent block tx transaction page post comment thread process"
    b" correlation conversation checkpoint image object file task step card booking device uu gu"
    b" turn response chat completion snapshot version revision release".split()
    for joint in (b"", b"_", b"-", b".", b" ")
)
"""Of these ids no credential is a half."""


def companions(data: bytes, secrets: Sequence[Span], kinds: frozenset[str]) -> list[Span]:
    """Return the ids that stand near `secrets` of other than these kinds."""
    found: list[Span] = []
    for start, end in _stretches(secrets, kinds):
        for _, (first, last), *values in _ID.all(data[max(0, start) : end]):
            begin, stop = max(values)
            base = max(0, start)
            name = data[base + first : base + last].lower()
            value = data[base + begin : base + stop]
            if not name.endswith(_OTHER) and (
                is_uuid(value) or unnamed(value)
                or _is_number(value, MIN_NUMBER if name.endswith(_APP) else MIN_SNOWFLAKE)
            ):  # fmt: skip
                found.append(Span(base + begin, base + stop, KIND, _LATE))
    for span in secrets:
        after = _AFTER_ID.at(data, span.end) if span.kind == "aws-access-key-id" else None
        if after is not None and unnamed(data[slice(*after[1])]):
            found.append(Span(*after[1], "aws-secret-key", _LATE))
        if span.kind == "jwt":
            found += _parts_of_token(data, span)
        first = None if span.kind in kinds else _argument_before(data, span.start)
        if first is not None:
            found.append(Span(*first, KIND, _LATE))
    return found


def _is_number(value: bytes, size: int) -> bool:
    """Whether a value is a number of so many digits, after a prefix or not: `cli_1234567890`."""
    return value.lstrip(_LETTERS).isdigit() and len(value.lstrip(_LETTERS)) >= size


_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"


def _argument_before(data: bytes, at: int) -> tuple[int, int] | None:
    """Return the random string before the one that starts at `at`: `("id…", secret="…")`."""
    if data[at - 1 : at] not in _QUOTES:
        return None
    base = max(0, at - REACH)
    before = _ARGUMENT.after(data[base:at])
    if before is None:
        return None
    start, end = before[1]
    value = data[base + start : base + end]
    return (base + start, base + end) if unnamed(value) or is_uuid(value) else None


def _parts_of_token(data: bytes, span: Span) -> Iterator[Span]:
    """Yield what a token claims, where its parts stand in strings of their own."""
    base = max(0, span.start - NEAR)
    for _, (start, end) in _CLAIMS.all(data[base : span.end + NEAR]):
        yield Span(base + start, base + end, span.kind, _LATE)


_CLAIMS = compiled(
    r"(?:payload|claims|body)\\{0,6}[\"'`]?\]?[ \t]{0,4}(?::?=|:)[ \t]{0,4}b?\\{0,6}[\"'`](ey[A-Za"
    r"-z0-9_-]{8,1000})"
)
_AFTER_ID = compiled(
    r"\\{0,6}[\"'`]?[ \t]{0,4}[,;:| \t][ \t]{0,8}\\{0,6}[\"'`]?"
    r"([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/]|$)"
)
"""The secret that stands beside the id of its key, without any name."""
REACH = 160
_QUOTES = (b'"', b"'", b"`")
_ARGUMENT = compiled(
    r"[\"'`]([A-Za-z0-9_.+/=~-]{12,80})\\{0,6}[\"'`],\s{0,24}(?:[A-Za-z_]{1,24}[ ]?[=:][ ]?)?"
    r"\\{0,6}[\"'`]$"
)


def _stretches(secrets: Sequence[Span], kinds: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield what is near to secrets, joined where it overlaps."""
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
