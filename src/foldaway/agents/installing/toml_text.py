"""One table in a text of TOML, or one key at its top; the rest keeps its bytes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from foldaway.agents.installing.json_text import NotEditable, replace_value, value_at

_HEADER = re.compile(r"[ \t]*\[([^\[\]]*)\]")
IDLE = re.compile(r"[ \t]*(?:#.*)?(?:\r?\n)?\Z")
"""A line that says nothing, in YAML too."""
_QUOTES = re.compile(r"[ \t\"']")


def entry(text: str, path: Sequence[str]) -> object:
    """Return what is under a path of keys, None if nothing is; raises `NotEditable`."""
    return value_at(_read(text), path)


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a table under a path of keys that is not there yet.

    What is not a table is one key at the top, before all that is there.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    if not isinstance(value, dict):
        start = len(text) - len(text.removeprefix("\ufeff"))
        line = f"{path[0]} = {_literal(value)}{newline}"
        new = text[:start] + line + text[start:]
        return _check(new, replace_value(_read(text), path, value))
    value = cast("dict[str, Any]", value)
    start = "" if not text or text.endswith("\n") else newline
    space = newline if text.strip() else ""
    lines = [_header(path), *(f"{key} = {_literal(one)}" for key, one in value.items()), ""]
    new = text + start + space + newline.join(lines)
    return _check(new, replace_value(_read(text), path, value))


def take(text: str, path: Sequence[str]) -> str:
    """Return the text without the table under a path of keys; raises `NotEditable`."""
    if entry(text, path) is None:
        return text
    lines, header = text.splitlines(keepends=True), _header(path)
    wanted = replace_value(_read(text), path, None)
    if len(path) == 1:
        return _without_key(lines, path[0], wanted)
    for start, line in enumerate(lines):
        if _name(line) == header:
            first = start - 1 if start and not lines[start - 1].strip() else start
            with suppress(NotEditable):  # a line of a text may look like a table
                return _check("".join(lines[:first] + lines[_end(lines, start) :]), wanted)
    raise NotEditable(f"{header} is not a table of its own")


def _without_key(lines: Sequence[str], key: str, wanted: dict[str, Any]) -> str:
    """Return lines without the one of a key; its value must be on that line."""
    for at, line in enumerate(lines):
        if line.lstrip("\ufeff \t").startswith(key):
            mark = "\ufeff" if line.startswith("\ufeff") else ""
            with suppress(NotEditable):  # a line of a text may look like it
                return _check("".join([*lines[:at], mark, *lines[at + 1 :]]), wanted)
    raise NotEditable(f"{key} is not on a line of its own")


def _end(lines: Sequence[str], start: int) -> int:
    """Return the line after the last one of a table; what follows its values is the others'."""
    header, end = _name(lines[start]), start + 1
    while end < len(lines) and _belongs(lines[end], header):
        end += 1
    while end > start + 1 and IDLE.match(lines[end - 1]):
        end -= 1
    return end


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line \d+", str(error))
        raise NotEditable(f"it is not TOML{f' at {place[0]}' if place else ''}") from None


def _check(text: str, wanted: dict[str, Any]) -> str:
    """Return the text if it says what is wanted; a section without entries may be left out."""
    found = _read(text)
    if found != {key: one for key, one in wanted.items() if one != {} or key in found}:
        raise NotEditable("its layout is too unusual")
    return text


def _header(path: Sequence[str]) -> str:
    return f"[{'.'.join(path)}]"


def _name(line: str) -> str:
    """Return the header of a table as we write it, "" for another line."""
    found = _HEADER.match(line)
    return f"[{_QUOTES.sub('', found[1])}]" if found else ""


def _belongs(line: str, header: str) -> bool:
    """Return whether a line is inside a table: it begins no other one, or one within."""
    return not line.lstrip(" \t").startswith("[") or _name(line).startswith(f"{header[:-1]}.")


def _literal(value: Any) -> str:
    """Return a text, a number or a list of texts; JSON writes them as TOML does."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
