"""One entry of a mapping at the top of a text of YAML; the rest keeps its bytes.

Only plain block style is read, as programs write it: `section:` in a line of its own, and entries
indented below; a list may also be on the line of its key. Whatever else is there is not looked at,
and anything unusual is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from foldaway.agents.installing.json_text import NotEditable
from foldaway.agents.installing.toml_text import IDLE

_UNUSUAL = re.compile(r" *\t|\ufeff|---|\.\.\.|[%{\[?&*!|>]")
"""Lines after which the indent alone does not say what belongs to what."""
_KEEPS = re.compile(r"[|>]\d?\+")
"""The beginning of a text that has the empty lines behind it, too."""
_COMMENT = re.compile(r"\s+#.*$")
_LIST = re.compile(r"[ ]*\[([^\[\]{}#\"'\\]*)\][ ]*(?:#.*)?")
"""A list on the line of its key, of plain words."""
_ITEM = re.compile(r"([ ]*)-[ ]+(?:\"([^\"\\]*)\"|'([^']*)'|([\w./@-]+))[ ]*(?:#.*)?(?:\r?\n)?\Z")
"""An element of a list on a line of its own: a plain word."""
_KEY = re.compile(r"([ ]*)(?:([\w.-]+)|\"([^\"\\]*)\"|'([^']*)')[ ]*:(?=[ \r\n]|\Z)")


def entry(text: str, path: Sequence[str]) -> object:
    """Return the lines of an entry without indents and comments, None if it is not there."""
    lines = text.splitlines(keepends=True)
    place = _section(lines, path[0])
    if place is None:
        return None
    found = _entry(lines, *place, path[1])
    if found is None:
        return None
    return [_COMMENT.sub("", one.strip()) for one in lines[found[0] : found[1]]]


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a mapping, a word or a list of words under two keys; raises
    `NotEditable`.
    """
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
    first = next((one for one in lines[start + 1 : end] if not IDLE.match(one)), "  ")
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
    assert place is not None
    start = place[0]
    if found == (start + 1, place[1]) and lines[start].strip() == f"{path[0]}:":
        found = (start, found[1])  # nothing else is in the section
    end = found[1]
    if _KEEPS.search("".join(lines[: found[0]])):  # empty lines would become part of that text
        while end < len(lines) and not lines[end].strip():
            end += 1
    return "".join(lines[: found[0]] + lines[end:])


def items(text: str, path: Sequence[str]) -> object:
    """Return the words of a list under two keys, None if it is not there; raises `NotEditable`."""
    there = _list(text.splitlines(keepends=True), path)
    return None if there is None else [word for _, word in there.rows]


def put_item(text: str, path: Sequence[str], value: str) -> str:
    """Return the text with one more word at the end of a list; raises `NotEditable`."""
    lines = text.splitlines(keepends=True)
    there = _list(lines, path)
    if there is None:
        return put(text, path, [value])
    newline = "\r\n" if "\r\n" in text else "\n"
    if there.is_flat:
        before, bracket, after = lines[there.start].rpartition("]")
        lines[there.start] = f"{before}{', ' if there.rows else ''}{value}{bracket}{after}"
        return "".join(lines)
    at = there.rows[-1][0] if there.rows else there.start
    if not lines[at].endswith("\n"):
        lines[at] += newline
    lines.insert(at + 1, f"{there.indent}- {value}{newline}")
    return "".join(lines)


def take_items(text: str, path: Sequence[str], is_ours: Callable[[object], bool]) -> str:
    """Return the text without some words of a list; raises `NotEditable`."""
    lines = text.splitlines(keepends=True)
    there = _list(lines, path)
    if there is None:
        return text
    left = [row for row in there.rows if not is_ours(row[1])]
    if len(left) == len(there.rows):
        return text
    if not left:
        return take(text, path)
    if there.is_flat:
        before, _, rest = lines[there.start].partition("[")
        words = ", ".join(word for _, word in left)
        lines[there.start] = f"{before}[{words}]{rest.partition(']')[2]}"
        return "".join(lines)
    gone = {at for at, word in there.rows if is_ours(word)}
    return "".join(line for at, line in enumerate(lines) if at not in gone)


class _Words(NamedTuple):
    """A list of words: the line of its key, each word with its line, and the indent of lines."""

    start: int
    rows: list[tuple[int, str]]
    indent: str
    is_flat: bool


def _list(lines: Sequence[str], path: Sequence[str]) -> _Words | None:
    place = _section(lines, path[0])
    found = None if place is None else _entry(lines, *place, path[1])
    if found is None:
        return None
    start, name = found[0], ".".join(path)
    indent, _, said = lines[start].partition(path[1])
    said = said.partition(":")[2].rstrip("\r\n")
    if flat := _LIST.fullmatch(said):
        words = [one.strip() for one in flat[1].split(",") if one.strip()]
        return _Words(start, [(start, word) for word in words], indent, is_flat=True)
    rows: list[tuple[int, str]] = []
    for at in range(start + 1, found[1]):
        if IDLE.match(lines[at]):
            continue
        item = _ITEM.match(lines[at])
        if item is None:
            raise NotEditable(f"{name} in line {start + 1} is not a list of words")
        indent = item[1]
        rows.append((at, item[2] or item[3] or item[4] or ""))
    if not IDLE.match(said):
        raise NotEditable(f"{name} in line {start + 1} is not a list of words")
    return _Words(start, rows, indent.strip("\"'"), is_flat=False)


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
    if not IDLE.match(lines[start].partition(":")[2]):
        raise NotEditable(f"{name} in line {start + 1} is not a mapping in lines of its own")
    end = start + 1
    while end < len(lines) and (lines[end].startswith(" ") or IDLE.match(lines[end])):
        end += 1
    if end < len(lines) and lines[end].startswith("-"):
        raise NotEditable(f"{name} in line {start + 1} is a list")
    while end > start + 1 and IDLE.match(lines[end - 1]):
        end -= 1
    first = next((one for one in lines[start + 1 : end] if not IDLE.match(one)), None)
    if first is not None and _key_of(first) is None:
        raise NotEditable(f"{name} in line {start + 1} is not a mapping in lines of its own")
    return start, end


def _entry(lines: Sequence[str], start: int, end: int, name: str) -> tuple[int, int] | None:
    """Return the lines of an entry of a section."""
    inner = [at for at in range(start + 1, end) if not IDLE.match(lines[at])]
    if not inner:
        return None
    found = _key_of(lines[inner[0]])
    indent = "" if found is None else found[0]
    for place, at in enumerate(inner):
        if _key_of(lines[at]) == (indent, name):
            own = (f"{indent} ", f"{indent}-")  # elements may be below the first letter of the key
            later = [one for one in inner[place + 1 :] if not lines[one].startswith(own)]
            stop = later[0] if later else inner[-1] + 1
            while IDLE.match(lines[stop - 1]):
                stop -= 1
            return at, stop
    return None


def _key_of(line: str) -> tuple[str, str] | None:
    found = _KEY.match(line)
    return None if found is None else (found[1], found[2] or found[3] or found[4] or "")


def _block(name: str, value: Any, indent: str, newline: str) -> str:
    if isinstance(value, str):
        return f"{indent}{name}: {value}{newline}"
    lines = [f"{indent}{name}:"]
    deeper = f"{indent}{indent or '  '}"
    if isinstance(value, list):
        lines += [f"{deeper}- {word}" for word in cast("list[str]", value)]
    else:
        table = cast("dict[str, Any]", value)
        lines += [
            f"{deeper}{key}: {json.dumps(one, ensure_ascii=False)}" for key, one in table.items()
        ]
    return newline.join(lines) + newline
