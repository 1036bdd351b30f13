"""Tools that work on files: reading, writing, editing, searching, listing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from foldaway.facts.digests.fields import digest_other, fields_of
from foldaway.facts.digests.line import (
    clip,
    failure_in,
    first_of,
    path_of,
    plural,
    shorten,
    size_of,
    whole_number,
)
from foldaway.facts.tools import ARGUMENTS, own_name
from foldaway.regex import Regex

_NUMBERED = Regex(r"[ \t]{0,12}(\d{1,7})(?:→|\t|\||:)")
_NUMBERED_LATER = Regex(r"\n(?=\d{1,7}:)")
_BEFORE_CONTENT = ("<content>", "<file>", "cat -n` on")
_LAST_LINES = 40
"""Lines at the end among which the last numbered one is looked for; chosen."""
_A_FAILURE_CHARS = 4_000
"""A longer result of a read is a file and not an error message; chosen."""
_STARTS = ARGUMENTS["shown_starts"]
_ENDS = ARGUMENTS["shown_ends"]


def digest_read(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Read src/app.py lines 40-160"."""
    path = path_of(arguments)
    if not path:
        said = fields_of(output, arguments)
        if said:
            return f"{name} read {said}"
        path = "a file"
    failed = failure_in(output) if len(output) < _A_FAILURE_CHARS else ""
    if failed:
        return f"{name} did not read {path}: {failed}"
    verb = "" if own_name(name)[:4].lower() == "read" else " read"
    return f"{name}{verb} {path}{_lines(arguments, output)}"


def _lines(arguments: Mapping[str, Any], output: str) -> str:
    shown = numbered_lines(output)
    if shown is not None:
        return lines_from(*shown)
    start, end = whole_number(arguments, *_STARTS), whole_number(arguments, *_ENDS)
    view = arguments.get("view_range")
    if isinstance(view, list) and len(cast("list[Any]", view)) == 2:
        start, end = (at if isinstance(at, int) else None for at in cast("list[Any]", view))
    if end is not None and end > (start or 1):
        return f"{lines_from(start or 1, end)}: {size_of(output)}"
    where = f" from line {start}" if start is not None and start > 1 else ""
    return f"{where}: {size_of(output)}"


def lines_from(first: int, last: int) -> str:
    """Return e.g. " lines 40-160", " line 40"."""
    return f" lines {first}-{last}" if last > first else f" line {first}"


def numbered_lines(output: str) -> tuple[int, int] | None:
    """Return the first and last line number of an output that numbers its lines."""
    start = _NUMBERED.match(output, _content_at(output))
    if start is None:
        return None
    first = last = int(start[1])
    end = len(output)
    for _ in range(_LAST_LINES):
        at = output.rfind("\n", start.end(), end)
        found = _NUMBERED.match(output, at + 1) if at >= 0 else None
        if found is not None and int(found[1]) >= first:
            last = int(found[1])
        if at < 0 or found is not None:
            break
        end = at
    return (first, last) if last - first <= len(output) // 2 else None


def _content_at(output: str) -> int:
    """Return where the content starts, after the words with which some tools open it."""
    if output[:1] in " \t0123456789":
        return 0
    head = output[:600]
    if head.startswith("[File:"):
        found = _NUMBERED_LATER.search(head)
        return found.end() if found else 0
    for sign in _BEFORE_CONTENT:
        found = head.find(sign)
        if found >= 0:
            at = found + len(sign)
            return at if head[at : at + 1].isdecimal() else head.find("\n", at) + 1
    return 0


_CONTENTS = ARGUMENTS["contents"]
_SAID_CHARS = 200
"""Of the start of a result, where a write says how it went; chosen."""
_TOLD = Regex(
    r"\s{0,8}(?:The file |File created successfully at: |Successfully \w{1,20} (?:to )?(?:file: )?"
    r"|Wrote |Created )([^\s]{1,400}?)(?: has been |\s|\Z)"
)


def digest_write(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Write created src/app.py (120 lines)"."""
    path = path_of(arguments) or told_path(output)
    if not path:
        return digest_other(name, arguments, output)
    content = first_of(arguments, *_CONTENTS)
    size = f" ({size_of(content)})" if content else ""
    failed = failure_in(output)
    if failed:
        return f"{name} did not write {path}{size}: {failed}"
    said = output[:_SAID_CHARS].lower()
    verb = "created" if "created" in said else "overwrote" if "overw" in said else "wrote"
    return f"{name} {verb} {path}{size}"


def told_path(output: str) -> str:
    """Return the file that the output says it wrote, for a call whose arguments are lost."""
    found = _TOLD.match(output)
    return shorten(found[1]) if found else ""


_OLD = ARGUMENTS["old_texts"]
_NEW = ARGUMENTS["new_texts"]
_PATCHES = ARGUMENTS["shown_patches"]
_PATCHED = Regex(r"\*\*\* (Add|Update|Delete) File: ([^\n]{1,400})")
_MOVED = Regex(r"\*\*\* Move to: ([^\n]{1,400})")
_DIFFED = Regex(r"\n\+\+\+ (?:b/)?([^\n\t]{1,400})")
_VERBS = {"Add": "added", "Update": "changed", "Delete": "deleted"}
_EDITED_FILES = 4
"""Files of one patch that are named; chosen, a digest has room for no more."""
_DELETES = ("delete", "remove", "rm")
_MOVES = ("move", "mv", "rename")
_COPIES = ("copy", "cp")
_TARGETS = ARGUMENTS["shown_targets"]


def digest_edit(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Edit changed src/app.py lines 57-69 (3 -> 5 lines)".

    A tool that does several things by its argument `command` is told by that.
    """
    match arguments.get("command"):
        case "view":
            return digest_read(name, arguments, output)
        case "create":
            return digest_write(name, arguments, output)
        case _:
            pass
    patch = first_of(arguments, *_PATCHES)
    if patch and ("*** " in patch[:400] or "\n+++ " in patch):
        return _patch(name, patch, output)
    path = path_of(arguments) or told_path(output)
    if not path:
        return digest_other(name, arguments, output)
    failed = failure_in(output)
    if failed:
        return f"{name} did not change {path}: {failed}"
    return f"{name} {_done(name, path, arguments, output)}"


def _done(name: str, path: str, arguments: Mapping[str, Any], output: str) -> str:
    plain = own_name(name).lower()
    if plain.startswith(_DELETES) and "line" not in plain:
        return f"deleted {path}"
    target = shorten(first_of(arguments, *_TARGETS))
    if target and plain.startswith((*_MOVES, *_COPIES)):
        return f"{'copied' if plain.startswith(_COPIES) else 'moved'} {path} to {target}"
    return f"changed {path}{_where(arguments, output)}{_how_much(arguments)}"


def _where(arguments: Mapping[str, Any], output: str) -> str:
    shown = numbered_lines(output)
    if shown is not None:
        return lines_from(*shown)
    at = whole_number(arguments, "start_line", "insert_line", "line", "line_number")
    end = whole_number(arguments, "end_line")
    if at is None:
        return ""
    return lines_from(at, end if end is not None else at)


def _how_much(arguments: Mapping[str, Any]) -> str:
    edits = arguments.get("edits")
    if isinstance(edits, list) and edits:
        return f" ({plural(len(cast('list[Any]', edits)), 'edit')})"
    old, new = first_of(arguments, *_OLD), first_of(arguments, *_NEW)
    if not old and not new:
        return ""
    before, after = (text.rstrip("\n").count("\n") + 1 if text else 0 for text in (old, new))
    everywhere = ", everywhere" if arguments.get("replace_all") is True else ""
    return f" ({before} -> {plural(after, 'line')}{everywhere})"


def _patch(name: str, patch: str, output: str) -> str:
    """Return what a patch did to which file, with the lines added and taken away."""
    done: list[str] = []
    files = list(_PATCHED.finditer(patch))
    for index, file in enumerate(files[:_EDITED_FILES]):
        end = files[index + 1].start() if index + 1 < len(files) else len(patch)
        more, less = patch.count("\n+", file.end(), end), patch.count("\n-", file.end(), end)
        moved = _MOVED.search(patch, file.end(), min(end, file.end() + 500))
        target = f" and moved it to {shorten(moved[1], 60)}" if moved else ""
        counts = f" (+{more} -{less})" if more or less else ""
        done.append(f"{_VERBS[file[1]]} {shorten(file[2].strip(), 70)}{target}{counts}")
    if not files:
        names = _DIFFED.findall(patch)
        files = names
        done = [f"changed {shorten(path, 70)}" for path in names[:_EDITED_FILES]]
    left = len(files) - len(done)
    said = ", ".join(done) + (f" and {left} more" if left > 0 else "")
    failed = failure_in(output, 90)
    return f"{name} failed: {failed}; it would have {said}" if failed else f"{name} {said}"


_WANTED = ARGUMENTS["wanted"]
_PLACES = ARGUMENTS["places"]
_FOUND = Regex(r"Found (\d{1,9}) (?:total )?(match|file|result|line|occurrence)", re.I)
_NOTHING = Regex(r"\s{0,8}(?:no (?:matches|files|results|occurrences)|0 matches)", re.I)
_LOOKED_AT_CHARS = 4_000
"""Of the result of a search; chosen."""
_SHOWN_FILES = 2
"""Places of a search that are named; chosen, 70 characters each."""


def digest_search(name: str, arguments: Mapping[str, Any], output: str) -> str:
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


_PATTERNS = ARGUMENTS["patterns"]
_LISTED_PLACES = ARGUMENTS["listed_places"]
_HEAD_CHARS = 1_000
"""Of a listing; chosen."""
_SHOWN = 4
"""Names of a listing that are shown; chosen."""
_LISTED_NOTHING = ("no files found", "no matches", "no such", "0 files")


def digest_glob(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Glob looked for '**/*.md' in docs: 12 paths; first docs/a.md, docs/b.md, …"."""
    wanted = clip(first_of(arguments, *_PATTERNS), 80)
    return f"{name} looked for {wanted!r}{_inside(arguments)}: {_listed(output, arguments, 'path')}"


def digest_list(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "LS listed src: 12 entries; first app.py, tests/, …"."""
    where = _inside(arguments).removeprefix(" in ") or "the current folder"
    return f"{name} listed {where}: {_listed(output, arguments, 'entry', 'entries')}"


def _inside(arguments: Mapping[str, Any]) -> str:
    where = first_of(arguments, *_LISTED_PLACES)
    return f" in {shorten(where, 80)}" if where else ""


def _listed(output: str, arguments: Mapping[str, Any], one: str, many: str = "") -> str:
    if output[:40].lstrip().lower().startswith(_LISTED_NOTHING):
        return "nothing"
    said = failure_in(output) or fields_of(output, arguments)
    if said:
        return said
    count = output.count("\n") + (not output.endswith("\n"))
    lines = [line.strip() for line in output[:_HEAD_CHARS].split("\n")]
    names = [_leaf(line) for line in lines if line][:_SHOWN]
    more = ", …" if count > len(names) else ""
    return f"{plural(count, one, many)}; first {', '.join(names)}{more}"


def _leaf(line: str) -> str:
    """Return the end of a path, without the folders that all the others share with it."""
    return shorten("/".join(line.lstrip("-* ").rsplit("/", 2)[-2:]), 40)
