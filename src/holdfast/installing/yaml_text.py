"""One entry of a mapping at the top of a text of YAML; the rest keeps its bytes.

Only plain block style is read, as programs write it: `section:` in a line of its own, and entries
indented below. Whatever else is there is not looked at, and anything unusual is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from holdfast.installing.plain import NotEditable

_IDLE = re.compile(r"[ \t]*(?:#.*)?(?:\r?\n)?\Z")
_UNUSUAL = re.compile(r" *\t|\ufeff|---|\.\.\.|[%{\[?&*!|>]")
"""Lines after which the indent alone does not say what belongs to what."""
_KEY = re.compile(r"([ ]*)(?:([\w.-]+)|\"([^\"\\]*)\"|'([^']*)')[ ]*:(?=[ \r\n]|\Z)")


def entry(text: str, path: Sequence[str]) -> object:
    """Return the lines of an entry without their indents, None if it is not there."""
    lines = text.splitlines(keepends=True)
    place = _section(lines, path[0])
    if place is None:
        return None
    found = _entry(lines, *place, path[1])
    if found is None:
        return None
    return [one.strip() for one in lines[found[0] : found[1]]]


def put(text: str, path: Sequence[str], value: dict[str, Any]) -> str:
    """Return the text with a mapping under two keys; raises `NotEditable`."""
    section, name = path
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    place = _section(lines, section)
    if place is None:
        block = f"{section}:{newline}{_block(name, value, '  ', newline)}"
        # a line end after the last line could become part of a text that ends there
        at = len(lines) if text.endswith("\n") else int(text.startswith("---"))
        if lines[:at] == ["---"]:
            raise NotEditable("it has no content")
        return "".join([*lines[:at], block, *lines[at:]])
    start, end = place
    if _entry(lines, start, end, name) is not None:
        raise NotEditable(f"{section}.{name} is there already")
    first = next((one for one in lines[start + 1 : end] if not _IDLE.match(one)), "  ")
    indent = first[: len(first) - len(first.lstrip(" "))]
    if not lines[start].endswith("\n"):
        lines[start] += newline
    lines.insert(start + 1, _block(name, value, indent, newline))
    return "".join(lines)


def take(text: str, path: Sequence[str]) -> str:
    """Return the text without an entry; raises `NotEditable`."""
    lines = text.splitlines(keepends=True)
    place = _section(lines, path[0])
    found = None if place is None else _entry(lines, *place, path[1])
    if found is None:
        return text
    return "".join(lines[: found[0]] + lines[found[1] :])


def _section(lines: Sequence[str], name: str) -> tuple[int, int] | None:
    """Return the line of a section and the one after its last; None if it is not there."""
    for number, line in enumerate(lines):
        is_start = number == 0 and line.startswith("---")
        if _UNUSUAL.match(line) and not is_start:
            raise NotEditable(f"line {number + 1} is not plain YAML")
    found = [at for at, line in enumerate(lines) if _key_of(line) == ("", name)]
    if not found:
        return None
    start = found[0]
    if len(found) > 1:
        raise NotEditable(f"the key {name!r} is there twice")
    if not _IDLE.match(lines[start].partition(":")[2]):
        raise NotEditable(f"{name} in line {start + 1} is not a mapping in lines of its own")
    end = start + 1
    while end < len(lines) and (lines[end].startswith(" ") or _IDLE.match(lines[end])):
        end += 1
    if end < len(lines) and lines[end].startswith("-"):
        raise NotEditable(f"{name} in line {start + 1} is a list")
    while end > start + 1 and _IDLE.match(lines[end - 1]):
        end -= 1
    first = next((one for one in lines[start + 1 : end] if not _IDLE.match(one)), None)
    if first is not None and _key_of(first) is None:
        raise NotEditable(f"{name} in line {start + 1} is not a mapping in lines of its own")
    return start, end


def _entry(lines: Sequence[str], start: int, end: int, name: str) -> tuple[int, int] | None:
    """Return the lines of an entry of a section."""
    inner = [at for at in range(start + 1, end) if not _IDLE.match(lines[at])]
    if not inner:
        return None
    found = _key_of(lines[inner[0]])
    indent = "" if found is None else found[0]
    for place, at in enumerate(inner):
        if _key_of(lines[at]) == (indent, name):
            later = [one for one in inner[place + 1 :] if not lines[one].startswith(f"{indent} ")]
            stop = later[0] if later else inner[-1] + 1
            while _IDLE.match(lines[stop - 1]):
                stop -= 1
            return at, stop
    return None


def _key_of(line: str) -> tuple[str, str] | None:
    found = _KEY.match(line)
    return None if found is None else (found[1], found[2] or found[3] or found[4] or "")


def _block(name: str, value: dict[str, Any], indent: str, newline: str) -> str:
    lines = [f"{indent}{name}:"]
    for key, one in value.items():
        lines.append(f"{indent}{indent or '  '}{key}: {json.dumps(one, ensure_ascii=False)}")
    return newline.join(lines) + newline
