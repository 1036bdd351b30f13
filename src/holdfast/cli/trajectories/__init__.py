"""`holdfast trajectories`: a group whose commands are files of their own."""

from __future__ import annotations

from importlib import import_module

import click

from holdfast.cli import LazyGroup

COMMANDS = {
    "compress": "Make every record fit, in a folder that can be gone on with.",
    "stats": "Say what records are like: turns, tokens, how many are over a target.",
    "sample": "Write a few records out of many, the same ones every time.",
    "verify": "Hold the output of a batch against what it says, and against its input.",
}
"""Name of a command, which is also the name of its file, and what it does."""


def _command(name: str) -> object:
    return import_module(f"holdfast.cli.trajectories.{name}").command


@click.group(cls=LazyGroup, names=COMMANDS, load=_command, invoke_without_command=True)
@click.pass_context
def trajectories(context: click.Context) -> int:
    """Make finished runs fit a training window, in batches.

    Records are ShareGPT, OpenAI or Anthropic conversations: JSON lines, JSON or Parquet, plain,
    gzip or zstd. No model is asked and nothing is sent, unless one is named.

    \b
    holdfast trajectories stats runs/ --target-tokens 16000
    holdfast trajectories compress runs/ -o fitted --target-tokens 16000 --workers 8
    holdfast trajectories verify fitted --against runs/
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return 0
