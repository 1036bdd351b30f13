"""The picture of a compression: the headline, the conversation before and after, the categories."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from msgspec import Struct
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.cli.compress import Run
from holdfast.cli.draw import (
    console_for,
    counted,
    headed,
    indented,
    print_legend,
    print_line,
    print_more,
    print_strip,
    print_warnings,
    shortened,
    width_for,
)
from holdfast.cli.files import STANDARD, label
from holdfast.cli.inputs import Input
from holdfast.cli.strip import Cell, Mark, per_column_of
from holdfast.engine.difference import Difference, difference_made
from holdfast.report import Report, SummaryNote

SHOWN_RECORDS = 20
BAR_COLUMNS = 24
"""The width of the longest bar."""


class Written(Struct, frozen=True):
    """Where a compression went; `originals` is "" where they were not kept."""

    output: str
    originals: str
    preview: bool = False


def show_compression(given: Input, runs: Sequence[Run], written: Written) -> None:
    """Print what was done, or would be done, to the transcripts of a file."""
    console = console_for(stderr=written.output == STANDARD and not written.preview)
    reports = [run.report for run in runs]
    head = headed(console, given, _outcome(reports))
    print_line(console, head.append(headline(reports, arrow(console))))
    print_warnings(console, given)
    if given.holds_many:
        _records(console, given, reports)
    elif reports[0].status == "compacted":
        made = difference_made(runs[0].done, len(given.transcripts[0].messages))
        show_difference(console, made)
    if any(report.status == "compacted" for report in reports):
        print_bars(console, _summed(reports))
        _afterwards(console, reports, written)
    elif not given.holds_many:
        _line(console, f"nothing changed ({reports[0].reason}): {reports[0].detail}")
    _notes(console, reports)


def _outcome(reports: Sequence[Report]) -> str:
    """Return how it went: a compaction that did not happen is not shown as one that did."""
    if any(report.is_refused for report in reports):
        return "refused"
    return "ok" if any(report.status == "compacted" for report in reports) else "same"


def headline(reports: Sequence[Report], to: str) -> str:
    """Return messages and tokens before and after, and the saving."""
    messages, tokens = _total(reports, "messages_before"), _total(reports, "tokens_before")
    was = f"{counted(messages, 'message')}, {counted(tokens, 'token')}"
    if all(report.status == "unchanged" for report in reports):
        return was
    left, now = _total(reports, "messages_after"), _total(reports, "tokens_after")
    return f"{was} {to} {counted(left, 'message')}, {counted(now, 'token')} ({saving(tokens, now)})"


def saving(before: int, after: int) -> str:
    """Return the change of a size in per cent, with its sign; all of it only where none is left."""
    change = round(100 * (after / before - 1)) if before else 0
    change = max(change, -99) if after else change
    return f"{'−' if change < 0 else '+' if change else ''}{abs(change)} %"


def show_difference(console: Console, made: Difference) -> None:
    """Print the conversation before and after, to the same scale, with what became of it."""
    before: list[Cell] = list(made.before)
    after: list[Cell] = list(made.after)
    symbol = "▲" if console.encoding.startswith("utf") else "^"
    mark: Mark = (symbol, "bold bright_magenta", "added: the summary")
    new = {index for index, fate in enumerate(made.after) if fate == "added"}
    print_strip(console, "before ", before, (), mark)
    per = per_column_of(len(before), width_for(console, "before "))
    print_strip(console, "after  ", after, new, mark, per_column=per)
    print_legend(console, "before ", [*before, *after], [mark] if new else [], len(before))
    told = (
        f"{made.count('kept'):,} kept, {made.count('rewritten'):,} rewritten, "
        f"{made.count('folded'):,} folded, {made.count('added'):,} added"
    )
    _line(console, told)


def print_bars(console: Console, rows: Sequence[tuple[str, int, int | None]]) -> None:
    """Print a bar for each category: tokens before and, where they are given, after."""
    full = max((max(was, now or 0) for _, was, now in rows), default=0)
    block = "█" if console.encoding.startswith("utf") else "#"
    shade = "░" if console.encoding.startswith("utf") else "."
    grid = Table.grid(padding=(0, 2))
    for justify in ("left", "right", "left", "right"):
        grid.add_column(no_wrap=True, justify=justify)
    for name, was, now in rows:
        wide = _columns(was, full)
        left = wide if now is None else min(_columns(now, full), BAR_COLUMNS)
        bar = Text(block * left, "cyan").append(shade * max(wide - left, 0), "bright_black")
        after = Text("") if now is None else Text(f"{arrow(console)} {now:,}")
        grid.add_row(shortened(name), f"{was:,}", bar, after)
    console.print()
    console.print(indented(grid, 2))


def _columns(tokens: int, full: int) -> int:
    return max(1, round(BAR_COLUMNS * tokens / full)) if tokens and full else 0


def _records(console: Console, given: Input, reports: Sequence[Report]) -> None:
    grid = Table.grid(padding=(0, 2))
    for justify in ("right", "left"):
        grid.add_column(no_wrap=False, justify=justify)
    for record, report in list(zip(given.records, reports, strict=True))[:SHOWN_RECORDS]:
        told = headline([report], arrow(console))
        why = f"; nothing changed ({report.reason})" if report.status == "unchanged" else ""
        grid.add_row(Text(f"line {record.line}", "dim"), f"{told}{why}")
    console.print(indented(grid, 2))
    print_more(console, len(reports), SHOWN_RECORDS)


def _summed(reports: Iterable[Report]) -> list[tuple[str, int, int | None]]:
    was: dict[str, int] = {}
    now: dict[str, int] = {}
    for report in reports:
        for one in report.categories:
            was[one.name] = was.get(one.name, 0) + one.tokens_before
            now[one.name] = now.get(one.name, 0) + one.tokens_after
    return [(name, was[name], now[name]) for name in sorted(was, key=lambda n: -was[n])]


def _afterwards(console: Console, reports: Sequence[Report], written: Written) -> None:
    console.print()
    verb = "would be written" if written.preview else "written"
    if written.output != STANDARD:
        _line(console, f"{verb} to {label(written.output)}")
    elif written.preview:
        _line(console, "a preview: nothing was written")
    summary = sum(report.summary_tokens for report in reports)
    if summary:
        made = [report.summary_source for report in reports if report.summary_tokens]
        names = " and ".join(dict.fromkeys(map(_maker, made)))
        _line(console, f"summary: {counted(summary, 'token')}, made by {names}")
    if written.preview:
        return
    if not written.originals:
        _line(console, "originals: not kept, so no references; name a place with --originals")
        return
    _line(console, f"originals: {label(written.originals)}")
    rows = [row for report in reports for row in report.references]
    rows.sort(key=lambda row: row.kind == "fold")
    if rows:
        place = shlex.quote(label(written.originals))
        _line(console, f"recall one: holdfast recall {rows[0].ref} --originals {place}")


def _maker(note: SummaryNote) -> str:
    if note.source == "ledger":
        return "the ledger, without a model"
    if note.source == "native":
        return f"{note.name}, the provider itself"
    return (
        f"{note.name} ({counted(note.verified, 'sentence')} verified, {note.unchecked} without "
        f"names, {note.unverified} marked, {note.dropped} dropped; "
        f"{counted(note.patched, 'fact')} put in)"
    )


def _notes(console: Console, reports: Sequence[Report]) -> None:
    told: list[str] = [
        f"mended first: {what}" for report in reports for what in report.repaired[:5]
    ]
    for report in reports:
        if report.counter == "estimate":
            told.append("token figures are estimates")
        told.extend(report.notes)
        if not report.fits_window:
            told.append(
                f"{report.tokens_after:,} tokens do not fit the window of "
                f"{report.effective_window:,}; {report.floor_tokens:,} cannot be folded"
            )
        if report.target_tokens is not None and report.tokens_after > report.target_tokens:
            told.append(
                f"the target of {report.target_tokens:,} is not reached: {report.tokens_after:,}"
            )
    for sentence in list(dict.fromkeys(told))[:SHOWN_RECORDS]:
        print_line(console, Text("  note: ", "yellow").append(shortened(sentence)))


def _total(reports: Sequence[Report], field: str) -> int:
    return sum(getattr(report, field) for report in reports)


def arrow(console: Console) -> str:
    """Return what stands between before and after."""
    return "→" if console.encoding.startswith("utf") else "->"


def _line(console: Console, text: str) -> None:
    print_line(console, Text(f"  {text}"))
