"""Searching in files: what was looked for, how much was found, where first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.fields import fields_of
from holdfast.facts.digests.line import clip, first_of, plural, shorten

_WANTED = ("pattern", "query", "regex", "search_term", "q", "Query", "search", "text", "symbol",
           "name_path", "operation", "glob", "substring_pattern", "SearchTerm")  # fmt: skip
_PLACES = ("path", "directory", "dir", "dir_path", "file_name", "filePath", "include", "glob",
           "target_directory", "file_pattern", "include_pattern", "SearchDirectory")  # fmt: skip
_FOUND = re.compile(r"Found (\d{1,9}) (?:total )?(match|file|result|line|occurrence)", re.I)
_NOTHING = re.compile(r"\s{0,8}(?:no (?:matches|files|results|occurrences)|0 matches)", re.I)
_LOOKED_AT_CHARS = 4_000
_SHOWN_FILES = 2


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Grep looked for 'def main' in src: 14 lines in 3 files; src/a.py:12, …"."""
    wanted = clip(first_of(arguments, *_WANTED), 80)
    where = first_of(arguments, *_PLACES)
    inside = f" in {shorten(where, 80)}" if where and where != wanted else ""
    return f"{name} looked for {wanted!r}{inside}: {_found(output, arguments)}"


def _found(output: str, arguments: Mapping[str, Any]) -> str:
    if _NOTHING.match(output):
        return "nothing"
    said = failure_in(output) or fields_of(output, arguments)
    if said:
        return said
    whole = len(output) <= _LOOKED_AT_CHARS
    lines = (output if whole else output[:_LOOKED_AT_CHARS].rpartition("\n")[0]).split("\n")
    places = _places(lines)
    files = sum(not place.startswith("line ") for place in places)
    more = "" if whole else " or more"
    count = _count(output)
    inside = f" in {plural(files, 'file')}{more}" if files and "file" not in count else ""
    shown = ", ".join(shorten(place, 70) for place in places[:_SHOWN_FILES])
    return f"{count}{inside}" + (f"; first {shown}" if shown else "")


def _count(output: str) -> str:
    found = _FOUND.match(output)
    if found is None:
        return plural(output.count("\n") + (not output.endswith("\n")), "line")
    word = found[2].lower()
    return plural(int(found[1]), word, "matches" if word == "match" else "")


def _places(lines: list[str]) -> list[str]:
    """Return where the first hit of each file stands, or each file that is only named."""
    places: dict[str, str] = {}
    named: dict[str, None] = {}
    for line in lines:
        file, colon, rest = line.partition(":")
        if file in places:
            continue
        number = rest[:8].partition(":")[0]
        if number.isdecimal():
            places[file] = f"{file}:{number}"
        elif file.isdecimal() and not places:
            places[file] = f"line {file}"
        elif "/" in file and not (colon and rest):
            named[file] = None
    return list(places.values()) or [file for file in named if _is_path(file)]


def _is_path(text: str) -> bool:
    return len(text.split(None, 1)) == 1 and not text[:1].isdecimal()
