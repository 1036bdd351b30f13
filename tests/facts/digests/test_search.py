"""Searching in files: what was looked for, how much was found."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "Grep",
        {"pattern": "def main", "path": "src", "output_mode": "content"},
        "src/a.py:12:def main():\nsrc/a.py:90:    def main_loop():\nsrc/b.py:7:def main():",
        "Grep looked for 'def main' in src: 3 lines in 2 files; first src/a.py:12, src/b.py:7",
    ),
    (
        "Grep",
        {"pattern": "def main", "path": "src/a.py"},
        "12:def main():\n13-    pass\n90:def main_loop():",
        "Grep looked for 'def main' in src/a.py: 3 lines; first line 12",
    ),
    (
        "Grep",
        {"pattern": "main", "output_mode": "files_with_matches"},
        "Found 2 files\nsrc/a.py\nsrc/b.py",
        "Grep looked for 'main': 2 files; first src/a.py, src/b.py",
    ),
    (
        "grep",
        {"pattern": "main", "path": "/w"},
        (
            "Found 49 matches\n/w/src/a.ts:\n  Line 45:  main()\n"
            "  Line 47:  main2()\n\n/w/src/b.ts:\n  Line 3:  main()"
        ),
        "grep looked for 'main' in /w: 49 matches in 2 files; first /w/src/a.ts, /w/src/b.ts",
    ),
    (
        "search_files",
        {"path": "src", "regex": "TODO", "file_pattern": "*.py"},
        "No matches found",
        "search_files looked for 'TODO' in src: nothing",
    ),
    (
        "grep_search",
        {"pattern": "["},
        "Error: invalid regular expression: unterminated character set",
        (
            "grep_search looked for '[': Error: invalid regular expression: unterminated "
            "character set"
        ),
    ),
    (
        "search_files",
        {"pattern": "main"},
        (
            '{"total_count": 2, "matches": [{"path": "a.py", "line": 1}, {"path": "b.py", '
            '"line": 2}]}'
        ),
        "search_files looked for 'main': total_count=2, matches=[2: a.py, b.py]",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_search_keeps_the_count_and_the_first_hits(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """By file where the output names files."""
    assert digest(tool, arguments, output) == line
