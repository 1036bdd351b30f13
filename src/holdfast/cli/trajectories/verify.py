"""`holdfast trajectories verify`: the output of a batch held against what it says."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from holdfast.cli.inputs import json_option
from holdfast.trajectories.reading import find_sources
from holdfast.trajectories.verify import verify

WELL, FAULTY = 0, 1


@click.command()
@click.argument("folder", type=click.Path(), metavar="DST")
@click.argument("more", nargs=-1, type=click.Path(), metavar="")
@click.option("--against", multiple=True, type=click.Path(), metavar="SRC",
              help="The input of the batch; more of it may stand behind it.")  # fmt: skip
@json_option
def command(folder: str, more: tuple[str, ...], against: tuple[str, ...], as_json: bool) -> int:
    """Hold the output of a batch against what it says, and against its input.

    DST is the folder of `holdfast trajectories compress -o`. Every record is read and counted
    again; with --against, SRC being what the batch was given and in that order, it is also held
    against its input: turns that were not folded are the same, no call is parted from its result,
    no rule is broken that was kept. Exits 1 where something is found.

    \b
    holdfast trajectories verify fitted --against runs/
    """
    if more and len(against) != 1:
        # behind several of them their order would be lost
        raise click.UsageError(
            f"{more[0]!r} is none of them; name all input behind one --against, in its order",
            click.get_current_context(),
        )
    sources = find_sources([*against, *more]) if against else []
    found = 0
    for fault in verify(Path(folder), sources):
        found += 1
        line = msgspec.json.encode(fault) if as_json else f"{fault.where}: {fault.what}"
        click.echo(line)
    if not as_json:
        click.echo(f"{folder}: {found:,} faults" if found else f"{folder}: all is well")
    return FAULTY if found else WELL
