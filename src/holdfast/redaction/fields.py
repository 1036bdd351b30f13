"""Secrets that a field's name gives away: `password = …`, `"apiKey": "…"`, `--token …`.

One re2 scan finds a secret word that is followed by a separator. The whole name of the field then
decides how much its value has to look like a secret, and the value is taken by its quotes.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from holdfast.redaction.chosen import (
    LONGEST,
    Quoted,
    is_about,
    is_chosen,
    is_chosen_password,
    is_stated,
    sort_of_name,
)
from holdfast.redaction.field_judging import is_said, is_secret
from holdfast.redaction.field_links import Link, link_at
from holdfast.redaction.field_names import kind_of
from holdfast.redaction.field_scan import Candidate
from holdfast.redaction.field_values import MAX_VALUE, value_at
from holdfast.redaction.field_wraps import (
    REACH,
    chosen_in_wrap,
    is_wrapped,
    siblings,
    wrapped_values,
)
from holdfast.redaction.gates import (
    bare_password,
    mixed,
    password,
)
from holdfast.redaction.matching import compiled
from holdfast.redaction.passwords import Place, is_weak_form, is_weak_password
from holdfast.redaction.randomness import is_named
from holdfast.redaction.settings_lines import Setting, is_setting
from holdfast.redaction.strings import string_end

MAX_WORD = 24
LOOK = 512
"""So much of a value decides whether it is a secret."""


class Field(NamedTuple):
    """A value that a field's name gives away."""

    start: int
    end: int
    kind: str


Values: TypeAlias = "tuple[list[Field], int, int]"
"""The secrets that a candidate gives away, how many bytes were read for it, and where the next one
may start: a value that is no secret may be a name."""


def values_at(data: bytes, at: Candidate, *, code: bool) -> Values:
    """Return the secrets that a candidate gives away.

    With `code`, values without quotes count only after `--flag` and in URLs.
    """
    link = link_at(data, at)
    if link is None:
        return [], 0, at[1]
    value = _value_of(data, link)
    if value is None:
        return _wrapped(data, link, 0)
    start, end, quoted = value
    look = data[start : min(end, start + LOOK)]
    if not (
        is_secret(look, quoted, link.name, link.strength, link.mode, link.compares)
        or (link.strength == "strong" and _is_told(data, link, look, value))
    ):
        told = quoted or look.isdigit()  # a whole value; nothing is wrapped in it
        return ([], end - start, link.end) if told else _wrapped(data, link, end - start)
    bare = not quoted and link.mode in ("assign", "prose", "cell")
    if code and bare and not link.query and link.before != b"-":
        return [], end - start, link.end
    field = Field(start, end, kind_of(link.name))
    if link.mode == "prose" and (changed := _CHANGED.at(data, end)) is not None:
        first, last = changed[1]
        if is_said(data[first:last]):
            return [field, Field(first, last, field.kind)], last - link.first, last
    if not quoted:
        return [field], end - link.first, end
    beside = siblings(data, end, data[start:end])
    return [field, *(Field(a, b, field.kind) for a, b in beside)], end - link.first, end


def _is_told(data: bytes, link: Link, look: bytes, value: tuple[int, int, bool]) -> bool:
    """Whether what stands around the value of a strong name tells that it is a secret."""
    return (
        _is_weak(data, link, look, value)
        or _is_directive(data, link, look, value)
        or _is_chosen(data, link, look, value)
        or (not value[2] and _is_flagged(data, link, look))
    )


def _wrapped(data: bytes, link: Link, read: int) -> Values:
    """Return what stands a step away from its name."""
    if link.mode not in _WRAPPING or link.compares or link.query:
        return [], read, link.end
    if not is_wrapped(data, link.end):
        return [], read + WRAP, link.end
    kind = kind_of(link.name)
    given = _given_in_wrap(data, link)
    if given is not None:
        return [Field(*given, kind)], read + REACH, link.end
    spans, more = wrapped_values(
        data, link.end, uuids=link.strength == "strong", short=kind == "password"
    )
    return [Field(a, b, kind) for a, b in spans], read + more + WRAP, link.end


WRAP = 64
"""What two looks into a wrap cost beyond the bytes that they read, in such bytes."""


def _given_in_wrap(data: bytes, link: Link) -> tuple[int, int] | None:
    """Return what somebody has chosen, in a list or a call that only changes its type."""
    if link.strength != "strong" or link.mode != "assign":
        return None
    sort = sort_of_name(link.name)
    found = chosen_in_wrap(data, link.end)
    if found is None:
        return None
    (start, end), is_call = found
    value = data[start:end]
    if sort in ("password", "secret"):
        fits = is_chosen(value) if is_call else is_stated(value)
    else:
        fits = is_call and len(value) >= SHORTEST_KEY and is_stated(value) and b" " not in value
    return (start, end) if fits and (is_call or not is_named(value)) else None


SHORTEST_KEY = 8
_CHANGED = compiled(r"[\"'`]?[ \t](?:to|->|=>)[ \t][\"'`]?([^\s\"'`\\\x00,;]{6,128})")
"""What follows the old password where a sentence goes on to the new one."""
_WRAPPING = frozenset(("assign", "pair", "cell", "loose", "prose"))


def _value_of(data: bytes, link: Link) -> tuple[int, int, bool] | None:
    mode = link.mode
    value = value_at(data, link.end, lines=mode in _ON_LINES, query=link.query)
    if value is None or value[0] == value[1]:
        return None
    start, end, quoted = value
    if mode in ("tag", "attr"):
        if not (link.before == b"<" or mode == "attr" or _is_prefixed(data, link)):
            return None
        close = data.find(b"</", start, start + MAX_VALUE)
        if close < 0 or string_end(data, start, close) < close or data.find(0, start, close) >= 0:
            return None
        end = start + len(data[start : max(start, close)].rstrip())
        return None if end == start else (start, end, quoted)
    if mode == "below" and (quoted or data[end : end + 1] not in _LINE_ENDS):
        return None
    if quoted:
        return value
    if mode == "prose":
        end = start + (len(data[start:end].rstrip(b".,:;")) or end - start)
    return None if data[start] in b"[{(" else (start, end, False)


_ON_LINES = frozenset(("tag", "flag", "attr", "below"))
"""Modes in which the value may stand on the next line."""


def _is_prefixed(data: bytes, link: Link) -> bool:
    """Whether the name of a tag has a prefix: `<wsse:Password>`."""
    first = link.start - len(link.name)
    return link.before == b":" and _PREFIX.search(data, max(0, first - 24), first) is not None


_PREFIX = re.compile(rb"<[A-Za-z][\w.-]*:$")
_LINE_ENDS = (b"", b"\n", b"\r")


def _is_weak(data: bytes, link: Link, look: bytes, value: tuple[int, int, bool]) -> bool:
    """Whether the surroundings tell that a word is a password."""
    if link.compares or len(look) > MAX_WORD:
        return False
    start, end, quoted = value
    if not (look.isalnum() if quoted else is_weak_form(look)):
        return False
    if quoted and is_about(look):
        return False
    first = link.first
    colon = data[link.end - 1] == ord(":")
    place = Place(
        mode=link.mode,
        quoted=quoted,
        query=link.query,
        tight=link.end == start and data[link.start - 1] not in b" \t",
        colon=colon,
        starts_line=colon and _LINE_START.search(data, max(0, first - 80), first) is not None,
        after=data[end : end + 1],
        among_flags=link.mode == "flag" and _is_among_flags(data, first, end),
    )
    return is_weak_password(link.name, kind_of(link.name), look, place)


def _is_among_flags(data: bytes, start: int, end: int) -> bool:
    return (
        _FLAG_AFTER.match(data, end) is not None
        or _FLAG_BEFORE.search(data, max(0, start - 48), start) is not None
    )


_FLAG_AFTER = re.compile(rb"[ \t]+(?:\\\r?\n[ \t]*)?--?[A-Za-z]")
_FLAG_BEFORE = re.compile(rb"[ \t]--?[A-Za-z][\w-]{0,20}[ =][^\s-][^\s]{0,20}[ \t]+$")


def _is_flagged(data: bytes, link: Link, look: bytes) -> bool:
    """Whether a value is that of a flag: `--auth-token=hunter2secret` is no code."""
    if link.before != b"-" or link.mode != "assign":
        return False
    return (
        data.startswith(b"--", link.first) and len(look) >= 6 and mixed(look)
        and not is_about(look) and _WORD.match(look) is not None
    )  # fmt: skip


_WORD = re.compile(rb"[A-Za-z0-9_!@#$%^&*+-]+$")


def _is_chosen(data: bytes, link: Link, look: bytes, value: tuple[int, int, bool]) -> bool:
    """Whether a value is what somebody has chosen for a password, by what ties it to the name."""
    if len(look) > LONGEST:
        return False
    sort = sort_of_name(link.name, called=link.mode == "call")
    if not sort and not value[2] and kind_of(link.name) == "key":
        sort = "token"
    if not sort or not (value[2] or link.mode in ("assign", "tag", "attr")):
        return False
    first = link.first
    if not value[2]:
        at = Setting(link.mode, first, data[link.start : link.end], value[1])
        if sort == "token" and not (mixed(look) and len(look) >= 6):
            return False
        return not link.compares and is_setting(data, look, at)
    place = Quoted(
        name=link.name,
        mode=link.mode,
        compares=link.compares,
        separator=data[link.start - 1 : link.end].lstrip(),
        before=data[max(0, first - AROUND) : first],
        after=data[value[1] + 1 : value[1] + AROUND],
    )
    return is_chosen_password(look, sort, place)


AROUND = 48


def _is_directive(data: bytes, link: Link, look: bytes, value: tuple[int, int, bool]) -> bool:
    """Whether a line is the name of a password and the password: `requirepass …`."""
    if link.mode != "space" or kind_of(link.name) != "password":
        return False
    first = link.first
    return (
        data[value[1] : value[1] + 1] in _LINE_ENDS
        and _LINE_START.search(data, max(0, first - 80), first) is not None
        and mixed(look)
        and (bare_password(look) or (not link.name.isalpha() and password(look)))
    )


_LINE_START = re.compile(rb"(?:^|[\r\n])[ \t]*(?:- )?[\w.-]*$")
