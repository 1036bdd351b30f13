"""Running processes: which one, what was sent to it, how it stands."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "write_stdin",
        {"session_id": 41505, "chars": ""},
        (
            "Command: /bin/zsh -lc 'go test ./x'\nChunk ID: 43e23f\n"
            "Wall time: 0.0000 seconds\nProcess exited with code 1\n"
            "Original token count: 430\nOutput:\n--- FAIL: TestRun (0.00s)\n"
            "panic: failed to listen\nFAIL\tx\t0.333s\n"
        ),
        (
            "write_stdin looked at 41505 (`go test ./x`): exit 1, 3 lines; 1 failed; "
            "failing: TestRun; panic: failed to listen"
        ),
    ),
    (
        "write_stdin",
        {"session_id": 7, "chars": "y\n"},
        (
            "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 7\n"
            "Original token count: 2\nOutput:\nContinue? "
        ),
        "write_stdin sent 'y' to 7: still running 7, 10 characters",
    ),
    (
        "BashOutput",
        {"bash_id": "bash_1"},
        (
            "<status>completed</status>\n\n<exit_code>0</exit_code>\n"
            "\n<stdout>\nserver ready\n</stdout>"
        ),
        "BashOutput looked at bash_1: exit 0, 7 lines",
    ),
    (
        "process",
        {"action": "kill", "session_id": "proc_1"},
        "Error: no such process",
        "process kill proc_1: Error: no such process",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_process_keeps_its_name_and_how_it_stands(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """And the command, where the output names it: a bare number says nothing later."""
    assert digest(tool, arguments, output) == line
