"""`holdfast memory restore`: a version put back."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.memory.target import chosen, file_options, print_json


@click.command("restore")
@click.argument("version", type=click.IntRange(min=1))
@file_options
def command(version: int, as_json: bool, **options: Any) -> int:
    """Put a version back.

    It becomes the newest; what was there stays in the history. Secrets that an editor had written
    are not kept in versions, so they do not come back.

    \b
    holdfast memory restore 3
    holdfast memory restore 3 --user
    """
    file = chosen(options)
    file.restore(version, "cli")
    if as_json:
        print_json({"file": file.name, "restored": version, "entries": len(file.entries())})
    else:
        click.echo(f"{file.name} is version {version} again")
    return 0
