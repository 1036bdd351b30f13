"""`holdfast config`: a group whose commands are files of their own."""

from __future__ import annotations

from importlib import import_module

import click

from holdfast.cli import LazyGroup

COMMANDS = {
    "show": "Show the settings in effect, where they come from, and what was ignored.",
    "trust": "Let the holdfast.toml of a folder set everything, as long as it does not change.",
    "untrust": "Stop trusting the holdfast.toml of a folder.",
}
"""Name of a command, which is also the name of its file, and what it does."""


def _command(name: str) -> object:
    return import_module(f"holdfast.cli.config.{name}").command


@click.group(cls=LazyGroup, names=COMMANDS, load=_command, invoke_without_command=True)
@click.pass_context
def config(context: click.Context) -> int:
    """Show the settings in effect, and trust the settings of a folder.

    The holdfast.toml of the current folder may tune compaction. It may set an address, a command,
    a store, a key or a package only if you trust it.

    \b
    holdfast config show
    holdfast config trust .
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return 0
