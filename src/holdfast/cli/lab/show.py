"""`holdfast lab show`: the tables of a run again."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import to_builtins

from holdfast.cli.inputs import json_option
from holdfast.dialects.jsontext import dump
from holdfast.lab.output import read_summary


@click.command()
@click.argument("run", type=click.Path(), metavar="RUN")
@click.option("--all", "everything", is_flag=True,
              help="Every budget, drift, all scores with their intervals.")  # fmt: skip
@json_option
def command(run: str, everything: bool, as_json: bool) -> int:
    """Show the tables of a run again.

    RUN is the folder of `holdfast lab run -o`, or its summary.json.

    \b
    holdfast lab show lab --all
    """
    lines = read_summary(Path(run)).lines
    if as_json:
        for line in lines:
            click.echo(dump(to_builtins(line)))
        return 0
    from holdfast.cli.show_lab import main_lines, show_lines

    show_lines(lines if everything else main_lines(lines), wide=everything)
    return 0
