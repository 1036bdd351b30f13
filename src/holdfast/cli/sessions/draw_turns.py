"""The picture of one session: what it is, its views, its requests."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.caching.economics import usd
from holdfast.cli.draw import console_for, counted, indented, print_line, print_more, shortened
from holdfast.cli.picture import arrow, saving
from holdfast.cli.sessions.draw import line_of
from holdfast.cli.sessions.show import Told
from holdfast.cli.sessions.turns import Turn
from holdfast.cli.times import shown

BAR_COLUMNS = 30
SHOWN_NAMES = 6


def show_session(told: Told, most: int) -> None:
    """Print a session; of its requests the newest `most`."""
    console, info = console_for(), told.info
    print_line(console, line_of(info))
    grid = _grid("left", "left", folds=True)
    for name, value in (
        ("from", f"{info.source} {info.source_id}".strip()), ("model", info.model),
        ("goal", info.goal), ("folder", info.cwd),
        ("messages", f"{info.length:,} ({_named(told.roles)})"), ("tokens", f"{info.tokens:,}"),
        ("tools", _named(told.tools)), ("began", shown(info.started)),
        ("ended", f"{shown(info.ended)} {info.end_reason}".strip()),
        ("comes from", f"{info.parent_id} ({info.descent}, m{info.forked_at})"
         if info.parent_id else ""),
        ("pinned", ", ".join(f"m{pin.position}" for pin in told.pins)),
    ):  # fmt: skip
        if value:
            grid.add_row(Text(name, "dim"), shortened(value))
    console.print(indented(grid, 2))
    _views(console, told)
    _turns(console, told, most)


def _views(console: Console, told: Told) -> None:
    if not told.steps:
        print_line(console, Text("\n  no compactions: the model sees the log as it is", "dim"))
        return
    console.print(Text("\n  views", "bold"))
    grid = _grid("right", "left", "right", "left", "left", "left")
    for step in told.steps:
        now = "shown now" if step.current else "undone" if step.undone else step.reason
        grid.add_row(
            Text(f"{step.number}", "bold green" if step.current else "dim"),
            shown(step.created), f"{step.tokens_before:,}",
            f"{arrow(console)} {step.tokens_after:,} "
            f"({saving(step.tokens_before, step.tokens_after)})",
            step.summary, Text(now, "dim"),
        )  # fmt: skip
    console.print(indented(grid, 4))


def _turns(console: Console, told: Told, most: int) -> None:
    totals = told.totals
    if not told.turns:
        print_line(console, Text("\n  no usage was recorded", "dim"))
        return
    console.print(Text("\n  requests", "bold"))
    full = max(turn.input_tokens for turn in told.turns) or 1
    grid = _grid("right", "right", "left", "right", "left")
    for turn in told.turns[-most:]:
        grid.add_row(
            Text(f"m{turn.position}", "dim"), f"{turn.input_tokens:,}",
            _bar(console, turn, full), "" if turn.cost is None else usd(turn.cost), _marks(turn),
        )  # fmt: skip
    console.print(indented(grid, 4))
    print_more(console, len(told.turns), most)
    block = "█" if console.encoding.startswith("utf") else "#"
    shade = "░" if console.encoding.startswith("utf") else "."
    print_line(console, Text(f"    {block} read from the cache   {shade} not in it", "dim"))
    cost = "" if totals.cost is None else f", {usd(totals.cost)}"
    print_line(console, Text(
        f"  {counted(totals.requests, 'request')}, {totals.cache_hit_rate:.0%} of the input from "
        f"the cache, {counted(totals.cache_misses, 'cache miss', 'cache misses')} "
        f"({totals.misses_after_compaction:,} after a compaction){cost}"
    ))  # fmt: skip


def _bar(console: Console, turn: Turn, full: int) -> Text:
    utf = console.encoding.startswith("utf")
    wide = max(1, round(BAR_COLUMNS * turn.input_tokens / full)) if turn.input_tokens else 0
    read = min(wide, round(BAR_COLUMNS * turn.cache_read_tokens / full))
    bar = Text(("█" if utf else "#") * read, "cyan")
    return bar.append(("░" if utf else ".") * (wide - read), "bright_black")


def _marks(turn: Turn) -> Text:
    text = Text()
    if turn.compacted:
        text.append("compacted", "magenta")
    if turn.cache_miss:
        text.append("  " if turn.compacted else "").append("cache miss", "bold red")
    return text


def _named(counts: Mapping[str, int]) -> str:
    shown_names = [f"{number:,} {name}" for name, number in list(counts.items())[:SHOWN_NAMES]]
    more = len(counts) - SHOWN_NAMES
    return ", ".join(shown_names) + (f" and {more} more" if more > 0 else "")


def _grid(*columns: str, folds: bool = False) -> Table:
    grid = Table.grid(padding=(0, 2))
    for justify in columns:
        side = "right" if justify == "right" else "left"
        grid.add_column(justify=side, overflow="fold", no_wrap=not folds)
    return grid
