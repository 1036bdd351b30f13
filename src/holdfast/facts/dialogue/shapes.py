"""What a single word is, by its shape: a date, a version, a hash, an id."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from holdfast.facts.dialogue.vocabulary import phrases_in

MentionKind: TypeAlias = Literal[
    "url", "host", "port", "version", "hash", "id", "ticket", "amount", "date", "time", "value"
]

_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")
_DATE = re.compile(
    r"\d{4}-[01]\d-[0-3]\d(?:T\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)?\Z|"
    r"[0-3]?\d/[0-3]?\d/(?:\d\d){1,2}\Z|[0-3]?\d\.[01]?\d\.\d{4}\Z|"
    r"\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?\Z|\d{1,2}月\d{1,2}日\Z"
)
_TIME = re.compile(r"[012]?\d:[0-5]\d(?::[0-5]\d)?(?:[AaPp][Mm])?\Z|1?\d[AaPp][Mm]\Z")
_AMOUNT = re.compile(
    r"-?(?:[$€£¥₹₩₽]|US\$|R\$)\d[\d,.]{0,20}[kKmMbB]?\Z|-?\d[\d,.]{0,20}(?:[€£¥₹₩₽$]|元|円|원)\Z"
)
_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?::\d{2,5})?\Z")
_HOST_PORT = re.compile(r"(?:[a-z][\w-]*(?:\.[\w-]+)*)?:\d{2,5}\Z")
_VERSION = re.compile(
    r"[vV]\d{1,4}(?:\.\d{1,6}){0,3}(?:[-+.][\w.+-]{1,30})?\Z|"
    r"[\^~=<>]{0,2}\d{1,4}(?:\.\d{1,6}){2,3}(?:[-+][\w.+-]{1,30})?\Z"
)
_SHORT_VERSION = re.compile(r"\d{1,3}\.\d{1,3}\Z")
_HEX = re.compile(r"(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}\Z")
_TICKET = re.compile(r"[A-Z][A-Z0-9]{1,9}-\d{1,7}\Z|#\d{1,5}\Z")
_CODE = re.compile(r"(?=\w*[A-Z])(?=\w*\d)[A-Z0-9]{5,16}\Z")
_SOURCE_LINE = re.compile(r"[^:]*\.[a-z]{1,4}:\d+\Z")
_USER_ID = re.compile(r"[A-Za-z]+(?:_[A-Za-z]+)*_[A-Za-z]*\d{2,}\w*\Z|[a-z]{2,}\d{3,}\Z")
_NUMBER_ID = re.compile(r"\d{6,20}\Z")
_NUMBER = re.compile(r"\d{1,20}\Z")
_DAY = re.compile(r"[0-3]?\d(?:st|nd|rd|th)?\Z")
_NOT_IDS = re.compile(
    r"(?:sha|md|utf|base|aes|rsa|ipv|http|rfc|iso|ed|x|i|int|uint|float|fp|mp|tls|ssl|es|"
    r"oauth|win|arm|amd|h|v|p|q|s)[-_]?\d+(?:_\d+)?\Z",
    re.I,
)
_EDGES = ".,;:!?()[]{}\"'`*<>«»“”‘’…。，、；：！？（）「」|"


def stripped(word: str) -> str:
    """Return a word without the marks around it."""
    return word.strip(_EDGES)


def shape_of(word: str) -> MentionKind | None:
    """Return what a stripped word is by itself; None where it takes other words to tell."""
    if len(word) < 2 or len(word) > 100 or "@" in word:
        return None
    first = word[0]
    if first.isdigit() or first in "^~=<>-":
        return _numeric(word)
    if first in "$€£¥₹₩₽" or (first in "UR" and "$" in word):
        return "amount" if _AMOUNT.match(word) else None
    if first in "#:":
        return "ticket" if _TICKET.match(word) else "port" if _HOST_PORT.match(word) else None
    return _lettered(word)


def _numeric(word: str) -> MentionKind | None:
    if _NUMBER_ID.match(word):
        return "id"
    if word.isdigit():
        return None
    if _UUID.match(word):
        return "id"
    if _DATE.match(word):
        return "date"
    if _TIME.match(word):
        return "time"
    if _AMOUNT.match(word):
        return "amount"
    if _ADDRESS.match(word):
        return "host"
    if _VERSION.match(word):
        return "version"
    if _HEX.match(word):
        return "hash"
    return "id" if _CODE.match(word) else None


def _lettered(word: str) -> MentionKind | None:
    if _VERSION.match(word):
        return "version"
    if ":" in word:
        return "host" if _HOST_PORT.match(word) and not _SOURCE_LINE.match(word) else None
    if _HEX.match(word):
        return "hash"
    if _NOT_IDS.match(word):
        return None
    if _UUID.match(word) or _CODE.match(word) or _USER_ID.match(word):
        return "id"
    return "ticket" if _TICKET.match(word) else None


_BEFORE: dict[str, MentionKind] = {
    **dict.fromkeys(("port", "ports", "puerto", "porta", "端口", "порт"), "port"),
    **dict.fromkeys(("version", "versions", "versión", "versão"), "version"),
    **dict.fromkeys(("pr", "prs", "issue", "issues", "ticket", "bug", "mr", "pull"), "ticket"),
    **dict.fromkeys(
        ("id", "ids", "order", "number", "account", "zip", "invoice", "booking", "card", "case",
         "ending in", "pid", "gate", "flight", "reservation"), "id",
    ),
}  # fmt: skip
_CURRENCIES = frozenset(
    phrases_in(
        "usd|eur|gbp|jpy|cny|rmb|inr|chf|cad|aud|krw|rub|brl|dollars|dollar|euros|euro|"
        "pounds|yen|yuan|rupees|bucks|元|円|руб|рублей"
    )
)
HALVES = frozenset(("am", "pm", "a.m", "p.m"))
MONTHS = frozenset(
    phrases_in(
        "january|february|march|april|may|june|july|august|september|october|november|"
        "december|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec"
    )
)
CODE_WORDS = frozenset(
    phrases_in(
        "reservation|reservations|booking|confirmation|code|codes|pnr|reference|ref|record|"
        "id|ids|number|flight"
    )
)
"""After these a word of capitals is a code."""
_NAMING = frozenset(("id", "number", "zip", "account", "pid", "code"))
"""Of these a sentence says "is": my id is 25."""
_LEAST_ID_DIGITS = 2


def shape_between(word: str, two_before: list[str], after: str) -> MentionKind | None:
    """Return what a bare number is, by the words beside it in lower case."""
    before = two_before[-1] if two_before else ""
    if (before in MONTHS or after in MONTHS) and _DAY.match(word):
        return "date"
    if _NUMBER.match(word):
        if after in _CURRENCIES:
            return "amount"
        if after in HALVES:
            return "time"
        kind = _BEFORE.get(before) or _BEFORE.get(" ".join(two_before))
        if kind is None and before in ("is", "was") and two_before[0] in _NAMING:
            kind = "id"
        return None if kind == "id" and len(word) < _LEAST_ID_DIGITS else kind
    if _SHORT_VERSION.match(word):
        if after in _CURRENCIES:
            return "amount"
        return "version" if before == "version" or before in _RUNTIMES else None
    return None


_RUNTIMES = frozenset(
    phrases_in(
        "go|python|node|nodejs|ruby|java|php|rust|kotlin|swift|scala|typescript|react|vue|"
        "angular|django|rails|postgres|postgresql|mysql|redis|ubuntu|debian|alpine|macos|ios|"
        "android|kubernetes|docker|terraform|ansible|gcc|clang|cmake|bazel|gradle|maven"
    )
)
