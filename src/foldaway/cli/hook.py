"""`foldaway hook`: what it takes, for people; `agents/hooks/process.py` is what agents start."""

from __future__ import annotations

import sys

import click

from foldaway.agents.hooks import main


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("agent", required=False, default="")
def hook(**_: object) -> None:
    """Answer a hook of a coding agent; `foldaway install` sets it up.

    Reads an event as JSON and prints the answer. Exits with 0, and prints nothing if anything goes
    wrong. Takes --facts, --results and --redact as `foldaway install` does.

    \b
    foldaway hook claude-code < event.json
    """
    main(sys.argv[2:])
