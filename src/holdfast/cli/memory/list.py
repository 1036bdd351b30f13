"""`holdfast memory list`: what is remembered."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.memory.target import chosen, file_options, print_entry, print_json, row_of
from holdfast.tokens import estimate_text


@click.command("list")
@file_options
def command(as_json: bool, **options: Any) -> int:
    """List what is remembered, the oldest first.

    An entry is named by its id, which is made from its text. With --json there is one object:
    `path`, `entries`, and what of its size is used.

    \b
    holdfast memory list
    holdfast memory list --user --json
    """
    file = chosen(options)
    text, entries = file.text(), file.entries()
    if as_json:
        print_json({
            "file": file.name, "path": str(file.path),
            "entries": [row_of(file, entry) for entry in entries],
            "chars": len(text), "most_chars": file.limit.chars,
            "tokens": estimate_text(text), "most_tokens": file.limit.tokens,
        })  # fmt: skip
        return 0
    for entry in entries:
        print_entry(entry)
    used = f"{len(text):,} of {file.limit.chars:,} characters"
    click.echo(f"{file.path}: {used}" if entries else f"{file.path}: nothing is remembered yet")
    return 0
