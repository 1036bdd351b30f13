"""`foldaway follow` and `foldaway hook`: the processes behind the plug-ins and hooks of agents.

`agents/hooks/process.py` is what agents start; the command here says what it takes.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from foldaway.agents.hooks import main
from foldaway.agents.plugins import FORMS, AgentSessions
from foldaway.cli.settings import settings_from
from foldaway.cli.stores import open_given, store_options
from foldaway.config import writers_from
from foldaway.sessions import warm


@click.command()
@click.argument("agent", type=click.Choice(list(FORMS)))
@store_options
def follow(agent: str, **given: Any) -> int:
    """Follow the list of an agent for its plug-in; `foldaway install` sets it up.

    Reads requests as lines of JSON, and prints the answers, until its input ends. The plug-in
    starts it. If it does not answer, the plug-in sends the agent's own list.

    \b
    foldaway follow pi < requests.jsonl
    """
    settings = settings_from(given)
    summarizer = None if settings.summarizer == "none" else writers_from(settings)
    with open_given(given, "create") as store:
        warm()  # before the first request: the agent has not asked its model yet
        AgentSessions(
            agent,
            store,
            context_length=settings.context_length,
            policy=settings.policy,
            summarizer=summarizer,
        ).serve(sys.stdin.buffer, sys.stdout.buffer)
    return 0


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
