"""One entry or list element in a text of JSON with comments: put in and taken out by position.

Whatever else is in the text keeps its bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec import Struct


class NotEditable(Exception):
    """A text that cannot be changed safely; the message says why, without its content."""


def value_at(plain: object, path: Sequence[str]) -> Any:
    """Return what is under a path of keys, None if nothing is."""
    for key in path:
        if not isinstance(plain, dict):
            return None
        plain = cast("dict[str, object]", plain).get(key)
    return plain


def replace_value(plain: dict[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    """Return the values with another one under a path, without any if it is None."""
    key, *rest = path
    if not isinstance(cast("object", plain), dict):
        raise NotEditable(f"what holds {key!r} is not a table")
    new = replace_value(plain.get(key, {}), rest, value) if rest else value
    others = {name: one for name, one in plain.items() if name != key}
    return others if new is None else {**others, key: new}


_TOKEN = re.compile(
    r'(?P<space>[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)|(?P<text>"(?:[^"\\\r\n]|\\.)*")'
    r"|(?P<mark>[{}\[\],:])|(?P<word>[-+.\w]+)",
    re.DOTALL,
)
_SPACES = " \t\r\n"
_DEPTH = 200
"""Levels of a settings file; chosen, far above what people nest."""


class _Member(Struct, frozen=True):
    key: str | None
    """None for an element of a list."""
    start: int
    value: _Value
    comma: int
    """Where the comma after it is, -1 if there is none."""


class _Value(Struct, frozen=True):
    start: int
    end: int
    is_object: bool = False
    members: tuple[_Member, ...] = ()
    plain: Any = None
    """What the text says, as plain values."""


class _Token(Struct, frozen=True):
    kind: str
    start: int
    end: int


def read_json(text: str) -> object:
    """Return the value of a text with comments, as settings files have them; None if it is not
    one.
    """
    try:
        return _read(text)
    except NotEditable:
        return None


def entry(text: str, path: Sequence[str]) -> object:
    """Return what is under a path of keys, None if nothing is; raises `NotEditable`."""
    return value_at(_read(text), path)


def _read(text: str) -> Any:
    return _parse(text).plain if text.strip(f"{_SPACES}\ufeff") else {}


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a value under a path of keys that is not there yet."""
    if not text.strip(f"{_SPACES}\ufeff"):
        return text + _pretty(_nest(path, value), "", "  ", "\n") + "\n"
    node, depth = _parse(text), 0
    while True:
        if not node.is_object:
            raise NotEditable(f"{'.'.join(path[:depth]) or 'the whole'} is not an object")
        found = _member(node, path[depth])
        if found is None:
            break
        node, depth = found.value, depth + 1
        if depth == len(path):
            raise NotEditable(f"{'.'.join(path)} is there already")
    new = _insert(text, node, path[depth], _nest(path[depth + 1 :], value))
    return _check(new, replace_value(_read(text), path, value))


def put_item(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with one more element at the end of the list under a path of keys."""
    there = entry(text, path)
    if there is None:
        return put(text, path, [value])
    if not isinstance(there, list):
        raise NotEditable(f"{'.'.join(path)} is not a list")
    new = _insert(text, _node(text, path), None, value)
    return _check(new, replace_value(_read(text), path, [*cast("list[Any]", there), value]))


def take_items(text: str, path: Sequence[str], is_ours: Callable[[Any], bool]) -> str:
    """Return the text without the elements that are ours, and without a list that is then empty."""
    while isinstance(there := entry(text, path), list):
        rows = cast("list[Any]", there)
        at = next((at for at, one in enumerate(rows) if is_ours(one)), None)
        if at is None:
            break
        left = [*rows[:at], *rows[at + 1 :]]
        if not left:
            return take(text, path)
        text = _remove(text, _node(text, path), at, replace_value(_read(text), path, left))
    return text


def _node(text: str, path: Sequence[str]) -> _Value:
    """Return what is under a path of keys that is there."""
    node = _parse(text)
    for key in path:
        found = _member(node, key)
        assert found is not None
        node = found.value
    return node


def take(text: str, path: Sequence[str]) -> str:
    """Return the text without what is under a path of keys; raises `NotEditable`."""
    node = _parse(text)
    for key in path[:-1]:
        found = _member(node, key)
        if found is None:
            return text
        node = found.value
    member = _member(node, path[-1])
    if member is None:
        return text
    return _remove(text, node, node.members.index(member), replace_value(_read(text), path, None))


def _remove(text: str, node: _Value, at: int, wanted: Any) -> str:
    """Return the text without one member of a node; it must say what is `wanted`."""
    member = node.members[at]
    commas = [member.comma] if member.comma >= 0 else [one.comma for one in node.members[:at][-1:]]
    start = len(text[: member.start].rstrip(_SPACES))
    try:
        return _check(_cut(text, start, member.value.end, commas), wanted)
    except NotEditable:  # the line before ends in a comment, which would go on
        return _check(_cut(text, member.start, member.value.end, commas), wanted)


def _check(text: str, wanted: Any) -> str:
    if _read(text) != wanted:
        raise NotEditable("its layout is too unusual")
    return text


def _insert(text: str, node: _Value, key: str | None, value: Any) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    close, unit = node.end - 1, _unit(text)
    stop = len(text[:close].rstrip(_SPACES))
    base = _indent(text, node.start)
    if not node.members:
        if "\n" not in text.strip(_SPACES) and text.strip(f"{_SPACES}\ufeff") != "{}":
            return _cut_in(text, [(stop, _compact(key, value))])
        inner = base + unit
        entry = newline + inner + _line(key, value, inner, unit, newline)
        end = "" if "\n" in text[stop:close] else newline + base
        return _cut_in(text, [(stop, entry + end)])
    last = node.members[-1]
    if "\n" not in text[node.start : node.members[0].start]:
        if last.comma < 0:
            return _cut_in(text, [(last.value.end, f", {_compact(key, value)}")])
        return _cut_in(text, [(last.comma + 1, f" {_compact(key, value)},")])
    inner = _indent(text, last.start)
    entry = newline + inner + _line(key, value, inner, unit, newline)
    if last.comma < 0:
        return _cut_in(text, [(last.value.end, ","), (stop, entry)])
    return _cut_in(text, [(stop, f"{entry},")])


def _cut_in(text: str, pieces: Sequence[tuple[int, str]]) -> str:
    for at, piece in reversed(pieces):
        text = text[:at] + piece + text[at:]
    return text


def _cut(text: str, start: int, end: int, commas: Sequence[int]) -> str:
    gone = [(start, end), *((at, at + 1) for at in commas if not start <= at < end)]
    for start, end in sorted(gone, reverse=True):
        text = text[:start] + text[end:]
    return text


def _compact(key: str | None, value: Any) -> str:
    return f"{_name(key)}{json.dumps(value, ensure_ascii=False)}"


def _line(key: str | None, value: Any, indent: str, unit: str, newline: str) -> str:
    return f"{_name(key)}{_pretty(value, indent, unit, newline)}"


def _name(key: str | None) -> str:
    return "" if key is None else f"{json.dumps(key)}: "


def _pretty(value: Any, indent: str, unit: str, newline: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"{newline}{indent}".join(lines)


def _unit(text: str) -> str:
    """Return what one level is indented by: what the first indented line has."""
    found = re.search(r"\n([ \t]+)[\"}]", text)
    return found[1] if found else "  "


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


# Values along a path


def _nest(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _member(node: _Value, key: str) -> _Member | None:
    return next((one for one in node.members if one.key == key), None)


# Reading, with positions


def _parse(text: str) -> _Value:
    tokens = _tokens(text)
    value, at = _value(text, tokens, 0, 0)
    if at != len(tokens):
        raise NotEditable(f"it goes on after its end at character {tokens[at].start}")
    return value


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 1 if text.startswith("\ufeff") else 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise NotEditable(f"character {at} is not JSON")
        if match.lastgroup != "space":
            found.append(_Token(match.lastgroup, at, match.end()))
        at = match.end()
    return found


def _value(text: str, tokens: Sequence[_Token], at: int, depth: int) -> tuple[_Value, int]:
    if at >= len(tokens):
        raise NotEditable("it ends too early")
    token = tokens[at]
    said = text[token.start : token.end]
    if depth > _DEPTH:
        raise NotEditable("it is nested too deeply")
    if said == "{":
        return _object(text, tokens, at, depth)
    if said == "[":
        return _array(text, tokens, at, depth)
    try:
        if token.kind == "mark":
            raise ValueError(said)
        return _Value(token.start, token.end, plain=json.loads(said, strict=False)), at + 1
    except ValueError:
        raise NotEditable(f"character {token.start} is not JSON") from None


def _object(text: str, tokens: Sequence[_Token], at: int, depth: int) -> tuple[_Value, int]:
    start, members, plain = tokens[at].start, list[_Member](), dict[str, Any]()
    at += 1
    while at < len(tokens) and text[tokens[at].start] != "}":
        key = tokens[at]
        if key.kind != "text" or at + 1 >= len(tokens) or text[tokens[at + 1].start] != ":":
            raise NotEditable(f"a key is missing at character {key.start}")
        name = cast("str", json.loads(text[key.start : key.end], strict=False))
        if name in plain:
            raise NotEditable(f"the key {name!r} is there twice")
        value, at = _value(text, tokens, at + 2, depth + 1)
        comma, at = _comma(text, tokens, at, "}")
        members.append(_Member(name, key.start, value, comma))
        plain[name] = value.plain
    if at >= len(tokens):
        raise NotEditable("it ends too early")
    return _Value(start, tokens[at].end, True, tuple(members), plain), at + 1


def _array(text: str, tokens: Sequence[_Token], at: int, depth: int) -> tuple[_Value, int]:
    start, members = tokens[at].start, list[_Member]()
    at += 1
    while at < len(tokens) and text[tokens[at].start] != "]":
        value, at = _value(text, tokens, at, depth + 1)
        comma, at = _comma(text, tokens, at, "]")
        members.append(_Member(None, value.start, value, comma))
    if at >= len(tokens):
        raise NotEditable("it ends too early")
    plain = [one.value.plain for one in members]
    return _Value(start, tokens[at].end, False, tuple(members), plain), at + 1


def _comma(text: str, tokens: Sequence[_Token], at: int, close: str) -> tuple[int, int]:
    """Return where the comma is, -1 for the end, and what comes next."""
    if at < len(tokens) and text[tokens[at].start] == ",":
        return tokens[at].start, at + 1
    if at < len(tokens) and text[tokens[at].start] != close:
        raise NotEditable(f"a comma is missing at character {tokens[at].start}")
    return -1, at
