"""Commands: what was run, how it ended, what failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from holdfast.facts.digests.ending import ending_of
from holdfast.facts.digests.line import clip, words_of

_COMMANDS = ("command", "cmd", "commands", "script", "CommandLine", "command_line", "code", "input")
_RUNS_A_LINE = re.compile(r"-\w{0,4}c\Z|/c\Z", re.I)
_WRAPPED = 3


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Bash ran `npm test`: exit 1, 212 lines; failing: test_a, test_b; Error: …"."""
    command = command_of(arguments)
    return f"{name} ran `{clip(command, 140)}`: {ending_of(output, command)}"


def command_of(arguments: Mapping[str, Any]) -> str:
    """Return the command line of a call; of `bash -lc LINE` as a list, the line."""
    for key in _COMMANDS:
        found = arguments.get(key)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list) and found:
            words = [word if isinstance(word, str) else words_of(word) for word in
                     cast("list[Any]", found)]  # fmt: skip
            if len(words) == _WRAPPED and _RUNS_A_LINE.match(words[1]):
                return words[2]
            return " ".join(words)
    return ""
