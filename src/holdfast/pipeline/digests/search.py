"""Search and listing tools: what was looked for, how much was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.pipeline.digests.line import clip, first_of

TOOLS = ("grep", "glob", "search", "search_files", "find", "find_file", "search_dir",
         "search_file", "ripgrep", "rg", "list", "ls", "list_dir", "list_files", "list_directory",
         "websearch", "web_search", "codebase_search")  # fmt: skip


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Grep looked for 'def main' in src: 14 lines"."""
    wanted = first_of(arguments, "pattern", "query", "regex", "search_term", "glob", "q")
    where = first_of(arguments, "path", "directory", "dir", "include", "target_directory")
    lines = sum(map(bool, output.split("\n")))
    looked = f" looked for {clip(wanted, 80)!r}" if wanted else " listed"
    inside = f" in {clip(where, 80)}" if where else ""
    return f"{name}{looked}{inside}: {lines:,} lines"
