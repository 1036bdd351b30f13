"""The truth about files, and what a summary names: facts, references and sources."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from foldaway.lab.scoring.facts import facts_in
from foldaway.lab.scoring.session import TOOL_WORDS, Message, content_text, decode_arguments
from foldaway.lab.scoring.shell import Touched, find_patched_files, find_touched
from foldaway.lab.scoring.signals import has_failed

_PATHS = TOOL_WORDS["path_keys"]
_WRITERS = frozenset(TOOL_WORDS["writers"])
_EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool"})
_LOOKS = frozenset({"view", "undo_edit"})
_PATCHERS = frozenset({"apply_patch", "patch", "applypatch"})
_OPENED = re.compile(r"^\(Open file: ([^)\n]{1,300})\)|^\[File: (\S{1,300})", re.MULTILINE)
_FOLDER = re.compile(r"^\(Current directory: ([^)\n]{1,300})\)", re.MULTILINE)
_UPDATED = re.compile(r"^[AMD] (\S.{0,300})$", re.MULTILINE)
_REFERENCE = re.compile(r"\bfa-[0-9a-f]{10}\b")
_SOURCE = re.compile(r" \[m(\d{1,9})\]$", re.MULTILINE)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_OURS = re.compile(
    r"\bfa-[0-9a-f]{10}\b| ?\[(?:earlier )?m?\d[\w.:-]{0,80}\]|^\(… .*$|^\d{1,6}[.)] "
    r"|\S*…\S*|\((?:\d{1,9} to )?\d{1,9} of [\d,]{1,12}\)",
    re.MULTILINE,
)
"""What the summary says in its own right: references, labels, counts, words that it clipped."""


def find_touched_files(messages: Sequence[Message]) -> Touched:
    """Return the files that the calls of these messages touched.

    A call that failed touched nothing for sure: a shell line may have got half-way, so its files
    are unsure. So are those of a call without a result.
    """
    results = {
        str(message.get("tool_call_id")): content_text(message)
        for message in messages
        if message["role"] == "tool"
    }
    found = Touched()
    open_file = folder = ""
    for message in messages:
        if message["role"] == "tool":
            open_file, folder = _editor_state(content_text(message), open_file, folder)
        for call in message.get("tool_calls") or ():
            name = str(call["function"].get("name", "")).lower().rpartition(".")[2]
            values = decode_arguments(str(call["function"].get("arguments") or ""))
            result = results.get(str(call.get("id")))
            here, is_shell = _call(name, values, open_file, folder)
            if result is not None and name in _PATCHERS:
                here = _as_reported(here, result)
            if result is None or has_failed(result):
                if is_shell or result is None:
                    found.unsure |= here.sure | here.unsure
            else:
                found.join(here)
    return Touched(_remove_shorter(found.sure), found.unsure - found.sure)


def is_same_file(one: str, other: str) -> bool:
    """Return whether two names may mean one file: equal, or one ends with the other."""
    one, other = _plain(one), _plain(other)
    if len(one) < len(other):
        one, other = other, one
    return one == other or (bool(other) and one.endswith("/" + other.lstrip("/")))


def is_among(path: str, paths: Iterable[str]) -> bool:
    """Return whether a path means one of several files."""
    return any(is_same_file(path, other) for other in paths)


def _remove_shorter(paths: set[str]) -> set[str]:
    """Return the paths without shorter names of the same files."""
    kept: list[str] = []
    for path in sorted(paths, key=lambda path: (-len(path), path)):
        if not is_among(path, kept):
            kept.append(path)
    return set(kept)


def _plain(path: str) -> str:
    return posixpath.normpath(path.strip().strip("`'\"")).removeprefix("./").removeprefix("~/")


def _call(name: str, values: dict[str, Any], open_file: str, folder: str) -> tuple[Touched, bool]:
    """Return what a call would touch, and whether it is a shell command."""
    found = Touched()
    line = next((values[key] for key in ("command", "cmd") if values.get(key)), None)
    if isinstance(line, list):
        line = _join_arguments(cast("list[Any]", line))
    if name in _EDITORS:
        if values.get("command") not in _LOOKS:
            _add_paths(values, found)
        return found, False
    if name in _PATCHERS:
        for value in values.values():
            if isinstance(value, str):
                found.sure |= find_patched_files(value)
        return found, False
    if name in ("mv", "cp") and "destination" in values:
        return find_touched(f"{name} '{values.get('source')}' '{values['destination']}'"), True
    if name == "echo" and values.get("file_name"):
        found.add(str(values["file_name"]))
        return found, False
    if isinstance(line, str):
        where = str(values.get("workdir") or values.get("cwd") or folder)
        return _shell(line, where, open_file), True
    if name in _WRITERS and not _add_paths(values, found) and open_file:
        found.add(open_file)
    return found, False


def _shell(line: str, folder: str, open_file: str) -> Touched:
    """Return what a command line touches; SWE-agent's editor commands come the same way."""
    first = line.split(maxsplit=2)
    found = Touched()
    if first[:1] == ["create"] and len(first) == 2:
        found.add(posixpath.join(folder, first[1]))
    elif first[:1] == ["edit"] and "end_of_edit" in line:
        found.add(open_file)
    else:
        return find_touched(line, folder)
    return found


def _as_reported(here: Touched, result: str) -> Touched:
    """Return only what a patch tool's own report names, if it names anything."""
    text = result
    if result.startswith("{"):
        text = str(decode_arguments(result).get("output") or result)
    named = set(_UPDATED.findall(text))
    if not named:
        return here
    sure = {path for path in here.sure if is_among(path, named)}
    return Touched(sure, here.sure - sure)


def _editor_state(result: str, open_file: str, folder: str) -> tuple[str, str]:
    for first, second in _OPENED.findall(result):
        named = first or second
        open_file = "" if named == "n/a" else named
    for named in _FOLDER.findall(result):
        folder = named
    return open_file, folder


def _add_paths(values: dict[str, Any], found: Touched) -> bool:
    for key in _PATHS:
        value = values.get(key)
        if isinstance(value, str) and value:
            found.add(value)
            return True
    return False


def _join_arguments(words: list[Any]) -> str:
    """Return an argument list as a line; of `bash -lc …` the script itself."""
    parts = list(map(str, words))
    if len(parts) >= 3 and parts[1].startswith("-") and parts[1].endswith("c"):
        return parts[2]
    return " ".join(parts)


def references(text: str) -> set[str]:
    """Return the references in a view."""
    return set(_REFERENCE.findall(text))


def label_numbers(summary: str) -> set[int]:
    """Return the positions of messages that the entries of a summary name as their sources."""
    return {int(number) for number in _SOURCE.findall(summary)}


def summary_facts(summary: str) -> set[str]:
    """Return the facts of a summary, without its own marks and counts."""
    headless = _HEADING.sub("", summary)
    return facts_in(_OURS.sub(" ", headless))
