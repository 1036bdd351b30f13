"""`holdfast memory search`: entries by their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from holdfast.cli.memory.target import chosen, file_options, print_entry, print_json, row_of


@click.command("search")
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@click.option("--most", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
              help="How many to print.")  # fmt: skip
@file_options
def command(words: Sequence[str], most: int, as_json: bool, **options: Any) -> int:
    """Find entries by their words.

    Words, "phrases", prefix*, -without; any text is a query. The best comes first. Exit code 1
    where nothing is found.

    \b
    holdfast memory search tests
    holdfast memory search '"make test"' --json
    """
    file = chosen(options)
    found = file.search(" ".join(words), most)
    for entry in found:
        if as_json:
            print_json(row_of(file, entry))
        else:
            print_entry(entry)
    if not found and not as_json:
        click.echo(f"no entry of {file.name} fits that", err=True)
    return 0 if found else 1
