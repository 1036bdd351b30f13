"""The value: one thing that a tool call did to a file, a directory, a branch or a process."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Action: TypeAlias = Literal[
    "read", "create", "write", "change", "append", "delete", "rename", "mkdir",
    "chdir", "branch", "commit", "start", "stop",
]  # fmt: skip


class Effect(Struct, frozen=True, gc=False):
    """What one call asked for, read from its arguments; whether it succeeded is not known here.

    `create` is said where the call sets out to make a new file, `write` where it sets the whole
    content of a file that may have existed, `change` where it edits one that exists.
    """

    action: Action
    path: str = ""
    """Empty where the call names no file: a branch, a commit, a process, `git reset --hard`, an
    edit of the file that SWE-agent holds open."""
    to: str = ""
    """Where a rename leads; empty where that is not known."""
    lines: tuple[int, int] | None = None
    """First and last line, from 1; a last line of 0 is the end of the file."""
    detail: str = ""
    """The branch, the commit message, the command or process."""
