"""Secrets that the name of a field gives away: `password = …`, `"apiKey": "…"`, `--token …`.

The name decides how much a value has to look like a secret. It may also be wrapped: in a list, a
map, a call, or as one of two alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from foldaway._core import Regex
from foldaway.redaction.fields import MAX_VALUE, Candidate, FieldLink, FieldValue, link_at, value_at
from foldaway.redaction.gates import is_mixed, is_opaque, is_password, is_random, is_uuid
from foldaway.redaction.judge import FieldText, is_said, is_secret
from foldaway.redaction.matching import Pattern, Range, Spans
from foldaway.redaction.names import is_secret_entry, kind_of, sort_of_name
from foldaway.redaction.surroundings import LINE_ENDS, is_secret_by_context
from foldaway.redaction.text import Span, end_of_string
from foldaway.redaction.values import (
    describes_password,
    is_human_password,
    is_map_password,
    is_named,
    is_unspeakable,
)

MAX_JUDGED = 512
"""How many bytes of a value decide whether it is a secret."""

FieldSecrets: TypeAlias = "tuple[list[Span], int, int]"
"""The secrets of a candidate, how many bytes were read for it, and where the next candidate may
start: a value that is not a secret may be a name."""


def secrets_at(data: bytes, at: Candidate, *, code: bool) -> FieldSecrets:
    """Return the secrets that a candidate gives away.

    With `code`, values without quotes count only after `--flag` and in URLs.
    """
    link = link_at(data, at)
    if link is None:
        return [], 0, at[1]
    value = _value_of(data, link)
    if value is None:
        return _wrapped_secrets(data, link, 0)
    start, end, quoted = value
    look = data[start : min(end, start + MAX_JUDGED)]
    if not (
        is_secret(FieldText(look, quoted, link.name, link.strength, link.mode, link.compares))
        or (link.strength == "strong" and is_secret_by_context(data, link, look, value))
    ):
        is_whole = quoted or look.isdigit()  # nothing is wrapped in it
        return (
            ([], end - start, link.end) if is_whole else _wrapped_secrets(data, link, end - start)
        )
    bare = not quoted and link.mode in ("assign", "prose", "cell")
    if code and bare and not link.query and link.before != b"-":
        return [], end - start, link.end
    secret = Span(start, end, kind_of(link.name))
    if link.mode == "prose" and (changed := _CHANGED.at(data, end)) is not None:
        first, last = changed[1]
        if is_said(data[first:last]):
            return [secret, Span(first, last, secret.kind)], last - link.first, last
    if not quoted:
        return [secret], end - link.first, end
    beside = values_beside(data, end, data[start:end])
    return [secret, *(Span(a, b, secret.kind) for a, b in beside)], end - link.first, end


def _wrapped_secrets(data: bytes, link: FieldLink, read: int) -> FieldSecrets:
    """Return the secrets that are wrapped in the value of a field."""
    if link.mode not in _WRAPPING or link.compares or link.query:
        return [], read, link.end
    if not is_wrapped(data, link.end):
        return [], read + WRAP, link.end
    kind = kind_of(link.name)
    string = _string_secret(data, link)
    if string is not None:
        return [Span(*string, kind)], read + REACH, link.end
    spans, more = wrapped_values(
        data, link.end, uuids=link.strength == "strong", short=kind == "password"
    )
    return [Span(a, b, kind) for a, b in spans], read + more + WRAP, link.end


WRAP = 64
"""What two looks into a wrap cost beyond the bytes that they read, in bytes."""


def _string_secret(data: bytes, link: FieldLink) -> Range | None:
    """Return a password that a person has chosen, in a list or a call that changes its type."""
    if link.strength != "strong" or link.mode != "assign":
        return None
    sort = sort_of_name(link.name)
    found = string_in_wrap(data, link.end)
    if found is None:
        return None
    (start, end), is_call = found
    value = data[start:end]
    if sort in ("password", "secret"):
        fits = is_human_password(value) if is_call else is_map_password(value)
    else:
        fits = (
            is_call and len(value) >= SHORTEST_KEY and is_map_password(value) and b" " not in value
        )
    return (start, end) if fits and (is_call or not is_named(value)) else None


SHORTEST_KEY = 8
"""Shortest key or token that a person has chosen, in a wrap."""
_CHANGED = Pattern(r"[\"'`]?[ \t](?:to|->|=>)[ \t][\"'`]?([^\s\"'`\\\x00,;]{6,128})")
"""What follows the old password if a sentence goes on to the new one."""
_WRAPPING = frozenset(("assign", "pair", "cell", "loose", "prose"))


def _value_of(data: bytes, link: FieldLink) -> FieldValue | None:
    """Return the value of a field, as far as its mode says where it ends."""
    mode = link.mode
    value = value_at(data, link.end, lines=mode in _ON_LINES, query=link.query)
    if value is None or value[0] == value[1]:
        return None
    start, end, quoted = value
    if mode in ("tag", "attr"):
        if not (link.before == b"<" or mode == "attr" or _is_prefixed(data, link)):
            return None
        close = data.find(b"</", start, start + MAX_VALUE)
        if (
            close < 0
            or end_of_string(data, start, close) < close
            or data.find(0, start, close) >= 0
        ):
            return None
        end = start + len(data[start : max(start, close)].rstrip())
        return None if end == start else (start, end, quoted)
    if mode == "below" and (quoted or data[end : end + 1] not in LINE_ENDS):
        return None
    if quoted:
        return value
    if mode == "prose":
        end = start + (len(data[start:end].rstrip(b".,:;")) or end - start)
    return None if data[start] in b"[{(" else (start, end, False)


_ON_LINES = frozenset(("tag", "flag", "attr", "below"))
"""Modes in which the value may be on the next line."""


def _is_prefixed(data: bytes, link: FieldLink) -> bool:
    """Whether the name of a tag has a prefix: `<wsse:Password>`."""
    first = link.start - len(link.name)
    return link.before == b":" and _TAG_PREFIX.search(data, max(0, first - 24), first) is not None


_TAG_PREFIX = Regex(rb"<[A-Za-z][\w.-]*:$")


MAX_VALUES = 64
"""Most values in one list or map."""
REACH = 640
"""How many bytes are read for one value."""
MIN_QUOTED, MIN_BARE = 16, 20
"""Shortest key in a wrap, in quotes and without."""
MIN_PASSWORD = 6
"""Shortest password in a wrap."""
MAX_WRAPPED = 512
"""Longest value; as a count in a pattern this would cost more than all the rest of the pattern."""
LOOK = 176
"""Longest wrap in bytes, up to the value in it or to the sign that there is another."""


def is_wrapped(data: bytes, at: int) -> bool:
    """Whether a value may be wrapped after a separator that ends at `at`.

    This costs less than the patterns below and is true for everything that they match.
    """
    return _WRAP.match(data, at, at + LOOK) is not None


def wrapped_values(
    data: bytes, at: int, *, uuids: bool, short: bool = False
) -> tuple[list[Range], int]:
    """Return the values in a list, a map, a call or an alternative, and how many bytes were read.

    `token = String::from("…")`, `"tokens": ["…", "…"]`, `api_keys: {prod: …}`: so far from its name
    a value must look random. With `uuids` the first may be a UUID, unless it is an entry of a map;
    with `short` a string may be a password instead of a key.
    """
    found: list[Range] = []
    end = at
    pattern = _FIRST_WRAPPED
    while len(found) < MAX_VALUES:
        match = pattern.at(data, end, end + REACH)
        span = (
            None if match is None else _span_of(data, match, uuids=uuids and not found, short=short)
        )
        if span is None:
            break
        found.append(span)
        end = span[1]
        pattern = _NEXT_WRAPPED
    return found, end - at


def _span_of(data: bytes, match: Spans, *, uuids: bool, short: bool) -> Range | None:
    _, name, quote, (start, end) = match
    end = min(end, start + MAX_WRAPPED)
    value = data[start:end]
    if quote[0] >= 0:
        opened = data[slice(*quote)]
        if not data.startswith(opened, end) or (len(value) < MIN_QUOTED and not short):
            return None
    elif len(value) < MIN_BARE or data[end : end + 1] not in _WRAP_ENDS:
        return None
    if name[0] >= 0 and not is_secret_entry(data[slice(*name)].decode("latin-1")):
        return None
    if len(value) < MIN_QUOTED:
        fits = (
            len(value) >= MIN_PASSWORD
            and is_mixed(value)
            and is_password(value)
            and not describes_password(value)
        )
        return (start, end) if fits and not _KEY_OF_MAP.match(data, end + 1) else None
    fits = (is_opaque(value) and not is_named(value)) or (uuids and name[0] < 0 and is_uuid(value))
    return (start, end) if fits else None


def values_beside(data: bytes, end: int, secret: bytes) -> Iterator[Range]:
    """Yield the values after a secret in the same list, or joined to it."""
    for _ in range(MAX_VALUES):
        found = _SIBLING.at(data, end)
        if found is None:
            return
        (_, end), closing, opening, (start, stop) = found
        quote = data[slice(*opening)]
        if data[slice(*closing)] != quote or not data.startswith(quote, end):
            return
        if _KEY_OF_MAP.match(data, end + len(quote)):
            return
        value = data[start:stop]
        if value != secret and (
            len(value) < 12
            or is_named(value)
            or not (is_mixed(value) or is_random(value) or is_unspeakable(value))
        ):
            return
        yield start, stop


def string_in_wrap(data: bytes, at: int) -> tuple[Range, bool] | None:
    """Return the string in a list, in a map of one entry or in a call that only changes its type.

    The second value is whether it is a call.
    """
    found = _WRAPPED_STRING.at(data, at, at + REACH)
    if found is None:
        return None
    _, opened, quote, value = found
    if not data.startswith(data[slice(*quote)], value[1]):
        return None
    return value, opened[0] < 0


_WRAP = Regex(
    rb"""(?x)
      [ \t]*+ (?: [\[({<@*`\\\r\n\f\v] | lambda )             # a list, a map, the next line
    | [ \t]*+ (?: new[ ] )? [A-Za-z_\]] [\w.:<>\[\]]*+ [({]    # a call
    | [^\r\n\x00,;] [^\r\n\x00,;\ \t]*+                       # an alternative
      (?: [ \t]++ (?! (?: or | else | [|?:]{1,2} ) [ \t] ) [^\r\n\x00,;\ \t]*+ )*+ [ \t]
    """
)
_WRAPPED_STRING = Pattern(
    r"\s{0,4}(?:([\[{(])\s{0,24}(?:\\{0,6}[\"'](?:S|value|val|[sS]tring_?[vV]alue|default|plain|plaintext"
    r"|current|raw|text)\\{0,6}[\"']\s{0,2}(?::|=>)\s{0,2})?"
    r"|(?:new )?(?:[A-Za-z_]\w{0,24}(?:::|\.)){0,3}(?:from|from_str|bytes|bytearray|String|str"
    r"|Some|quote|quote_plus|safequote|urlquote|escape|to_bytes|Secret|SecretStr|Text|literal|unicode|of"
    r"|b|u)\(|\[\]byte\(|<<|lambda[ \w,]{0,16}: ?|\(\) ?=> ?"
    # a default: os.environ.get("X", "…"), Field(default="…")
    r"|[A-Za-z_][\w.]{0,40}\([^()\r\n\x00]{0,80}?\b(?:default|fallback|initial) ?= ?"
    r"|(?:[A-Za-z_]\w{0,24}\.){0,2}(?:getenv|get|pop|env)\([\"'][\w.-]{1,40}[\"'],[ ]?)"
    r"[bu]?(\\{0,6}[\"'`])([^\"'`\r\n\\\x00]{3,80})\\{0,6}[\"'`][ \t]{0,4}(?:[)\]},>.\r\n]|$)"
)
_SIBLING = Pattern(
    r"[ ]?(\\{0,6}[\"'`])\s{0,4}(?:[|,+]|\\{1,3}n)?\s{0,64}(\\{0,6}[\"'`])"
    r"[ ]?([^\s\"'`\\\x00]{8,1000})[ ]?"
)
_KEY_OF_MAP = Regex(rb"\s{0,4}(?::|=>)")
_WRAP_ENDS = (b"", *(bytes((c,)) for c in b"])}>,;`* \t\r\n"))
_Q = r"\\{0,6}[\"'`]"
_ENTRY = rf"(?:{_Q})?([A-Za-z][\w.-]{{0,39}})(?:{_Q})?[ \t]{{0,4}}(?::|=>?)[ \t]{{0,4}}"
_VALUE = rf"({_Q})?([A-Za-z0-9_+/=.~:|$!@#%^&*-]{{6,}})"
_FIRST_WRAPPED = Pattern(
    r"(?:"
    rf"\s{{0,40}}(?:[\[({{<][\[({{<\s]{{0,40}}|\r?\n[ \t]{{1,32}}(?:- )?){_ENTRY}"  # a map
    r"|\s{0,40}[\[({<@*`][\[({<\s*`]{0,40}"  # a list, a group
    r"|[ \t]{0,4}\\?\r?\n[ \t]{0,32}(?:- )?"  # the next line
    r"|[ \t]{0,4}(?:new )?[A-Za-z_\[\]][\w.:<>\[\]]{0,39}[({]{1,2}\s{0,8}"  # a call
    r"|[ \t]{0,4}<<[-~]?[\"']?[A-Za-z_]{1,16}[\"']?\r?\n[ \t]{0,32}"  # a document
    r"|[^\r\n\x00,;]{1,60}?(?:[ \t](?:or|else|\|\||\?\?|\?:?|:))[ \t]{1,2}"  # an alternative
    rf"){_VALUE}"
)
_NEXT_WRAPPED = Pattern(
    rf"(?:{_Q})?(?:[ \t]{{0,4}},\s{{0,40}}|[ \t]{{0,4}}\r?\n[ \t]{{1,32}})(?:- |{_ENTRY})?{_VALUE}"
)
