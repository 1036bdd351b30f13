"""`holdfast plan`: whether a compaction pays now, with the whole sum."""

from __future__ import annotations

from typing import Any

import click
from msgspec import Struct, to_builtins

from holdfast.cli.inputs import FILE, Input, read_input, reading_options, refuse_contradiction
from holdfast.cli.prices import Priced, price_options, prices_for
from holdfast.cli.report import place_of, unreadable
from holdfast.cli.settings import Window, budget_of, settings_from, settings_options, window_for
from holdfast.config import Settings
from holdfast.dialects.jsontext import dump
from holdfast.errors import NotReadable
from holdfast.lab.recording import PlanRequest, PlanResult, plan_for


class Planned(Struct, frozen=True):
    """A plan, and the window and prices that it rests on."""

    plan: PlanResult
    window: Window
    priced: Priced


@click.command()
@click.argument("file", type=FILE)
@click.option("--turns", type=click.IntRange(min=0), metavar="N",
              help="Calls of the model to come; as many as there were otherwise.")  # fmt: skip
@click.option("--cold", is_flag=True, help="The provider has nothing of it in its cache any more.")
@price_options
@settings_options
@reading_options
def plan(file: str, **options: Any) -> int:
    """Say whether to compact a transcript now, and why.

    The answer is act, wait or cannot. A compaction is tried out and not written. What it breaks in
    the provider's cache, what the summary costs and what later calls save are put side by side.
    Without prices the threshold alone decides.

    \b
    holdfast plan session.json --model claude-sonnet-4-5
    holdfast plan session.json --model gpt-5.1 --turns 40 --json
    """
    refuse_contradiction(options["provider"], options["dialect"])
    settings = settings_from(options)
    try:
        given = read_input(file, options["provider"], options["dialect"])
    except NotReadable as error:
        return unreadable(file, error, as_json=options["as_json"])
    found = _plans(given, settings, options)
    if options["as_json"]:
        for number, one in enumerate(found):
            click.echo(dump(_row(given, number, one)))
    else:
        from holdfast.cli.show_costs import show_plans

        show_plans(given, found)
    return 0


def _plans(given: Input, settings: Settings, options: dict[str, Any]) -> list[Planned]:
    found: list[Planned] = []
    for transcript in given.transcripts:
        window = window_for(settings, transcript)
        priced = prices_for(window.model, options["figures"])
        asked = PlanRequest(
            policy=settings.policy,
            budget=budget_of(settings, window),
            provider=options["provider"],
            prices=priced.prices,
            ttl=options["ttl"] or settings.cache_ttl,
            turns=options["turns"],
            is_cold=options["cold"],
            model_summary=options["summaries"] == "model",
        )
        found.append(Planned(plan_for(transcript, asked), window, priced))
    return found


def _row(given: Input, number: int, one: Planned) -> dict[str, Any]:
    notes = [note for note in (one.window.note, one.priced.note) if note]
    return {
        "file": given.name, **to_builtins(place_of(given, number)), "model": one.window.model,
        "context_length": one.window.tokens, **to_builtins(one.plan.verdict),
        "situation": to_builtins(one.plan.situation), "notes": notes,
    }  # fmt: skip
