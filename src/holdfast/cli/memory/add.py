"""`holdfast memory add`: something to remember."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from holdfast.cli.files import STANDARD, read_bytes
from holdfast.cli.memory.target import chosen, file_options, print_done


@click.command("add")
@click.argument("words", nargs=-1, required=True, metavar="TEXT")
@file_options
def command(words: Sequence[str], as_json: bool, **options: Any) -> int:
    """Remember something.

    Secrets in it are hidden. `-` takes the text from standard input. What is there already is not
    added again; where the file is full, the message says what may go.

    \b
    holdfast memory add The tests run with make test
    holdfast memory add "Lives in Lisbon" --user
    """
    text = " ".join(words)
    if text == STANDARD:
        text = read_bytes(STANDARD).decode("utf-8", "replace")
    file = chosen(options)
    print_done(file, file.add(text, "cli"), "is in", as_json=as_json)
    return 0
