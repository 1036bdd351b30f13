"""Changing files: which ones, where, how much; also moving and deleting them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from holdfast.facts.digests import other, read, write
from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.line import (
    first_of,
    path_of,
    plural,
    shorten,
    whole_number,
)
from holdfast.facts.tools import own_name

_OLD = ("old_string", "old_str", "oldText", "old_text", "oldString", "search", "target_content")
_NEW = ("new_string", "new_str", "newText", "new_text", "newString", "replace",
        "replacement_text", "replacement", "insert_text", "text", "content",
        "code_edit")  # fmt: skip
_PATCHES = ("input", "patch", "patchText", "patch_text", "diff")
_PATCHED = re.compile(r"\*\*\* (Add|Update|Delete) File: ([^\n]{1,400})")
_MOVED = re.compile(r"\*\*\* Move to: ([^\n]{1,400})")
_DIFFED = re.compile(r"\n\+\+\+ (?:b/)?([^\n\t]{1,400})")
_VERBS = {"Add": "added", "Update": "changed", "Delete": "deleted"}
_SHOWN_FILES = 4
_DELETES = ("delete", "remove", "rm")
_MOVES = ("move", "mv", "rename")
_COPIES = ("copy", "cp")
_TARGETS = ("destination", "dest", "target", "to", "new_path", "destination_path",
            "destination_directory", "new_name")  # fmt: skip


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Edit changed src/app.py lines 57-69 (3 -> 5 lines)".

    A tool that does several things by its argument `command` is told by that.
    """
    match arguments.get("command"):
        case "view":
            return read.digest(name, arguments, output)
        case "create":
            return write.digest(name, arguments, output)
        case _:
            pass
    patch = first_of(arguments, *_PATCHES)
    if patch and ("*** " in patch[:400] or "\n+++ " in patch):
        return _patch(name, patch, output)
    path = path_of(arguments) or write.told_path(output)
    if not path:
        return other.digest(name, arguments, output)
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
    shown = read.numbered_lines(output)
    if shown is not None:
        return read.lines_from(*shown)
    at = whole_number(arguments, "start_line", "insert_line", "line", "line_number")
    end = whole_number(arguments, "end_line")
    if at is None:
        return ""
    return read.lines_from(at, end if end is not None else at)


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
    for index, file in enumerate(files[:_SHOWN_FILES]):
        end = files[index + 1].start() if index + 1 < len(files) else len(patch)
        more, less = patch.count("\n+", file.end(), end), patch.count("\n-", file.end(), end)
        moved = _MOVED.search(patch, file.end(), min(end, file.end() + 500))
        target = f" and moved it to {shorten(moved[1], 60)}" if moved else ""
        counts = f" (+{more} -{less})" if more or less else ""
        done.append(f"{_VERBS[file[1]]} {shorten(file[2].strip(), 70)}{target}{counts}")
    if not files:
        names = _DIFFED.findall(patch)
        files = names
        done = [f"changed {shorten(path, 70)}" for path in names[:_SHOWN_FILES]]
    left = len(files) - len(done)
    said = ", ".join(done) + (f" and {left} more" if left > 0 else "")
    failed = failure_in(output, 90)
    return f"{name} failed: {failed}; it would have {said}" if failed else f"{name} {said}"
