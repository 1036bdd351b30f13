"""`holdfast hook`: what it takes, for people; `hooks/process.py` is what agents start."""

from __future__ import annotations

import sys

import click

from holdfast.cli.inputs import options
from holdfast.hooks.process import DEFAULTS, main


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("agent", required=False, default="")
@options(
    ("--event", str, "NAME", "Which event, if the agent does not say."),
    ("--facts", str, "N", "Tokens of the facts for a compaction, and again after it.",
     DEFAULTS["facts"]),
    ("--results", str, "N",
     "Tokens of a tool's result; a longer one is shortened. 0 shortens none.",
     DEFAULTS["results"]),
    ("--redact", bool, "", "Hide secrets in results."),
    ("--home", str, "DIR", "Where Holdfast keeps everything."),
    ("--config", str, "FILE", "A settings file."),
    ("--profile", str, "NAME", "Whose sessions."),
)  # fmt: skip
def hook(**_: object) -> None:
    """Answer a hook of a coding agent; `holdfast install` sets it up.

    Reads an event as JSON from standard input and prints the answer: facts for a compaction and
    after it, a long result in short. Exits with 0, and prints nothing if anything goes wrong.

    \b
    holdfast hook claude-code < event.json
    """
    main(sys.argv[2:])
