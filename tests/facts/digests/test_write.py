"""Writing files: which one, how much, whether it was new."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "Write",
        {"file_path": "a.py", "content": "x = 1\ny = 2\n"},
        "File created successfully at: a.py",
        "Write created a.py (2 lines)",
    ),
    (
        "write_to_file",
        {"path": "a.py", "content": "x = 1"},
        "The content was successfully saved to a.py.",
        "write_to_file wrote a.py (5 characters)",
    ),
    (
        "Write",
        {"file_path": "a.py", "content": "x = 1"},
        (
            "<tool_use_error>File has not been read yet. Read it first before writing to "
            "it.</tool_use_error>"
        ),
        (
            "Write did not write a.py (5 characters): File has not been read yet. Read it "
            "first before writing to it."
        ),
    ),
    (
        "Write",
        {"file_path": "a.py", "content": "x = 1"},
        (
            "The user doesn't want to proceed with this tool use. The tool use was "
            "rejected. To tell you how to proceed, the user said:\n"
            "use the helper from textutil"
        ),
        (
            "Write did not write a.py (5 characters): rejected by the user: use the helper "
            "from textutil"
        ),
    ),
    (
        "Write",
        {},
        (
            "The file /w/plan.md has been updated. Here's the result of running `cat -n` "
            "on a snippet of the edited file:\n     1→# Plan\n"
        ),
        "Write wrote /w/plan.md",
    ),
    (
        "file_editor",
        {"command": "create", "path": "/w/new.py", "file_text": "print(1)\n"},
        "File created successfully at: /w/new.py",
        "file_editor created /w/new.py (9 characters)",
    ),
    (
        "mcp__tracker__create",
        {"title": "Fix it"},
        '{"id": "T-7", "status": "open"}',
        "mcp__tracker__create(title=Fix it): status=open, id=T-7",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_write_keeps_the_file_and_its_size(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """Also what the tool or the user had against it."""
    assert digest(tool, arguments, output) == line
