"""`holdfast memory remove`: an entry forgotten."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.memory.target import chosen, file_options, print_done


@click.command("remove")
@click.argument("entry")
@file_options
def command(entry: str, as_json: bool, **options: Any) -> int:
    """Forget an entry.

    ENTRY is its id, or a piece of text that no other entry holds. It stays in the history.

    \b
    holdfast memory remove 3f2a9c01
    holdfast memory remove "lives in Lisbon" --user
    """
    file = chosen(options)
    print_done(file, file.remove(entry, "cli"), "is no longer in", as_json=as_json)
    return 0
