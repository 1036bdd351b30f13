"""Commands: what was run, how it ended, the first error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.pipeline.digests.line import clip, error_line, exit_code, first_of, size_of

TOOLS = (
    "bash", "shell", "terminal", "exec", "exec_command", "execute_bash", "execute_command",
    "local_shell", "run_command", "run_shell_command", "run_terminal_cmd", "shell_command",
    "container.exec", "execute_ipython_cell", "write_stdin",
)  # fmt: skip


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Bash ran `npm test`: exit 1, 212 lines; first error: …"."""
    command = clip(first_of(arguments, "command", "cmd", "script", "code", "input"), 160)
    code = exit_code(output)
    ended = f"exit {code}, " if code is not None else ""
    error = error_line(output) if code != 0 else ""
    tail = f"; first error: {error}" if error else ""
    return f"{name} ran `{command}`: {ended}{size_of(output)}{tail}"
