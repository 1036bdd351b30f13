"""`holdfast memory`: a group whose commands are files of their own."""

from __future__ import annotations

from importlib import import_module

import click

from holdfast.cli import LazyGroup

COMMANDS = {
    "list": "List what is remembered, the oldest first.",
    "add": "Remember something.",
    "edit": "Edit a memory file; what others write meanwhile is kept.",
    "remove": "Forget an entry.",
    "search": "Find entries by their words.",
    "history": "Show every version: when, by whom, what changed.",
    "restore": "Put a version back.",
}
"""Name of a command, which is also the name of its file, and what it does."""


def _command(name: str) -> object:
    return import_module(f"holdfast.cli.memory.{name}").command


@click.group(cls=LazyGroup, names=COMMANDS, load=_command, invoke_without_command=True)
@click.pass_context
def memory(context: click.Context) -> int:
    """List, add, edit, remove, search and restore what is remembered.

    What the agent learnt is in MEMORY.md, who the user is in USER.md (--user): Markdown files in
    the data folder, an entry a list item or paragraph, to be edited with any editor.

    \b
    holdfast memory list
    holdfast memory add "Prefers short answers" --user
    holdfast memory edit
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return 0
