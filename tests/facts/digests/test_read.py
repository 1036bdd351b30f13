"""Reading files: which one, which lines of it."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "Read",
        {"file_path": "src/app.py", "offset": 40, "limit": 3},
        (
            "    40→def main():\n    41→    return 1\n    42→\n"
            "\n<system-reminder>\nWhenever you read a file, consider it.\n"
            "</system-reminder>\n"
        ),
        "Read src/app.py lines 40-42",
    ),
    (
        "read",
        {"filePath": "/w/db.ts"},
        (
            "<path>/w/db.ts</path>\n<type>file</type>\n<content>1: import a\n"
            "2: import b\n\n(Output capped at 50 KB. Showing lines 1-2. Use offset=3 to "
            "continue.)\n</content>"
        ),
        "read /w/db.ts lines 1-2",
    ),
    (
        "read_file",
        {"path": "src/a.py", "offset": 40},
        "a\nb\nc",
        "read_file src/a.py from line 40: 3 lines",
    ),
    (
        "mcp__fs__read_text_file",
        {"path": "notes.md"},
        "# Error handling\nfailed runs are retried\n",
        "mcp__fs__read_text_file notes.md: 2 lines",
    ),
    (
        "view_file",
        {"AbsolutePath": "/w/a.ts", "StartLine": 10, "EndLine": 90},
        "const a = 1\n" * 81,
        "view_file read /w/a.ts lines 10-90: 81 lines",
    ),
    (
        "read_file",
        {"files": [{"path": "a.py"}, {"path": "b.py"}]},
        "<file><path>a.py</path></file>\n<file><path>b.py</path></file>",
        "read_file 2 files (a.py, b.py): 2 lines",
    ),
    (
        "open",
        {"path": "src/fields.py", "line_number": 1474},
        "[File: /testbed/src/fields.py (1997 lines total)]\n(1400 more lines above)\n1401:a\n",
        "open read src/fields.py line 1401",
    ),
    (
        "Read",
        {"file_path": "gone.py"},
        "<tool_use_error>File does not exist.</tool_use_error>",
        "Read did not read gone.py: File does not exist.",
    ),
    (
        "cat",
        {"file_name": "log.txt"},
        '{"file_content": "Observation 1: Normal"}',
        "cat read log.txt: 41 characters",
    ),
    (
        "str_replace_editor",
        {"command": "view", "path": "/w/hello.py"},
        (
            "Here's the result of running `cat -n` on /w/hello.py:\n"
            "     1\tprint('Hello')\n     2\tprint('World')\n"
        ),
        "str_replace_editor read /w/hello.py lines 1-2",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_read_keeps_the_file_and_its_lines(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """From the numbers in the output, otherwise from the arguments; its content is no failure."""
    assert digest(tool, arguments, output) == line
