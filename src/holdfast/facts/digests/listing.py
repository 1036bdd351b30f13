"""Finding files by name, listing folders: what was asked, how much there is, what is first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.fields import fields_of
from holdfast.facts.digests.line import clip, first_of, plural, shorten

_PATTERNS = ("pattern", "glob", "glob_pattern", "query", "name", "file_name", "Pattern", "regex")
_PLACES = ("path", "dir_path", "directory", "dir", "target_directory", "folder", "DirectoryPath",
           "relative_workspace_path", "SearchDirectory", "relative_path")  # fmt: skip
_HEAD_CHARS = 1_000
_SHOWN = 4
_NOTHING = ("no files found", "no matches", "no such", "0 files")


def digest_glob(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Glob looked for '**/*.md' in docs: 12 paths; first docs/a.md, docs/b.md, …"."""
    wanted = clip(first_of(arguments, *_PATTERNS), 80)
    return f"{name} looked for {wanted!r}{_inside(arguments)}: {_found(output, arguments, 'path')}"


def digest_list(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "LS listed src: 12 entries; first app.py, tests/, …"."""
    where = _inside(arguments).removeprefix(" in ") or "the current folder"
    return f"{name} listed {where}: {_found(output, arguments, 'entry', 'entries')}"


def _inside(arguments: Mapping[str, Any]) -> str:
    where = first_of(arguments, *_PLACES)
    return f" in {shorten(where, 80)}" if where else ""


def _found(output: str, arguments: Mapping[str, Any], one: str, many: str = "") -> str:
    if output[:40].lstrip().lower().startswith(_NOTHING):
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
