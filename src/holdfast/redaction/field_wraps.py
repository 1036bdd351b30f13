"""Secrets a step away from their field: in a list, a map, a call, or behind an alternative.

`token = String::from("…")`, `"tokens": ["…", "…"]`, `api_keys: {prod: …}`. So far from its name a
value counts only if it looks random.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.redaction.chosen import is_about
from holdfast.redaction.field_names import is_secret_entry
from holdfast.redaction.gates import is_opaque, is_uuid, mixed, password, random
from holdfast.redaction.matching import Spans, compiled
from holdfast.redaction.randomness import is_named, is_unspeakable

MAX_VALUES = 64
REACH = 640
"""What is read for one value, at most."""
QUOTED, BARE = 16, 20
SHORTEST = 6
"""So long a value must be."""
LONGEST = 512
"""More of it is not taken; in a pattern this number would cost more than all the rest of it."""


def is_wrapped(data: bytes, at: int) -> bool:
    """Whether something may stand a step away from a separator that ends at `at`.

    A first look, which costs less than the patterns below and lets all through that they match.
    """
    return _WRAP.match(data, at, at + LOOK) is not None


LOOK = 176
"""No wrap is that long, up to the value in it or to what tells that there is another one."""


def wrapped_values(
    data: bytes, at: int, *, uuids: bool, short: bool = False
) -> tuple[list[tuple[int, int]], int]:
    """Return the values after a separator that ends at `at`, and how many bytes were read.

    With `uuids` the first may be one, where it is no entry of a map; with `short` strings count
    that are no key but a password.
    """
    found: list[tuple[int, int]] = []
    end = at
    pattern = _FIRST
    while len(found) < MAX_VALUES:
        match = pattern.at(data, end, end + REACH)
        span = (
            None if match is None else _span_of(data, match, uuids=uuids and not found, short=short)
        )
        if span is None:
            break
        found.append(span)
        end = span[1]
        pattern = _NEXT
    return found, end - at


def _span_of(data: bytes, match: Spans, *, uuids: bool, short: bool) -> tuple[int, int] | None:
    _, name, quote, (start, end) = match
    end = min(end, start + LONGEST)
    value = data[start:end]
    if quote[0] >= 0:
        opened = data[slice(*quote)]
        if not data.startswith(opened, end) or (len(value) < QUOTED and not short):
            return None
    elif len(value) < BARE or data[end : end + 1] not in _ENDS:
        return None
    if name[0] >= 0 and not is_secret_entry(data[slice(*name)].decode("latin-1")):
        return None
    if len(value) < QUOTED:
        fits = len(value) >= SHORTEST and mixed(value) and password(value) and not is_about(value)
        return (start, end) if fits and not _KEY_OF_MAP.match(data, end + 1) else None
    fits = (is_opaque(value) and not is_named(value)) or (uuids and name[0] < 0 and is_uuid(value))
    return (start, end) if fits else None


def siblings(data: bytes, end: int, secret: bytes) -> Iterator[tuple[int, int]]:
    """Yield the values that stand beside a secret in one list, or that are joined to it."""
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
            or not (mixed(value) or random(value) or is_unspeakable(value))
        ):
            return
        yield start, stop


def chosen_in_wrap(data: bytes, at: int) -> tuple[tuple[int, int], bool] | None:
    """Return the string in a list, in a map of one entry, or in a call that changes its type only.

    The second says whether it is a call.
    """
    found = _CHOSEN.at(data, at, at + REACH)
    if found is None:
        return None
    _, opened, quote, value = found
    if not data.startswith(data[slice(*quote)], value[1]):
        return None
    return value, opened[0] < 0


_WRAP = re.compile(
    rb"""(?x)
      [ \t]*+ (?: [\[({<@*`\\\r\n\f\v] | lambda )             # a list, a map, the next line
    | [ \t]*+ (?: new[ ] )? [A-Za-z_\]] [\w.:<>\[\]]*+ [({]    # a call
    | [^\r\n\x00,;] [^\r\n\x00,;\ \t]*+                       # an alternative
      (?: [ \t]++ (?! (?: or | else | [|?:]{1,2} ) [ \t] ) [^\r\n\x00,;\ \t]*+ )*+ [ \t]
    """
)
_CHOSEN = compiled(
    r"\s{0,4}(?:([\[{(])\s{0,24}(?:\\{0,6}[\"'](?:S|value|val|[sS]tring_?[vV]alue|default|plain|plaintext"
    r"|current|raw|text)\\{0,6}[\"']\s{0,2}(?::|=>)\s{0,2})?"
    r"|(?:new )?(?:[A-Za-z_]\w{0,24}(?:::|\.)){0,3}(?:from|from_str|bytes|bytearray|String|str"
    r"|Some|quote|quote_plus|safequote|urlquote|escape|to_bytes|Secret|SecretStr|Text|literal|unicode|of"
    r"|b|u)\(|\[\]byte\(|<<|lambda[ \w,]{0,16}: ?|\(\) ?=> ?"
    # what it is otherwise: os.environ.get("X", "…"), Field(default="…")
    r"|[A-Za-z_][\w.]{0,40}\([^()\r\n\x00]{0,80}?\b(?:default|fallback|initial) ?= ?"
    r"|(?:[A-Za-z_]\w{0,24}\.){0,2}(?:getenv|get|pop|env)\([\"'][\w.-]{1,40}[\"'],[ ]?)"
    r"[bu]?(\\{0,6}[\"'`])([^\"'`\r\n\\\x00]{3,80})\\{0,6}[\"'`][ \t]{0,4}(?:[)\]},>.\r\n]|$)"
)
_SIBLING = compiled(
    r"[ ]?(\\{0,6}[\"'`])\s{0,4}(?:[|,+]|\\{1,3}n)?\s{0,64}(\\{0,6}[\"'`])"
    r"[ ]?([^\s\"'`\\\x00]{8,1000})[ ]?"
)
_KEY_OF_MAP = re.compile(rb"\s{0,4}(?::|=>)")
_ENDS = (b"", *(bytes((c,)) for c in b"])}>,;`* \t\r\n"))
_Q = r"\\{0,6}[\"'`]"
_ENTRY = rf"(?:{_Q})?([A-Za-z][\w.-]{{0,39}})(?:{_Q})?[ \t]{{0,4}}(?::|=>?)[ \t]{{0,4}}"
_VALUE = rf"({_Q})?([A-Za-z0-9_+/=.~:|$!@#%^&*-]{{6,}})"
_FIRST = compiled(
    r"(?:"
    rf"\s{{0,40}}(?:[\[({{<][\[({{<\s]{{0,40}}|\r?\n[ \t]{{1,32}}(?:- )?){_ENTRY}"  # a map
    r"|\s{0,40}[\[({<@*`][\[({<\s*`]{0,40}"  # a list, a group
    r"|[ \t]{0,4}\\?\r?\n[ \t]{0,32}(?:- )?"  # the next line
    r"|[ \t]{0,4}(?:new )?[A-Za-z_\[\]][\w.:<>\[\]]{0,39}[({]{1,2}\s{0,8}"  # a call
    r"|[ \t]{0,4}<<[-~]?[\"']?[A-Za-z_]{1,16}[\"']?\r?\n[ \t]{0,32}"  # a document
    r"|[^\r\n\x00,;]{1,60}?(?:[ \t](?:or|else|\|\||\?\?|\?:?|:))[ \t]{1,2}"  # an alternative
    rf"){_VALUE}"
)
_NEXT = compiled(
    rf"(?:{_Q})?(?:[ \t]{{0,4}},\s{{0,40}}|[ \t]{{0,4}}\r?\n[ \t]{{1,32}})(?:- |{_ENTRY})?{_VALUE}"
)
