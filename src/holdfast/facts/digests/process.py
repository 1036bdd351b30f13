"""Running processes: which one, what was sent to it, how it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holdfast.facts.digests.ending import ending_of
from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.line import clip, first_of, words_of

_IDS = ("session_id", "bash_id", "shell_id", "shellId", "task_id", "process_id", "pid",
        "terminal_id", "terminalId", "id", "CommandId", "job_id")  # fmt: skip
_COMMAND = re.compile(
    r"Command: (?:\S{1,100} -\w{0,4}c )?"
    r"(?:'([^\n]{1,2000})'|\"([^\n]{1,2000})\"|([^\n]{1,2000}))(?=\n)"
)
_SENT = ("chars", "input", "text", "data", "Input", "command")


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "write_stdin sent 'y' to 4711: exit 0, 12 lines"."""
    which = next((found for key in _IDS if (found := words_of(arguments.get(key), 40))), "")
    action = clip(first_of(arguments, "action", "signal"), 30)
    sent = clip(first_of(arguments, *_SENT).strip("\r\n"), 60)
    done = f" {action}" if action else ""
    if sent:
        done += f" sent {sent!r}{f' to {which}' if which else ''}"
    elif which:
        done += f" looked at {which}" if not action else f" {which}"
    command = _command(output)
    if command:
        done += f" (`{clip(command, 100)}`)"
    return f"{name}{done}: {failure_in(output) or ending_of(output, command or sent)}"


def _command(output: str) -> str:
    """Return the command that an output names in its first line, out of the shell around it."""
    found = _COMMAND.match(output)
    return found[1] or found[2] or found[3] if found else ""
