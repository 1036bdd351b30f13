"""`foldaway plan` and `foldaway simulate`: whether a compaction pays, now or in recorded runs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeAlias

import click
from msgspec import Struct, to_builtins

from foldaway._core import Policy, Saving
from foldaway.caching import Prices, Verdict, usd
from foldaway.cli.conversation import read_given
from foldaway.cli.draw import Picture, Piece, progress_bar
from foldaway.cli.files import check_writable, count_of, is_terminal, shorten, write_bytes
from foldaway.cli.inputs import (
    COUNT,
    FILE,
    PATH,
    Input,
    numbers_in,
    options,
    print_json,
    reading_options,
    row_of,
    usage_error,
)
from foldaway.cli.settings import (
    SAVE_ROW,
    Priced,
    Window,
    budget_of,
    model_in,
    price_options,
    prices_for,
    settings_from,
    settings_options,
    window_for,
    window_of,
)
from foldaway.config import Settings
from foldaway.dialects import Record
from foldaway.lab import (
    THRESHOLDS,
    PlanRequest,
    PlanResult,
    ReplayTerms,
    Simulation,
    StrategyCost,
    plan_for,
)

SHOWN_PLANS = 5
"""Transcripts of a file whose plans are drawn; each takes half a screen."""
COST_COLUMNS = 20
"""The width of the bar of the dearest strategy; the table has six more columns."""
_CLEARLY = 0.98
"""A strategy that costs more of what ours does is not called cheaper."""
LEAST_THRESHOLD = 0.02
"""Below this share of a window a compaction would come with nearly every call."""
LINE_SECONDS = 10
"""Seconds between two lines of progress without a terminal."""
_BAR = ("{task.percentage:>3.0f} %",)
Tell: TypeAlias = Callable[[int], None]
_STYLES = {"act": "bold green", "wait": "bold yellow", "cannot": "bold red"}


class PlannedRecord(Struct, frozen=True):
    """The plan of one transcript, and the window and prices that it rests on."""

    plan: PlanResult
    window: Window
    priced: Priced


@click.command()
@click.argument("file", type=FILE)
@options(("--cold", bool, "Assume that the provider's cache has expired."), SAVE_ROW)
@price_options
@settings_options
@reading_options
def plan(file: str, **given: Any) -> int:
    """Say whether to compact a transcript now, and why.

    The answer is act, wait or cannot. A compaction is tried out, and nothing is written. Its cost
    (the lost cache, the summary) is compared with what it has cost so far to read again what would
    be removed. The gateway decides in the same way; `foldaway compact` always acts, because you
    asked for it.

    \b
    foldaway plan session.json --model claude-sonnet-5-5
    foldaway plan session.json --model gpt-5.1 --save most --json
    """
    settings = settings_from(given)
    source = read_given(file, given)
    records = [_plan(one, settings, given) for one in source.records]
    if not given["as_json"]:
        show_plans(source, records)
        return 0
    for number, one in enumerate(records):
        print_json(
            {
                **row_of(source, number),
                "model": one.window.model,
                "context_length": one.window.tokens,
                **to_builtins(one.plan.verdict),
                "situation": one.plan.situation,
                "notes": [note for note in (one.window.note, one.priced.note) if note],
            }
        )
    return 0


def _plan(one: Record, settings: Settings, given: dict[str, Any]) -> PlannedRecord:
    window = window_for(settings, one)
    priced = prices_for(window.model, given["figures"])
    asked = PlanRequest(
        policy=settings.policy,
        budget=budget_of(settings, window),
        provider=given["provider"],
        prices=priced.prices,
        ttl=given["ttl"] or settings.cache_ttl,
        is_cold=given["cold"],
        model_summary=given["summaries"] == "model",
    )
    return PlannedRecord(plan_for(one.transcript, asked), window, priced)


def show_plans(source: Input, records: Sequence[PlannedRecord]) -> None:
    """Print the verdict on every transcript of a file, each with its arithmetic."""
    picture = Picture()
    for number, one in enumerate(records[:SHOWN_PLANS]):
        verdict = one.plan.verdict
        line = source.place(number)
        answer, _, why = verdict.sentence.partition(":")
        outcome = "refused" if answer == "cannot" else "ok"
        picture.line(picture.heading(source, outcome), line, (answer, _STYLES[answer]), f":{why}")
        picture.blank()
        prices = one.plan.situation.prices
        picture.table("lrw", _token_rows(one.plan))
        picture.blank()
        picture.table("lrw", _arithmetic_rows(verdict, prices))
        picture.blank()
        picture.paragraph((_price_sentence(prices), "dim"), indent=2)
        for note in ("token figures are estimates", one.window.note, one.priced.note):
            picture.note(note)
    picture.warnings(source)
    picture.more(len(records), SHOWN_PLANS, "sessions; name one file, or see --json")


def _token_rows(found: PlanResult) -> list[tuple[str, str, str]]:
    situation = found.situation
    share = 1 - situation.tokens_after / situation.tokens_now if situation.tokens_now else 0
    useful = min(situation.kept_prefix_tokens, situation.cached_tokens)
    is_early = situation.early_tokens < situation.threshold_tokens
    pays = " if it pays" if is_early or not situation.acts_at_threshold else ""
    return [
        (
            "tokens now",
            f"{situation.tokens_now:,}",
            f"compacted from {situation.early_tokens:,}{pays}, urgent from "
            f"{situation.hard_tokens:,}",
        ),
        (
            "tokens after",
            f"{situation.tokens_after:,}",
            f"{share:.0%} less, as a gateway or session compacts",
        ),
        (
            "cached now",
            f"{situation.cached_tokens:,}",
            f"{useful:,} of them still cached after a compaction",
        ),
        ("calls so far", f"{found.calls:,}", ""),
        (
            "read again",
            f"{situation.reread_tokens:,}",
            "by these calls, of what a compaction would have removed",
        ),
    ]


def _arithmetic_rows(verdict: Verdict, prices: Prices) -> list[tuple[Piece, Piece, str]]:
    total = verdict.sum

    def shown(value: float) -> str:
        return prices.amount(value).removesuffix(" input tokens")

    return [
        (
            "next call, compacted",
            shown(total.next_call_if_acting),
            f"{total.writes_tokens:,} tokens written, {total.reads_lost_tokens:,} cache reads lost",
        ),
        (
            "+ summary",
            shown(total.summary_call),
            "" if total.summary_call else "no model writes it",
        ),
        ("− next call, as it is", shown(total.next_call_if_waiting), ""),
        (("= price of compacting", "bold"), (shown(total.price), "bold"), ""),
        (
            ("paid so far", "bold"),
            (shown(total.paid), "bold"),
            "to read again what it would remove: it pays from its price on",
        ),
        ("saving a call", shown(total.saving_per_turn), "from the next one on"),
    ]


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@options(
    ("--model M", str, "The model; by default the one that most of the sessions name."),
    ("--context-length N", COUNT, "The window in tokens."),
    (
        "--thresholds F,F…",
        str,
        "Shares of the window.",
        ",".join(f"{share:g}" for share in THRESHOLDS),
    ),
    SAVE_ROW,
    ("--pause S", click.FloatRange(min=0), "Seconds of silence before a user speaks.", 60.0),
    ("--plot FILE.svg", PATH, "Draw the costs as SVG."),
)
@price_options
@reading_options
def simulate(files: tuple[str, ...], **given: Any) -> int:
    """Replay sessions and show what each strategy would cost.

    Every answer of the agent is a call of the model over all that was said before. Nothing is
    sent anywhere. A session that outgrows the window under `append only` is costed as if there
    were none, and counted.

    \b
    foldaway simulate ~/.claude/projects/my-project
    foldaway simulate sessions/*.json --model claude-sonnet-5-5
    foldaway simulate runs.jsonl.gz --model gpt-5.1 --plot costs.svg
    """
    thresholds, save = _thresholds(given["thresholds"]), given["save"] or Policy().save
    draw = _plotter(given["plot"])
    sessions = [one for name in files for one in read_given(name, given).records]
    model = given["model"] or _find_usual_model(sessions)
    window = window_of(Settings(context_length=given["context_length"]), model)
    terms = _terms(given, window)
    replays = Simulation([one.transcript for one in sessions], thresholds, save)
    with replay_progress(replays.tokens_to_replay) as tell:
        found = replays.run(terms, tell)
    if draw is not None:
        title = f"{replays.sessions:,} sessions, {model}, window {window.tokens:,}"
        write_bytes(given["plot"], draw(title, found).encode())
    if not given["as_json"]:
        show_simulation(found, replays, window, terms, save)
        return 0
    for one in found:
        print_json(
            {
                **to_builtins(one),
                "usd": one.usd,
                "hit_rate": round(one.hit_rate, 4),
                "context_length": window.tokens,
            }
        )
    return 0


@contextmanager
def replay_progress(total: int, clock: Callable[[], float] = monotonic) -> Generator[Tell]:
    """Give what hears how many tokens more were replayed: on a terminal it moves a bar, elsewhere
    it prints a line now and then.
    """
    if is_terminal(sys.stderr):
        with progress_bar("replaying", quiet=False, total=total, columns=_BAR) as update:
            yield lambda more: update(advance=more)
        return
    done, said = 0, clock()

    def tell(more: int) -> None:
        nonlocal done, said
        done += more
        if clock() - said >= LINE_SECONDS:
            said = clock()
            click.echo(f"foldaway: {done / max(total, 1):.0%} replayed", err=True)

    yield tell


def _find_usual_model(sessions: Sequence[Record]) -> str:
    """Return the model that most sessions name; a usage error if none does."""
    named = Counter(model for one in sessions if (model := model_in(one)))
    if not named:
        raise usage_error("no session names its model; give one, as in --model claude-sonnet-5-5")
    return named.most_common(1)[0][0]


def _plotter(target: str | None) -> Callable[[str, Sequence[StrategyCost]], str] | None:
    """Return what draws the costs if a file is asked for; a missing extra is told at once."""
    if not target:
        return None
    check_writable(target)
    from foldaway.lab import cost_plot

    return cost_plot


def _thresholds(text: str) -> list[float]:
    found = numbers_in(text)
    if not found or not all(LEAST_THRESHOLD <= share <= 1 for share in found):
        raise usage_error(
            f"--thresholds {text!r}: give shares of the window from {LEAST_THRESHOLD:g} to 1, "
            "with commas between them"
        )
    return found


def _terms(given: dict[str, Any], window: Window) -> ReplayTerms:
    priced = prices_for(window.model, given["figures"])
    if priced.prices is None:
        raise usage_error(priced.note)
    return ReplayTerms(
        prices=priced.prices,
        context_length=window.tokens,
        ttl=given["ttl"] or "5m",
        pause_seconds=given["pause"],
        model_summary=given["summaries"] == "model",
    )


def _why_not_cheapest(found: Sequence[StrategyCost], save: Saving) -> str:
    """Return why the gateway does not do what was cheapest here; "" if nothing was clearly."""
    best, ours = min(found, key=lambda one: one.usd), found[-1]
    if best.usd >= ours.usd * _CLEARLY or best.compactions <= ours.compactions:
        return ""
    times = f"{count_of(best.compactions, 'compaction')} instead of {ours.compactions:,}"
    more = "" if save == "most" else "; --save most compacts more often"
    return (
        f"{best.strategy} was cheaper here, with {times}. One knows that only afterwards, and each "
        f"compaction leaves something out{more}"
    )


def show_simulation(
    found: Sequence[StrategyCost],
    replays: Simulation,
    window: Window,
    terms: ReplayTerms,
    save: Saving,
) -> None:
    """Print what each strategy cost, as a table with bars, and how it spreads over sessions."""
    picture = Picture()
    picture.paragraph(
        (
            f"{count_of(replays.sessions, 'session')}, {count_of(found[0].calls, 'call')} of "
            f"{shorten(window.model)}, {count_of(replays.tokens, 'token')}, "
            f"window {window.tokens:,}",
            "bold",
        )
    )
    picture.blank()
    _show_costs(picture, found)
    picture.paragraph(
        (
            "ratio: cost compared with append only. cache: share of the input that is read from "
            "the cache. compacted: how often. over: calls that do not fit the window. When it "
            f"pays: as the gateway does with --save {save}.",
            "dim",
        ),
        indent=2,
    )
    if replays.sessions > 1:
        picture.paragraph(("\n  cost against append only, by session", "bold"))
        shares = (0.0, 0.10, 0.50, 0.90, 1.0)
        picture.table(
            "lrrrrr",
            [
                (one.strategy, *(f"{value:.2f}" for value in one.ratios_at(shares)))
                for one in found[1:]
            ],
            names=("", "least", "10 %", "half", "90 %", "most"),
        )
        picture.paragraph(
            ("half of the sessions cost at most the figure under half", "dim"), indent=2
        )
    picture.blank()
    picture.paragraph((_price_sentence(terms.prices), "dim"), indent=2)
    picture.note("token figures are estimates")
    picture.note(window.note)
    picture.note(_why_not_cheapest(found, save))
    over = found[0].overflowing_sessions
    if over:
        picture.note(
            f"append only outgrows the window in {count_of(over, 'session')}; it is costed as if "
            f"there were none"
        )


def _show_costs(picture: Picture, found: Sequence[StrategyCost]) -> None:
    most = max(one.usd for one in found) or 1.0
    cheapest = min(one.usd for one in found)
    rows: list[tuple[Piece, ...]] = []
    for one in found:
        style = "bold green" if one.usd == cheapest else ""
        bar = picture.block * max(1, round(COST_COLUMNS * one.usd / most))
        rows.append(
            (
                (one.strategy, style),
                (usd(one.usd), style),
                f"{one.ratio:.2f}",
                (bar, "cyan"),
                f"{one.hit_rate:.1%}",
                f"{one.compactions:,}",
                f"{one.overflows:,}" if one.overflows else "",
            )
        )
    names = ("strategy", "cost", "ratio", "", "cache", "compacted", "over")
    picture.table("lrrbrnn", rows, names=names)


def _price_sentence(prices: Prices) -> str:
    if prices.is_ratio:
        return (
            "in input tokens, because the prices are not known: reading from the cache counts "
            f"{prices.cache_read:g}, writing {prices.cache_write_5m:g}, output {prices.output:g}"
        )
    return (
        f"a million tokens: input ${prices.input:g}, read ${prices.cache_read:g}, written "
        f"${prices.cache_write_5m:g} (1 h ${prices.cache_write_1h:g}), output ${prices.output:g} "
        f"({prices.source})"
    )
