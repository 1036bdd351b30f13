"""`holdfast search`: find a text in what was folded or rewritten."""

from __future__ import annotations

import click

from holdfast.cli.archive import load_originals, originals_option
from holdfast.cli.inputs import json_option
from holdfast.cli.report import emit
from holdfast.engine.originals import search as search_in


@click.command()
@click.argument("text")
@originals_option
@click.option("--most", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
              help="How many places to print.")  # fmt: skip
@json_option
def search(text: str, originals: str, most: int, as_json: bool) -> int:
    """Find a text in what was folded or rewritten.

    The newest places first, letter case aside, each with its reference, its place in the file that
    was compressed, and a snippet. Exit code 1 where nothing holds the text.

    \b
    holdfast search "connection refused" --originals small.json.originals.jsonl
    """
    hits = search_in(text, load_originals(originals), most)
    for hit in hits:
        if as_json:
            emit(hit)
        else:
            words = "".join(char if char.isprintable() else " " for char in hit.snippet)
            click.echo(f"{hit.ref}  m{hit.position}  {' '.join(words.split())}")
    if not hits and not as_json:
        click.echo("nothing that was folded or rewritten holds that text", err=True)
    return 0 if hits else 1
