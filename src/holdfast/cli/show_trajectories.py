"""The pictures of `holdfast trajectories`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.table import Table
from rich.text import Text

from holdfast.cli.draw import console_for, counted, indented, print_line
from holdfast.cli.files import label
from holdfast.trajectories.batch import BatchResult, Progress
from holdfast.trajectories.policy import BINS
from holdfast.trajectories.stats import QUANTILES, Stats

_BAR = 40
_SHOWN_REASONS = 8


class batch_progress:  # noqa: N801 - used as a function that opens something
    """A line on standard error with what is done, how fast, and the time left."""

    def __init__(self, *, quiet: bool) -> None:
        from rich.progress import BarColumn, Progress

        self._bar = Progress(
            "{task.description}", BarColumn(), "{task.percentage:>3.0f} %",
            console=console_for(stderr=True), disable=quiet, transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("records", total=1)

    def __enter__(self) -> Callable[[Progress], None]:
        self._bar.start()
        return self._told

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def _told(self, progress: Progress) -> None:
        share = progress.bytes_read / max(progress.bytes_total, 1)
        self._bar.update(self._task, description=progress_line(progress), completed=share)


def progress_line(progress: Progress) -> str:
    """Return how far a batch is, in words: records, rate, time left, quarantine."""
    rate = progress.new / progress.seconds if progress.seconds else 0.0
    said = [counted(progress.records, "record"), f"{rate:,.0f}/s"]
    share = progress.bytes_read / max(progress.bytes_total, 1)
    if progress.new and 0 < share < 1:
        left = round(progress.seconds * (1 - share) / share)
        said.append(f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d} left")
    if progress.quarantined:
        said.append(f"{progress.quarantined:,} quarantined")
    return ", ".join(said)


def show_batch(folder: Path, done: BatchResult) -> None:
    """Print what was done with a batch."""
    console, report, total = console_for(), done.report, done.report.total
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for outcome, count in total.outcomes.items():
        table.add_row(outcome, f"{count:,}")
    for name, count in (("still over the target", total.still_over_limit),
                        ("quarantined", total.quarantined),
                        ("generated turns taken out", total.stripped),
                        ("calls of a model", total.summary_calls),
                        ("of them in vain", total.errors),
                        ("sentences verified", total.verified),
                        ("sentences marked as not verified", total.unverified),
                        ("sentences dropped", total.dropped),
                        ("facts patched in", total.patched)):  # fmt: skip
        if count:
            table.add_row(name, f"{count:,}")
    table.add_row("turns", f"{total.turns_before:,} → {total.turns_after:,}")
    about = "≈ " if total.before_estimated else ""
    table.add_row("tokens", f"{about}{total.tokens_before:,} → {total.tokens_after:,} "
                  f"({about}{total.ratio:.0%})")  # fmt: skip
    print_line(console, Text(f"{counted(total.records, 'record')}", "bold"))
    console.print(indented(table, 2))
    if any(total.ratios):
        print_line(console, Text("tokens after / before, of compressed records", "dim"))
        for number, count in enumerate(total.ratios):
            if count:
                bar = "█" * max(1, round(_BAR * count / max(total.ratios)))
                print_line(console, Text(f"  {number / BINS:4.0%} {bar} {count:,}"))
    counts = "estimated" if report.estimated else "counted"
    rate = total.records / done.seconds if done.seconds and not done.resumed else 0.0
    said = [f"tokens {counts} by {report.counter}"]
    if total.before_estimated:
        said.append("those of folded turns at the rate of the others (--count all counts them)")
    if rate:
        said.append(f"{rate:,.0f} records a second")
    if done.resumed:
        said.append(f"{counted(done.resumed, 'file')} taken over from an earlier run")
    said.append(f"everything is in {label(str(folder))}/")
    if any(total.ratios) and not done.drawn:
        said.append("ratios.png needs holdfast[trajectories]")
    print_line(console, Text("; ".join(said), "dim"))


def show_stats(stats: Stats) -> None:
    """Print what records are like."""
    console = console_for()
    said = ", ".join(f"{count:,} {name}" for name, count in stats.dialects.items())
    print_line(console, Text(f"{counted(stats.records, 'record')}: {said or 'none'}", "bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "all", *(f"{q:.0%}" for q in QUANTILES)):
        table.add_column(name, justify="right")
    for name, spread in (("turns", stats.turns), ("tokens", stats.tokens)):
        table.add_row(name, *(f"{value:,}" for value in (spread.total, *spread.at)))
    console.print(indented(table, 2))
    for target, count in stats.over.items():
        print_line(console, Text(f"  over {target:,} tokens: {count:,}"))
    if stats.compacted:
        print_line(console, Text(f"  with generated text: {stats.compacted:,}"))
    for reason, count in list(stats.reasons.items())[:_SHOWN_REASONS]:
        print_line(console, Text(f"  not readable: {count:,} × {reason}", "yellow"))
    counts = "estimated" if stats.estimated else "counted"
    print_line(console, Text(f"tokens {counts} by {stats.counter}", "dim"))
