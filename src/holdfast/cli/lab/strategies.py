"""`holdfast lab strategies`: what can be tried."""

from __future__ import annotations

import click

from holdfast.cli.inputs import json_option
from holdfast.dialects.jsontext import dump
from holdfast.lab.terms import Asked, all_ways


@click.command()
@json_option
def command(as_json: bool) -> int:
    """List the strategies that can be tried."""
    for way in all_ways(Asked(budgets=(), peer_folder=".")):
        if as_json:
            click.echo(dump({"name": way.name, "kind": way.kind, "what": way.what}))
        else:
            click.echo(f"{way.name:22}{way.kind:11}{way.what}")
    return 0
