"""`holdfast config trust`: a folder's settings as good as the user's own."""

from __future__ import annotations

import os
import sys

import click

from holdfast.cli import say
from holdfast.cli.config.draw import as_text, printable
from holdfast.config import FILE_NAME, review_folder, trust_folder


@click.command("trust")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(folder: str, yes: bool) -> int:
    """Let the holdfast.toml of a folder set everything, as long as it does not change.

    Shows what the file sets beyond what every folder may set, and asks. The trust is for the real
    path of DIR and the content of the file: after any change, trust it again.

    \b
    holdfast config trust .
    """
    data, refused = review_folder(folder)
    name = printable(os.path.join(os.path.realpath(folder), FILE_NAME))
    if not refused:
        click.echo(f"{name} sets nothing that needs your trust; all of it applies already")
        return 0
    click.echo(f"{name} sets:")
    for key, value in refused.items():
        click.echo(f"  {printable(key)} = {as_text(value)}")
    if not yes and not _agreed():
        return say("nothing was trusted", 1)
    trust_folder(folder, data)
    click.echo("trusted, until the file changes")
    return 0


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError(
            "there is no terminal to ask on, so nothing was trusted; check the list and give --yes",
            click.get_current_context(),
        )
    return click.confirm("Let it set them, with your keys and in your name?", err=True)
