"""The options that let a model write summaries, and what it may cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from msgspec import Struct, to_builtins

from holdfast.caching.economics import usd
from holdfast.cli import say
from holdfast.cli.draw import counted
from holdfast.cli.prices import Priced, price_option, prices_for
from holdfast.dialects.jsontext import dump
from holdfast.trajectories.batch import CallEstimate, estimate_batch
from holdfast.trajectories.model_client import Spent
from holdfast.trajectories.policy import BatchSettings, RequestLimits, Summaries
from holdfast.trajectories.reading import RecordSource

F = TypeVar("F", bound=Callable[..., Any])

ASKED_FROM_USD = 1.0
"""What a run may cost without a question, where nothing else is said."""
_OPTIONS = (
    click.option("--summaries", type=click.Choice(get_args(Summaries)),
                 help="Who writes the summaries: the ledger, without a model; nobody (none), so "
                 "that only their frame stands there; or a model, the default with "
                 "--summarizer."),
    click.option("--summarizer", default="none", metavar="WHO",
                 help="The model that writes: openai:MODEL, openai-responses:MODEL, "
                 "anthropic:MODEL or litellm:MODEL; keys come from the usual variables."),
    click.option("--summarizer-url", default="", metavar="URL",
                 help="Another address for the summariser."),
    click.option("--summarizer-key-variable", default="", metavar="NAME",
                 help="The variable with the key for that address; no key is sent without it."),
    click.option("--summarizer-timeout", type=click.FloatRange(min=1), default=120.0, metavar="S",
                 show_default=True, help="Seconds that the summariser has for an answer."),
    click.option("--requests", type=click.IntRange(min=1), default=8, show_default=True,
                 metavar="N", help="Requests under way at a time, in the whole run."),
    click.option("--requests-per-minute", type=click.IntRange(min=1), metavar="N",
                 help="Requests that may begin in any minute of the whole run."),
    click.option("--tokens-per-minute", type=click.IntRange(min=1), metavar="N",
                 help="Tokens that they may have, with the longest answer to each."),
    price_option,
    click.option("--estimate", is_flag=True,
                 help="Say what the summariser would be asked and what that costs, and stop."),
    click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD",
                 help=f"What it may cost without a question ({ASKED_FROM_USD:g}); without a "
                 "terminal a dearer run is refused."),
    click.option("--yes", is_flag=True, help="Ask no question, whatever it costs."),
)  # fmt: skip


class Agreed(Struct, frozen=True):
    """Whether a run begins; otherwise the exit code."""

    begins: bool
    code: int = 0


def model_options(command: F) -> F:
    """Add the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def summaries_of(options: dict[str, Any]) -> Summaries:
    """Return who writes, or raise a usage error where the options contradict each other."""
    named = options["summarizer"] != "none"
    said: Summaries | None = options["summaries"]
    if said == "model" and not named:
        raise _wrong("--summaries model needs --summarizer, as in --summarizer openai:MODEL")
    if named and said in ("ledger", "none"):
        raise _wrong(f"--summaries {said} and --summarizer contradict each other; give one")
    if options["estimate"] and not named:
        raise _wrong("--estimate needs --summarizer: without a model nothing is paid")
    return "model" if named else said or "ledger"


def limits_of(options: dict[str, Any]) -> RequestLimits:
    """Return how much may be asked."""
    return RequestLimits(
        requests=options["requests"], requests_per_minute=options["requests_per_minute"] or 0,
        tokens_per_minute=options["tokens_per_minute"] or 0,
    )  # fmt: skip


def priced_of(job: BatchSettings, options: dict[str, Any]) -> Priced:
    """Return what the model costs."""
    return prices_for(job.summarizer.partition(":")[2], options["figures"])


def agreed(
    sources: Sequence[RecordSource],
    folder: Path,
    job: BatchSettings,
    priced: Priced,
    options: dict[str, Any],
    workers: int,
) -> Agreed:
    """Say what a run would cost, before its first call, and whether it begins."""
    found = estimate_batch(sources, folder, job, workers=workers, resume=not options["no_resume"])
    cost = _cost(found, priced)
    if options["estimate"]:
        if options["as_json"]:
            notes = [priced.note] if priced.note else []
            row = {"model": job.summarizer, **to_builtins(found), "usd": cost, "notes": notes}
            click.echo(dump(row))
        else:
            click.echo(_sentence(found, job, cost, priced))
        return Agreed(begins=False)
    if not found.calls:
        return Agreed(begins=True)
    click.echo(_sentence(found, job, cost, priced), err=True)
    most = ASKED_FROM_USD if options["max_cost"] is None else options["max_cost"]
    if options["yes"] or (cost is not None and cost <= most):
        return Agreed(begins=True)
    if sys.stdin.isatty() and sys.stderr.isatty():
        return Agreed(begins=click.confirm("Go on?", err=True))
    over = "is not known" if cost is None else f"may be more than {usd(most)}"
    return Agreed(begins=False, code=say(
        f"the cost of this run {over}, and nobody can be asked; nothing was written; give "
        f"{'--price or --yes' if cost is None else '--max-cost or --yes'}"
    ))  # fmt: skip


def spent_sentence(spent: Spent, priced: Priced) -> str:
    """Return what a run asked, and what that cost by what the provider reported."""
    tokens = f"{spent.input_tokens:,} tokens in, {spent.output_tokens:,} out"
    said = [f"{counted(spent.calls, 'call')} of the summariser, {tokens}"]
    cost = _usd(spent.calls, spent.input_tokens, spent.output_tokens, priced)
    if cost is not None:
        said.append(usd(cost))
    if spent.failed:
        said.append(f"{counted(spent.failed, 'call')} failed")
    if spent.kept:
        said.append(f"{counted(spent.kept, 'answer')} from an earlier run")
    return ", ".join(said)


def _sentence(found: CallEstimate, job: BatchSettings, cost: float | None, priced: Priced) -> str:
    if not found.calls:
        return f"nothing is to be asked; {counted(found.kept, 'answer')} are there already"
    kept = f"; {counted(found.kept, 'answer')} are there already" if found.kept else ""
    price = f"at most {usd(cost)}" if cost is not None else f"cost not known ({priced.note})"
    return (
        f"{counted(found.calls, 'call')} of {job.summarizer} for "
        f"{counted(found.records, 'record')}: about {found.input_tokens:,} tokens in, at most "
        f"{found.output_tokens:,} out, {price}{kept}"
    )


def _cost(found: CallEstimate, priced: Priced) -> float | None:
    return _usd(found.calls, found.input_tokens, found.output_tokens, priced)


def _usd(calls: int, read: int, written: int, priced: Priced) -> float | None:
    """Return the price of so many calls, which are of about the same length."""
    if not calls:
        return 0.0
    if priced.prices is None:
        return None
    here = priced.prices.at(read // calls)
    return (read * here.input + written * here.output) / 1e6


def _wrong(what: str) -> click.UsageError:
    return click.UsageError(what, click.get_current_context())
