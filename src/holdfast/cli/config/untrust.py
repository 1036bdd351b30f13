"""`holdfast config untrust`: a folder's settings are content again."""

from __future__ import annotations

import click

from holdfast.cli import say
from holdfast.config import untrust_folder


@click.command("untrust")
@click.argument("folder", metavar="DIR", type=click.Path())
def command(folder: str) -> int:
    """Stop trusting the holdfast.toml of a folder; the folder need not exist any more.

    \b
    holdfast config untrust .
    """
    if not untrust_folder(folder):
        return say("that folder was not trusted; nothing was changed", 1)
    click.echo("not trusted any more")
    return 0
