"""`holdfast lab gate`: whether a run is worse than an earlier one."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import to_builtins

from holdfast.cli.inputs import json_option
from holdfast.dialects.jsontext import dump
from holdfast.errors import NotReadable
from holdfast.lab.gate import Fall, find_falls
from holdfast.lab.output import read_summary
from holdfast.lab.results import OURS, RunSummary

PASSED, FELL = 0, 1


@click.command()
@click.argument("run", type=click.Path(), metavar="RUN")
@click.option("--baseline", required=True, type=click.Path(), metavar="FILE",
              help="The summary.json of the earlier run, or its folder.")  # fmt: skip
@click.option("--strategy", default=OURS, show_default=True, metavar="S", help="Whose scores.")
@json_option
def command(run: str, baseline: str, strategy: str, as_json: bool) -> int:
    """Say whether a run is worse than an earlier one.

    RUN is the folder of `holdfast lab run -o`, or its summary.json. Exits 1 where a score fell
    out of the earlier one's 95 % interval, or where there are more inventions, broken references,
    leaks or broken rules than before. Both runs must be of the same sessions.

    \b
    holdfast lab gate lab --baseline before/summary.json
    """
    before, now = read_summary(Path(baseline)), read_summary(Path(run))
    _refuse_others(before, now)
    if not any(line.strategy == strategy for line in before.lines):
        raise NotReadable(
            f"has no line of {strategy!r}", where=baseline, remedy="name a strategy of its run"
        )
    found = find_falls(before.lines, now.lines, strategy)
    if as_json:
        for fall in found:
            click.echo(dump(to_builtins(fall)))
    else:
        for fall in found:
            click.echo(_said(fall))
        told = f"{len(found)} figures fell" if found else "nothing fell"
        click.echo(f"{strategy}: {told} ({len(now.manifest.sessions)} sessions)")
    return FELL if found else PASSED


def _refuse_others(before: RunSummary, now: RunSummary) -> None:
    if before.manifest.digest != now.manifest.digest:
        raise NotReadable(
            "is a run of other sessions than the baseline",
            remedy="run both on the same files, or make a new baseline",
        )


def _said(fall: Fall) -> str:
    where = f"{fall.family} {fall.part} {fall.budget:.0%}"
    after = f" after {fall.steps} compactions" if fall.part == "drift" else ""
    return (
        f"{where}{after}: {fall.figure} {fall.was:.3f} -> {fall.now:.3f} "
        f"(allowed to {fall.bound:.3f})"
    )
