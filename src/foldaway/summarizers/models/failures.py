"""Which kind of failure an exception is: by its type, its status and the provider's codes.

Only the status and the code of what a provider said are kept: its sentences may quote the
conversation or the key.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from msgspec import Struct

from foldaway._core import read_table
from foldaway.errors import FailureKind, SummarizerFailed


class _Tables(Struct, frozen=True):
    """The rows of `failures.toml`, which explains them."""

    codes: list[tuple[FailureKind, str]]
    statuses: list[tuple[FailureKind, str]]
    sure_types: list[tuple[FailureKind, str]]
    types: list[tuple[FailureKind, str]]
    phrases: list[tuple[FailureKind, str]]
    connection_words: list[tuple[str, str]]


def _rows(groups: list[tuple[FailureKind, str]]) -> tuple[tuple[str, FailureKind], ...]:
    """Return each name with its kind, in order."""
    return tuple((name, kind) for kind, names in groups for name in names.split())


_TABLES = read_table("failures", _Tables, "foldaway.summarizers.models")
CODES: Mapping[str, FailureKind] = dict(_rows(_TABLES.codes))
STATUSES: Mapping[int, FailureKind] = {
    int(status): kind for status, kind in _rows(_TABLES.statuses)
}
SURE_STATUSES = frozenset({401, 402, 403, 404, 413})
"""Statuses whose meaning no code in the body changes."""
PHRASES: Sequence[tuple[str, FailureKind]] = [(words, kind) for kind, words in _TABLES.phrases]
SURE_TYPES, TYPES = _rows(_TABLES.sure_types), _rows(_TABLES.types)
CONNECTION_WORDS: Sequence[tuple[str, str]] = [
    (name, words) for words, name in _TABLES.connection_words
]
TRANSPORT = frozenset(
    {"httpx.TransportError", "httpx2.TransportError", "aiohttp.client_exceptions.ClientError"}
)
"""Types of what goes wrong between two machines."""

INVENTED = frozenset(
    {"litellm.exceptions.APIConnectionError", "litellm.exceptions.MidStreamFallbackError"}
)
"""Types whose status is not a server's."""

_CODE = re.compile(r"[a-z]+(?:_[a-z]+){0,6}")
_REJECTED = frozenset({400, 422})
"""Statuses of a request that the server does not take as it is."""
_ELSE: FailureKind = "broken answer"


class Interrupted(Exception):
    """Raised from whatever ended an answer that had begun."""


class Reported(Exception):
    """An error that came inside an answer; `body` is what it said."""

    def __init__(self, body: Any) -> None:
        self.body = body
        super().__init__()


def failure(error: Exception, name: str, *, key: str = "") -> SummarizerFailed:
    """Return what `error` means; `key` names the variable with the credentials."""
    chain = list(_chain(error))
    kind = _kind(chain)
    said = _said(chain, kind)
    if kind == "refused" and key:
        said = f"{said}; check {key}" if said else f"check {key}"
    delay = _retry_after(chain) if kind in ("rate limited", "overloaded") else 0.0
    return SummarizerFailed(kind, name, said, retry_after=delay)


def rejected_option(error: Exception, options: Mapping[str, Sequence[str]]) -> str:
    """Return which of the options a 400 is about, by their words in it; "" if it is none."""
    chain = list(_chain(error))
    if _status(chain) not in _REJECTED:
        return ""
    message = _message(chain)
    return next(
        (name for name, words in options.items() if any(word in message for word in words)), ""
    )


def _kind(chain: Sequence[BaseException]) -> FailureKind:
    names = _names(chain)
    status, codes = _status(chain), _codes(chain)
    by_code: list[FailureKind] = [CODES[code] for code in codes if code in CODES]
    if sure := _first(SURE_TYPES, names):
        return sure
    if status in SURE_STATUSES:
        return STATUSES[status]
    if by_code:
        return by_code[0]
    if status in _REJECTED:
        message = _message(chain)
        return _first(PHRASES, {phrase for phrase, _ in PHRASES if phrase in message}) or _ELSE
    if status >= 400:
        fault: FailureKind = "overloaded" if status >= 500 else _ELSE
        return STATUSES.get(status) or fault
    by_type = _first(TYPES, names) or _ELSE
    interrupted = any(isinstance(error, Interrupted) for error in chain)
    return _ELSE if interrupted and by_type == "unreachable" else by_type


def _first(table: Sequence[tuple[str, FailureKind]], names: set[str]) -> FailureKind | None:
    for name, kind in table:
        if name in names:
            return kind
    return None


def _said(chain: Sequence[BaseException], kind: FailureKind) -> str:
    status = _status(chain)
    words = [f"HTTP {status}"] if status else []
    if kind != "unreachable":
        words += [code for code in _codes(chain) if _CODE.fullmatch(code)][:1]
    if words:
        return " ".join(words)
    missing = next((error.name for error in chain if isinstance(error, ImportError)), None)
    if missing:
        return f"the package {missing!r} is missing"
    names = _names(chain)
    if kind == "unreachable":
        closed = "connection closed without an answer"
        return next((words for name, words in CONNECTION_WORDS if name in names), closed)
    if any(isinstance(error, Interrupted) for error in chain):
        return "the answer ended before its end"
    return type(chain[0]).__name__ if kind == "broken answer" else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and what caused it, at most 20 of them."""
    found: list[BaseException] = [error]
    for at in range(20):
        if at == len(found):
            return
        current = found[at]
        yield current
        if isinstance(current, BaseExceptionGroup):
            found += [inner for inner in current.exceptions if inner not in found]
        # also a suppressed context: only there does httpcore say what happened
        causes = (current.__cause__, current.__context__)
        found += [each for each in causes if each is not None and each not in found]


def _names(chain: Sequence[BaseException]) -> set[str]:
    kinds = {base for error in chain for base in type(error).__mro__}
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds}


def _status(chain: Sequence[BaseException]) -> int:
    """Return the HTTP status of the failure, 0 if it has none.

    litellm gives a status of its own to what has none; no server has sent it.
    """
    if not _names(chain).isdisjoint(TRANSPORT):
        return 0
    for error in chain:
        if not _names([error]).isdisjoint(INVENTED):
            continue
        for holder in (error, getattr(error, "response", None)):
            status = getattr(holder, "status_code", None)
            if isinstance(status, int) and 300 <= status <= 599:
                return status
    return 0


def _codes(chain: Sequence[BaseException]) -> list[str]:
    found: list[Any] = []
    for error in chain:
        found += _codes_of(getattr(error, "body", None))
        found += [getattr(error, field, None) for field in ("code", "type")]
    return list(dict.fromkeys(code for code in found if _is_name(code)))


def _codes_of(body: Any) -> list[Any]:
    if not isinstance(body, Mapping):
        return []
    inner = body.get("error")
    if isinstance(inner, Mapping):
        return _codes_of(inner)
    details = body.get("details")
    code = details.get("error_code") if isinstance(details, Mapping) else None
    return [code, body.get("code"), body.get("type")]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 80


def _message(chain: Sequence[BaseException]) -> str:
    """Return what the provider said, to look words up in it and for nothing else."""
    texts = [str(error)[:20_000] for error in chain]
    texts += [str(getattr(error, "body", ""))[:20_000] for error in chain]
    return "\n".join(texts).lower()


def _retry_after(chain: Sequence[BaseException]) -> float:
    for error in chain:
        headers = getattr(getattr(error, "response", None), "headers", None)
        if isinstance(headers, Mapping):
            delay = delay_of({str(key).lower(): str(value) for key, value in headers.items()})
            if delay:
                return delay
    return 0.0


def delay_of(headers: Mapping[str, str]) -> float:
    """Return the seconds that a server asks to wait, 0 if it does not; names in lower case."""
    exact = _number(headers.get("retry-after-ms", "")) / 1000
    if exact:
        return exact
    given = headers.get("retry-after", "")
    delay = _number(given)
    if delay or not given:
        return delay
    until = _moment(given)
    # the server's own clock if it says the time: ours may be off
    now = _moment(headers.get("date", "")) or time.time()
    return max(0.0, until - now) if until else 0.0


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) and value > 0 else 0.0


def _moment(text: str) -> float:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
