"""Secrets a step away from their field: in a list, a map, a call, or behind an alternative.

`token = String::from("…")`, `"tokens": ["…", "…"]`, `api_keys: {prod: …}`. So far from its name a
value counts only if it looks random.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.redaction.field_names import is_secret_entry
from holdfast.redaction.gates import is_opaque, is_uuid, mixed, random
from holdfast.redaction.matching import Spans, compiled
from holdfast.redaction.randomness import is_named, is_unspeakable

MAX_VALUES = 64
REACH = 640
"""What is read for one value, at most."""
QUOTED, BARE = 16, 20
"""So long a value must be."""


def wrapped_values(data: bytes, at: int, *, uuids: bool) -> tuple[list[tuple[int, int]], int]:
    """Return the values after a separator that ends at `at`, and how many bytes were read.

    With `uuids` the first may be one, where it is no entry of a map.
    """
    found: list[tuple[int, int]] = []
    end = at
    pattern = _FIRST
    while len(found) < MAX_VALUES:
        match = pattern.at(data, end, end + REACH)
        span = None if match is None else _span_of(data, match, uuids=uuids and not found)
        if span is None:
            break
        found.append(span)
        end = span[1]
        pattern = _NEXT
    return found, end - at


def _span_of(data: bytes, match: Spans, *, uuids: bool) -> tuple[int, int] | None:
    _, name, quote, (start, end) = match
    value = data[start:end]
    if quote[0] >= 0:
        opened = data[slice(*quote)]
        if len(value) < QUOTED or not data.startswith(opened, end):
            return None
    elif len(value) < BARE or data[end : end + 1] not in _ENDS:
        return None
    if name[0] >= 0 and not is_secret_entry(data[slice(*name)].decode("latin-1")):
        return None
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
        value = data[start:stop]
        if value != secret and (
            len(value) < 12
            or is_named(value)
            or not (mixed(value) or random(value) or is_unspeakable(value))
        ):
            return
        yield start, stop


_SIBLING = compiled(
    r"[ ]?(\\{0,6}[\"'`])\s{0,4}(?:[|,+]|\\{1,3}n)?\s{0,16}(\\{0,6}[\"'`])"
    r"[ ]?([^\s\"'`\\\x00]{8,1000})[ ]?"
)
_ENDS = (b"", *(bytes((c,)) for c in b"])}>,;`* \t\r\n"))
_Q = r"\\{0,6}[\"'`]"
_ENTRY = rf"(?:{_Q})?([A-Za-z][\w.-]{{0,39}})(?:{_Q})?[ \t]{{0,4}}(?::|=>?)[ \t]{{0,4}}"
_VALUE = rf"({_Q})?([A-Za-z0-9_+/=.~:|$-]{{16,512}})"
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
