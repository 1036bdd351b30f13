"""Commands: what was run, how it ended, what failed."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "Bash",
        {"command": "npm test"},
        "Exit code 1\n" + "at x\n" * 9 + "Error: no such user\n",
        "Bash ran `npm test`: exit 1, 11 lines; Error: no such user",
    ),
    (
        "Bash",
        {"command": "git add -A && git commit -m 'x'"},
        (
            "[main 7a8fae0] Add the entry point\n 1 file changed, 259 insertions(+)\n"
            " create mode 100644 cmd/main.go"
        ),
        (
            "Bash ran `git add -A && git commit -m 'x'`: 3 lines; commit main 7a8fae0: Add "
            "the entry point"
        ),
    ),
    (
        "Bash",
        {"command": "mise run test 2>&1 | tail -10"},
        (
            "ok  \texample.io/cli/session\t(cached)\nok  \texample.io/cli/strategy\t3.774s\n"
            "?   \texample.io/cli/cmd\t[no test files]"
        ),
        "Bash ran `mise run test 2>&1 | tail -10`: 3 lines; 2 passed, 1 skipped",
    ),
    (
        "Bash",
        {"command": "go test ./internal/... 2>&1 | tail -15"},
        (
            '=== RUN   TestProbe\n    smarthttp_test.go:992: expected POST, got "GET"\n'
            "--- FAIL: TestProbe (0.00s)\nFAIL\nFAIL\texample.io/git-sync/internal/gitproto"
            "\t0.385s\nFAIL"
        ),
        (
            "Bash ran `go test ./internal/... 2>&1 | tail -15`: 6 lines; 1 failed; "
            "failing: TestProbe"
        ),
    ),
    (
        "bash",
        {"command": "pytest -q"},
        (
            "FAILED tests/test_a.py::test_one - AssertionError: assert 3 == 4\n"
            "FAILED tests/test_a.py::test_two - ValueError: bad\n"
            "2 failed, 40 passed, 1 skipped in 1.20s\n"
        ),
        (
            "bash ran `pytest -q`: 3 lines; 2 failed, 40 passed, 1 skipped; failing: "
            "tests/test_a.py::test_one, tests/test_a.py::test_two; AssertionError: assert "
            "3 == 4"
        ),
    ),
    (
        "exec_command",
        {"cmd": "sed -n '1,3p' a.go", "workdir": "/w"},
        (
            "Command: /bin/zsh -lc \"sed -n '1,3p' a.go\"\nChunk ID: 2defc4\n"
            "Wall time: 0.0000 seconds\nProcess exited with code 0\n"
            "Original token count: 1103\nOutput:\npackage a\n\n"
            'var errFailed = errors.New("failed")\n'
        ),
        "exec_command ran `sed -n '1,3p' a.go`: exit 0, 3 lines",
    ),
    (
        "exec_command",
        {"cmd": "go test ./..."},
        (
            "Chunk ID: 3d4a77\nWall time: 1.0013 seconds\nProcess running with session ID "
            "79220\nOriginal token count: 55\nOutput:\n"
        ),
        "exec_command ran `go test ./...`: still running 79220, 0 characters",
    ),
    (
        "shell",
        {"command": ["bash", "-lc", "ls -l"]},
        "total 4\n-rw-r--r-- 1 a a 3 May 1 a.py",
        "shell ran `ls -l`: 2 lines",
    ),
    (
        "shell",
        {"command": ["ls", "-l"], "timeout_ms": 1000},
        '{"output":"a.py\\nb.py\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}',
        "shell ran `ls -l`: exit 0, 2 lines",
    ),
    (
        "terminal",
        {"command": "pip install x"},
        (
            '{"output": "ERROR: No matching distribution found for x", "exit_code": 1, '
            '"error": null}'
        ),
        (
            "terminal ran `pip install x`: exit 1, 43 characters; ERROR: No matching "
            "distribution found for x"
        ),
    ),
    (
        "execute_bash",
        {"command": "python hello.py"},
        (
            "Hello, World!\n[The command completed with exit code 0.]\n"
            "[Current working directory: /w]\n[Command finished with exit code 0]"
        ),
        "execute_bash ran `python hello.py`: exit 0, 4 lines",
    ),
    (
        "run_shell_command",
        {"command": "make"},
        (
            "Command: make\nDirectory: (root)\nOutput: cc a.c\n"
            "a.c:3:5: error: expected ';'\nError: (none)\nExit Code: 2\n"
            "Signal: 0"
        ),
        "run_shell_command ran `make`: exit 2, 4 lines; a.c:3:5: error: expected ';'",
    ),
    (
        "execute_command",
        {"command": "cat missing"},
        (
            "<returncode>1</returncode>\n<output>\ncat: missing: No such file or directory\n"
            "</output>"
        ),
        (
            "execute_command ran `cat missing`: exit 1, 4 lines; cat: missing: No such "
            "file or directory"
        ),
    ),
    (
        "run_terminal_cmd",
        {"command": "pnpm test"},
        "[queue] Failed to persist the event\nPASS queue\nPASS runner\nAll tests passed (24)\n",
        "run_terminal_cmd ran `pnpm test`: 4 lines; All tests passed (24)",
    ),
    (
        "bash",
        {"command": "git diff --stat"},
        " a.py | 4 +-\n b.py | 9 +++\n 2 files changed, 10 insertions(+), 3 deletions(-)\n",
        ("bash ran `git diff --stat`: 3 lines; 2 files changed, 10 insertions(+), 3 deletions(-)"),
    ),
    (
        "bash",
        {"command": "cat build.log"},
        "step 1\nstep 2\nfatal: no space left\n",
        "bash ran `cat build.log`: 3 lines; fatal: no space left",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_command_keeps_how_it_ended(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """The command, its exit status, the size, the counts, what failed and the first error."""
    assert digest(tool, arguments, output) == line
