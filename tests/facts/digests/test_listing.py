"""Finding files by name and listing folders."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "Glob",
        {"pattern": "**/*.md", "path": "/w/docs"},
        "/w/docs/a.md\n/w/docs/deep/b.md",
        "Glob looked for '**/*.md' in /w/docs: 2 paths; first docs/a.md, deep/b.md",
    ),
    (
        "find_file",
        {"file_name": "fields.py", "dir": "src"},
        "No files found matching fields.py",
        "find_file looked for 'fields.py' in src: nothing",
    ),
    (
        "LS",
        {"path": "/w/src"},
        "- /w/src/\n  - a.py\n  - b/\n  - c.py\n  - d.py\n",
        "LS listed /w/src: 5 entries; first src/, a.py, b/, c.py, …",
    ),
    (
        "ls",
        {"a": True},
        '{"current_directory_content": ["report.txt", "image.jpg"]}',
        "ls listed the current folder: current_directory_content=[2: report.txt, image.jpg]",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_listing_keeps_the_count_and_the_first_names(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """With the end of each path, which tells them apart."""
    assert digest(tool, arguments, output) == line
