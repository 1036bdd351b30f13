"""`holdfast inspect`: where the context goes, without showing what was said."""

from __future__ import annotations

from typing import Any

import click
from msgspec import Struct, to_builtins

from holdfast.cli import say
from holdfast.cli.files import label
from holdfast.cli.inputs import FILE, Input, read_input, reading_options, refuse_contradiction
from holdfast.cli.report import Unreadable, emit, place_of
from holdfast.cli.settings import Window, budget_of, settings_from, settings_options, window_for
from holdfast.compaction.measure import Estimator
from holdfast.config import Settings
from holdfast.dialects.jsontext import dump
from holdfast.engine.inspection import Inspection, inspect_transcript
from holdfast.errors import NotReadable


class Seen(Struct, frozen=True):
    """One transcript, and the window that it was held against."""

    found: Inspection
    window: Window


@click.command()
@click.argument("file", type=FILE)
@click.option("--top", type=click.IntRange(min=1), default=5, show_default=True, metavar="N",
              help="How many of the longest messages and of the duplicates to list.")  # fmt: skip
@settings_options
@reading_options
def inspect(file: str, **options: Any) -> int:
    """Show where the context of a transcript goes.

    Tokens by category, the longest messages by place, role and tool, identical tool results, and
    how near the whole is to the threshold at which compaction is due. What was said is not shown.

    \b
    holdfast inspect session.json
    holdfast inspect session.json --model claude-sonnet-4-5 --top 20
    """
    refuse_contradiction(options["provider"], options["dialect"])
    settings = settings_from(options)
    try:
        given = read_input(file, options["provider"], options["dialect"])
    except NotReadable as error:
        if options["as_json"]:
            emit(Unreadable(file=file, error=str(error)))
            return 2
        return say(f"{label(file)}: {error}")
    seen = _inspect(given, settings, options["top"])
    if options["as_json"]:
        for number, one in enumerate(seen):
            click.echo(dump(_row(given, number, one)))
    else:
        from holdfast.cli.show_context import show_inspection

        show_inspection(given, seen)
    return 0


def _inspect(given: Input, settings: Settings, most: int) -> list[Seen]:
    found: list[Seen] = []
    for transcript in given.transcripts:
        window = window_for(settings, transcript)
        budget = budget_of(settings, window)
        one = inspect_transcript(transcript, settings.policy, budget, Estimator(), most=most)
        found.append(Seen(one, window))
    return found


def _row(given: Input, number: int, one: Seen) -> dict[str, Any]:
    return {
        "file": given.name, "dialect": given.transcripts[number].dialect,
        **to_builtins(place_of(given, number)), **to_builtins(one.found),
        "context_length_source": one.window.source,
        "notes": [one.window.note] if one.window.note else [],
    }  # fmt: skip
