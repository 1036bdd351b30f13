"""`holdfast trajectories stats`: what records are like."""

from __future__ import annotations

import click
import msgspec

from holdfast.cli.inputs import json_option
from holdfast.cli.trajectories.options import sources_argument, tokenizer_option
from holdfast.trajectories.counting import counter_for
from holdfast.trajectories.reading import find_sources, read_records
from holdfast.trajectories.stats import stats_of

_TARGETS = (4_096, 16_384, 32_768)
_MAX_TURNS = 100_000


@click.command()
@sources_argument
@click.option("--target-tokens", "targets", type=click.IntRange(min=1), multiple=True, metavar="N",
              default=_TARGETS, show_default=True, help="Count the records over it; repeatable."
              )  # fmt: skip
@tokenizer_option
@json_option
def command(
    sources: tuple[str, ...], targets: tuple[int, ...], tokenizer: str, as_json: bool
) -> int:
    """Say what records are like: turns, tokens, how many are over a target.

    SRC are files or folders of records. What cannot be read is counted by its reason.

    \b
    holdfast trajectories stats runs/ --target-tokens 16000
    """
    entries = read_records(find_sources(sources))
    found = stats_of(entries, counter_for(tokenizer), targets, _MAX_TURNS)
    if as_json:
        click.echo(msgspec.json.encode(found))
        return 0
    from holdfast.cli.show_trajectories import show_stats

    show_stats(found)
    return 0
