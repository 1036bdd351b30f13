"""`foldaway sessions`: a group whose commands are in five files, of which one is loaded."""

from __future__ import annotations

from importlib import import_module

import click

from foldaway.cli import LazyGroup

COMMANDS = {
    "list": "List stored sessions, the last used first.",
    "show": "Show a session: what it is, its compactions, cache misses and cost.",
    "tree": "Draw the lineage of a session.",
    "read": "Print a session: its first and last messages, or all of it.",
    "scroll": "Print the messages around a place of a session.",
    "branch": "Branch a session at a message.",
    "title": "Rename a session.",
    "goal": "Set the goal of a session.",
    "pin": "Keep a message as it is through every compaction.",
    "unpin": "Let compactions fold a message again.",
    "export": "Write a session to a file.",
    "delete": "Delete sessions permanently.",
    "erase": "Erase the words of a person or a project, and prove it.",
    "tidy": "Compact sessions that nobody uses now, and end old ones.",
    "backup": "Write a copy of the whole store to a file.",
}
"""Name of a command and what it does."""
_FILES = {
    "browse": ("list", "tree", "read", "scroll", "export", "backup"),
    "show": ("show",),
    "compact": ("tidy",),
    "erase": ("erase",),
    "change": ("branch", "title", "goal", "pin", "unpin", "delete"),
}
"""The commands of a file: that of `compact` loads the engine, the others do not."""


def _load(name: str) -> object:
    file = next(file for file, names in _FILES.items() if name in names)
    function = "list_sessions" if name == "list" else name
    return getattr(import_module(f"foldaway.cli.sessions.{file}"), function)


@click.group(
    cls=LazyGroup,
    groups={"Commands": COMMANDS},
    load=_load,
    aliases={"compact": "compact", "undo": "undo", "diff": "diff"},
)
def sessions() -> None:
    """List, show, branch, export and delete stored sessions.

    A session is named by its id, by the beginning of it, or by the id that the agent gave it.

    \b
    foldaway sessions list
    foldaway sessions show 20260131-1200
    foldaway sessions export 20260131-1200 --to openai-chat -o session.json
    """
