"""`holdfast trajectories sample`: a few records out of many."""

from __future__ import annotations

import click

from holdfast.cli.files import mode_of, packed, write_bytes
from holdfast.cli.inputs import output_option
from holdfast.cli.trajectories.options import sources_argument
from holdfast.trajectories.reading import find_sources, one_line, read_records
from holdfast.trajectories.stats import sample


@click.command()
@sources_argument
@click.option("-n", "--number", type=click.IntRange(min=1), default=10, show_default=True,
              metavar="N", help="How many.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="S",
              help="Another one draws others.")  # fmt: skip
@output_option
def command(sources: tuple[str, ...], number: int, seed: int, output: str) -> int:
    """Write a few records out of many, the same ones every time.

    SRC are files or folders of records, of the input or of the output of a batch. OUT is JSON
    lines; records keep their bytes and their order.

    \b
    holdfast trajectories sample runs/ -n 100 -o some.jsonl
    """
    found = find_sources(sources)
    drawn = sample(read_records(found), number, seed)
    data = b"".join(one_line(entry.data) + b"\n" for entry in drawn)
    write_bytes(output, packed(output, data), mode=mode_of(*(source.path for source in found)))
    return 0
