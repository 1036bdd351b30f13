"""`foldaway follow`: the process behind the plug-ins of agents."""

from __future__ import annotations

import sys
from typing import Any

import click

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
