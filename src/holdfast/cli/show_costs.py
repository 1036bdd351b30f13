"""The pictures of `plan` and `simulate`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.caching.economics import Situation, Sum, usd
from holdfast.caching.prices import Prices
from holdfast.cli.draw import (
    console_for,
    counted,
    headed,
    indented,
    print_line,
    print_more,
    print_warnings,
    shortened,
)
from holdfast.cli.inputs import Input
from holdfast.cli.plan import Planned
from holdfast.cli.settings import Window
from holdfast.lab.recording import Recording
from holdfast.lab.replay import ReplayTerms
from holdfast.lab.simulate import StrategyCost, quantiles

SHOWN_PLANS = 5
BAR_COLUMNS = 20
_STYLES = {"act": "bold green", "wait": "bold yellow", "cannot": "bold red"}


def show_plans(given: Input, found: Sequence[Planned]) -> None:
    """Print the verdict on every transcript of a file, each with its arithmetic."""
    console = console_for()
    for number, one in enumerate(found[:SHOWN_PLANS]):
        verdict = one.plan.verdict
        head = headed(console, given, "ok")
        if given.holds_many:
            head.append(f"line {given.records[number].line}: ")
        answer, _, why = verdict.sentence.partition(":")
        print_line(console, head.append(answer, _STYLES[answer]).append(f":{why}"))
        console.print()
        console.print(indented(_tokens(one.plan.situation, verdict.sum), 2))
        if verdict.sum is not None and one.priced.prices is not None:
            console.print()
            console.print(indented(_arithmetic(verdict.sum), 2))
            print_line(console, Text("\n  ").append(_priced(one.priced.prices), "dim"))
        _notes(console, ("token figures are estimates", one.window.note, one.priced.note))
    print_warnings(console, given)
    print_more(console, len(found), SHOWN_PLANS)


def show_simulation(
    found: Sequence[StrategyCost],
    recordings: Sequence[Recording],
    window: Window,
    terms: ReplayTerms,
) -> None:
    """Print what each strategy cost, as a table with bars, and how it spreads over sessions."""
    console = console_for()
    tokens = sum(recording.tokens for recording in recordings)
    print_line(console, Text(
        f"{counted(len(recordings), 'session')}, {counted(found[0].calls, 'call')} of "
        f"{shortened(window.model)}, {counted(tokens, 'token')}, window {window.tokens:,}", "bold",
    ))  # fmt: skip
    console.print()
    console.print(indented(_outcomes(console, found), 2))
    if len(recordings) > 1:
        console.print(Text("\n  cost against append only, by session", "bold"))
        console.print(indented(_spread(found), 2))
    print_line(console, Text("\n  ").append(_priced(terms.prices), "dim"))
    over = found[0].overflowing_sessions
    _notes(console, (
        "token figures are estimates", window.note,
        f"append only outgrows the window in {counted(over, 'session')}; it is costed as if there "
        f"were none" if over else "",
    ))  # fmt: skip


def _tokens(situation: Situation, total: Sum | None) -> Table:
    grid = _grid("left", "right", "left")
    grid.add_row("tokens now", f"{situation.tokens_now:,}",
                 f"due from {situation.threshold_tokens:,}, urgent from "
                 f"{situation.hard_tokens:,}")  # fmt: skip
    share = 1 - situation.tokens_after / situation.tokens_now if situation.tokens_now else 0
    grid.add_row("tokens after", f"{situation.tokens_after:,}", f"{share:.0%} less")
    grid.add_row("in the cache", f"{situation.cached_tokens:,}",
                 f"{min(situation.kept_prefix_tokens, situation.cached_tokens):,} of them stay of "
                 f"use")  # fmt: skip
    grid.add_row("calls so far", f"{situation.turns_so_far:,}",
                 f"{situation.tokens_per_turn:,.0f} tokens more each time")  # fmt: skip
    if total is not None:
        given = "as given" if situation.remaining_turns is not None else "by how many there were"
        grid.add_row("calls to come", f"{total.turns_remaining:,}", given)
    return grid


def _arithmetic(total: Sum) -> Table:
    grid = _grid("left", "right", "left")
    grid.add_row("next call, compacted", usd(total.next_call_if_acting),
                 f"{total.writes_tokens:,} tokens written, {total.reads_lost_tokens:,} cache reads "
                 f"lost")  # fmt: skip
    grid.add_row("+ summary", usd(total.summary_call), "" if total.summary_call else "the ledger")
    grid.add_row("− next call, as it is", usd(total.next_call_if_waiting), "")
    grid.add_row(Text("= price", "bold"), Text(usd(total.price), "bold"), "")
    grid.add_row("saving a call", usd(total.saving_per_turn), "")
    grid.add_row("× calls", f"{total.turns_counted:,}",
                 f"of {total.turns_until_regrown:,} until the prompt has grown back, with "
                 f"{total.turns_remaining:,} to come")  # fmt: skip
    grid.add_row(Text("= saving", "bold"), Text(usd(total.saving), "bold"),
                 f"acts from {usd(max(total.margin * total.price, 0))} on "
                 f"({total.margin:g} × the price)")  # fmt: skip
    return grid


def _outcomes(console: Console, found: Sequence[StrategyCost]) -> Table:
    most = max(one.usd for one in found) or 1.0
    block = "█" if console.encoding.startswith("utf") else "#"
    grid = _grid("left", "right", "right", "left", "right", "right", "right")
    grid.add_row(*(Text(name, "dim") for name in (
        "strategy", "cost", "ratio", "", "cache hits", "compactions", "over window",
    )))  # fmt: skip
    cheapest = min(one.usd for one in found)
    for one in found:
        style = "bold green" if one.usd == cheapest else ""
        bar = Text(block * max(1, round(BAR_COLUMNS * one.usd / most)), "cyan")
        grid.add_row(
            Text(one.strategy, style), Text(usd(one.usd), style), f"{one.ratio:.2f}", bar,
            f"{one.hit_rate:.1%}", f"{one.compactions:,}",
            f"{one.overflows:,}" if one.overflows else "",
        )  # fmt: skip
    return grid


def _spread(found: Sequence[StrategyCost]) -> Table:
    shares = (0.0, 0.10, 0.50, 0.90, 1.0)
    grid = _grid("left", *["right"] * len(shares))
    grid.add_row(*(Text(name, "dim") for name in ("", "least", "10 %", "half", "90 %", "most")))
    for one in found[1:]:
        grid.add_row(one.strategy, *(f"{value:.2f}" for value in quantiles(one.ratios, shares)))
    return grid


def _priced(prices: Prices) -> str:
    return (
        f"a million tokens: input ${prices.input:g}, read ${prices.cache_read:g}, written "
        f"${prices.cache_write_5m:g} (1 h ${prices.cache_write_1h:g}), output ${prices.output:g} "
        f"({prices.source})"
    )


def _grid(*columns: str) -> Table:
    grid = Table.grid(padding=(0, 2))
    for justify in columns:
        grid.add_column(no_wrap=True, justify="right" if justify == "right" else "left")
    return grid


def _notes(console: Console, notes: Sequence[str]) -> None:
    for note in notes:
        if note:
            print_line(console, Text("  note: ", "yellow").append(shortened(note)))
