"""`holdfast sessions`: a group whose commands are files of their own."""

from __future__ import annotations

from importlib import import_module

import click

from holdfast.cli import LazyGroup

COMMANDS = {
    "list": "List kept sessions, the last used first.",
    "show": "Show a session: what it is, its compactions, cache misses and cost.",
    "tree": "Draw the lineage of a session.",
    "read": "Print a session: its first and last messages, or all of it.",
    "scroll": "Print the messages around a place of a session.",
    "compact": "Compact a session now.",
    "undo": "Take back the last compaction of a session.",
    "diff": "Show what a compaction did to every message.",
    "branch": "Go another way from a message of a session.",
    "title": "Give a session another title.",
    "goal": "Say what a session is for.",
    "pin": "Keep a message as it is through every compaction.",
    "unpin": "Let a message go with the others again.",
    "export": "Write a session to a file.",
    "delete": "Delete sessions for good.",
    "backup": "Write a copy of the whole store to a file.",
}
"""Name of a command, which is also the name of its file, and what it does."""


def _command(name: str) -> object:
    return import_module(f"holdfast.cli.sessions.{name}").command


@click.group(cls=LazyGroup, names=COMMANDS, load=_command, invoke_without_command=True)
@click.pass_context
def sessions(context: click.Context) -> int:
    """List, show, compact, undo, export and delete kept sessions.

    A session is named by its id, by the beginning of it, or by the id that the agent gave it.

    \b
    holdfast sessions list
    holdfast sessions show 20260131-1200
    holdfast sessions export 20260131-1200 --to openai-chat -o session.json
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return 0
