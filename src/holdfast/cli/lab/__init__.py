"""`holdfast lab`: a group whose commands are files of their own."""

from __future__ import annotations

from importlib import import_module

import click

from holdfast.cli import LazyGroup

COMMANDS = {
    "run": "Hold strategies against each other on real sessions.",
    "show": "Show the tables of a run again.",
    "gate": "Say whether a run is worse than an earlier one.",
    "strategies": "List the strategies that can be tried.",
}
"""Name of a command, which is also the name of its file, and what it does."""


def _command(name: str) -> object:
    return import_module(f"holdfast.cli.lab.{name}").command


@click.group(cls=LazyGroup, names=COMMANDS, load=_command, invoke_without_command=True)
@click.pass_context
def lab(context: click.Context) -> int:
    """Measure what compaction keeps, on your own sessions.

    A session is cut where it really went on. Each strategy sees what was before and gets a share
    of its tokens; what the agent then used is the truth. No model is asked, nothing is sent.

    \b
    holdfast lab run ~/.claude/projects -o lab
    holdfast lab show lab
    holdfast lab gate lab --baseline before/summary.json
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return 0
