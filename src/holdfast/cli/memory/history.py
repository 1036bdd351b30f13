"""`holdfast memory history`: every version of a file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from holdfast.cli.draw import shortened
from holdfast.cli.memory.target import chosen, file_options, print_json
from holdfast.cli.times import shown
from holdfast.errors import NotWritable
from holdfast.memory.files.memory_file import Change


@click.command("history")
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, metavar="N",
              help="How many of the newest to print.")  # fmt: skip
@file_options
def command(most: int, as_json: bool, **options: Any) -> int:
    """Show every version: when, by whom, what changed.

    The newest comes last. `tool` is an agent, `cli` a command, `editor` everything else that wrote
    the file. `restore` puts a version back by its number.

    \b
    holdfast memory history
    holdfast memory history --user --most 100 --json
    """
    file = chosen(options)
    with suppress(NotWritable):  # what there is can still be read
        file.notice("cli")
    changes = file.history()
    for change in changes[-most:]:
        if as_json:
            print_json(_row(change))
        else:
            _print(change)
    if not changes and not as_json:
        click.echo(f"{file.name} has no versions yet", err=True)
    return 0


def _row(change: Change) -> dict[str, Any]:
    version = change.version
    return {
        "version": version.number, "time": version.time, "who": version.who,
        "what": version.what, "added": list(change.added), "removed": list(change.removed),
    }  # fmt: skip


def _print(change: Change) -> None:
    version = change.version
    click.echo(f"{version.number}  {shown(version.time)}  {version.who}  {version.what}")
    _print_texts("-", change.removed)
    _print_texts("+", change.added)


def _print_texts(sign: str, texts: Sequence[str]) -> None:
    for text in texts:
        click.echo(f"    {sign} {shortened(' '.join(text.split()))}")
