"""`holdfast simulate`: what recorded sessions would have cost under other strategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click
from msgspec import to_builtins

from holdfast.cli.files import check_writable, write_bytes
from holdfast.cli.inputs import FILE, read_input, reading_options, refuse_contradiction
from holdfast.cli.prices import price_options, prices_for
from holdfast.cli.report import unreadable
from holdfast.cli.settings import Window, window_for
from holdfast.config import Settings
from holdfast.dialects.jsontext import dump
from holdfast.errors import NotReadable
from holdfast.lab.recording import Recording, record
from holdfast.lab.replay import ReplayTerms
from holdfast.lab.simulate import THRESHOLDS, StrategyCost, strategies_for
from holdfast.lab.simulate import simulate as run_all
from holdfast.transcript import Transcript

_LEAST_THRESHOLD = 0.02


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option("--model", required=True, metavar="M",
              help="The model, whose window and prices are looked up.")  # fmt: skip
@click.option("--context-length", type=click.IntRange(min=1), metavar="N",
              help="The window in tokens.")  # fmt: skip
@click.option("--thresholds", metavar="F,F…",
              default=",".join(f"{share:g}" for share in THRESHOLDS), show_default=True,
              help="Shares of the window; the planner may act from the lowest on.")  # fmt: skip
@click.option("--pause", type=click.FloatRange(min=0), default=60.0, show_default=True,
              metavar="S", help="Seconds of silence before a user speaks.")  # fmt: skip
@click.option("--plot", type=click.Path(), metavar="FILE.svg", help="Draw the costs as SVG.")
@price_options
@reading_options
def simulate(files: tuple[str, ...], **options: Any) -> int:
    """Replay sessions and show what each strategy would cost.

    Every answer of the agent is a call of the model over all that was said before. Nothing is
    sent anywhere. A session that outgrows the window under `append only` is costed as if there
    were none, and counted.

    \b
    holdfast simulate sessions/*.json --model claude-sonnet-4-5
    holdfast simulate runs.jsonl.gz --model gpt-5.1 --plot costs.svg
    """
    refuse_contradiction(options["provider"], options["dialect"])
    thresholds = _thresholds(options["thresholds"])
    draw = _plotter(options["plot"])
    transcripts: list[Transcript] = []
    for name in files:
        try:
            transcripts += read_input(name, options["provider"], options["dialect"]).transcripts
        except NotReadable as error:
            return unreadable(name, error, as_json=options["as_json"])
    settings = Settings(model=options["model"], context_length=options["context_length"])
    window = window_for(settings, transcripts[0])
    terms = _terms(options, window)
    recordings = [record(transcript) for transcript in transcripts]
    found = run_all(recordings, terms, strategies_for(thresholds))
    if draw is not None:
        title = f"{len(recordings):,} sessions, {options['model']}, window {window.tokens:,}"
        write_bytes(options["plot"], draw(title, found).encode())
    _tell(found, recordings, window, terms, options)
    return 0


def _thresholds(given: str) -> list[float]:
    try:
        found = sorted({float(part) for part in given.split(",")})
    except ValueError:
        found = []
    if not found or not all(_LEAST_THRESHOLD <= share <= 1 for share in found):
        raise click.UsageError(
            f"--thresholds {given!r}: give shares of the window from {_LEAST_THRESHOLD:g} to 1, "
            f"with commas between them", click.get_current_context(),
        )  # fmt: skip
    return found


def _plotter(target: str | None) -> Callable[[str, Sequence[StrategyCost]], str] | None:
    """Return what draws the costs if a file is asked for; a missing extra is told at once."""
    if not target:
        return None
    check_writable(target)
    from holdfast.lab.cost_plots import cost_plot

    return cost_plot


def _terms(options: dict[str, Any], window: Window) -> ReplayTerms:
    priced = prices_for(options["model"], options["figures"])
    if priced.prices is None:
        raise click.UsageError(priced.note, click.get_current_context())
    return ReplayTerms(
        prices=priced.prices, context_length=window.tokens, ttl=options["ttl"] or "5m",
        pause_seconds=options["pause"], model_summary=options["summaries"] == "model",
    )  # fmt: skip


def _tell(
    found: Sequence[StrategyCost], recordings: Sequence[Recording], window: Window,
    terms: ReplayTerms, options: dict[str, Any],
) -> None:  # fmt: skip
    if options["as_json"]:
        for one in found:
            row = to_builtins(one)
            click.echo(dump({**row, "usd": one.usd, "hit_rate": round(one.hit_rate, 4),
                             "context_length": window.tokens}))  # fmt: skip
        return
    from holdfast.cli.show_costs import show_simulation

    show_simulation(found, recordings, window, terms)
