"""`holdfast lab strategies`: what can be tried."""

from __future__ import annotations

import click

from holdfast.cli.inputs import json_option
from holdfast.dialects.jsontext import dump
from holdfast.lab.strategies import RunSettings, all_strategies


@click.command()
@json_option
def command(as_json: bool) -> int:
    """List the strategies that can be tried."""
    for strategy in all_strategies(RunSettings(budgets=(), peer_folder=".")):
        if as_json:
            click.echo(dump({"name": strategy.name, "kind": strategy.kind, "what": strategy.what}))
        else:
            click.echo(f"{strategy.name:22}{strategy.kind:11}{strategy.what}")
    return 0
