"""`foldaway inspect` and `foldaway diff`: where the context goes, and what became of messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from msgspec import Struct, to_builtins

from foldaway.cli.conversation import read_given
from foldaway.cli.draw import BAR_COLUMNS, Picture, Piece, saving, size
from foldaway.cli.files import shorten
from foldaway.cli.inputs import (
    COUNT,
    FILE,
    Input,
    options,
    print_json,
    reading_options,
    row_of,
    usage_error,
)
from foldaway.cli.settings import Window, budget_of, settings_from, settings_options, window_for
from foldaway.config import Settings
from foldaway.engine import Comparison, Copies, Inspection, Long, ViewDifference, inspect_transcript
from foldaway.transcript import Estimator

SHOWN_TRANSCRIPTS = 5
"""Transcripts of a file that are drawn; each takes half a screen."""
SHOWN_PLACES = 8
"""Places of identical results that fit beside their tool on a line."""


class InspectedRecord(Struct, frozen=True):
    """One transcript, and the window that it was compared with."""

    found: Inspection
    window: Window


@click.command()
@click.argument("file", type=FILE)
@options(
    ("--top N", COUNT, "How many of the longest messages and of the duplicates to list.", 5),
    ("--measured N", COUNT, "Tokens that the provider counted; the estimates are scaled to it."),
)
@settings_options
@reading_options
def inspect(file: str, **given: Any) -> int:
    """Show where the context of a transcript goes.

    Tokens by category, the longest messages by place, role and tool, identical tool results, and
    how near the whole is to the threshold at which compaction is due. What was said is not shown.

    \b
    foldaway inspect session.json
    foldaway inspect ~/.claude/projects/my-project/SESSION.jsonl
    foldaway inspect last --model claude-sonnet-5-5 --top 20
    """
    settings = settings_from(given)
    source = read_given(file, given)
    records = _inspect(source, settings, given["top"], given["measured"])
    if not given["as_json"]:
        show_inspection(source, records)
        return 0
    for number, one in enumerate(records):
        print_json(
            {
                **row_of(source, number),
                "dialect": source.transcripts[number].dialect,
                **to_builtins(one.found),
                "context_length_source": one.window.source,
                "notes": [one.window.note] if one.window.note else [],
            }
        )
    return 0


def _inspect(
    source: Input, settings: Settings, most: int, measured: int | None
) -> list[InspectedRecord]:
    if measured and len(source.records) > 1:
        raise usage_error("--measured is for a file with one transcript")
    records: list[InspectedRecord] = []
    for record in source.records:
        window = window_for(settings, record)
        budget = budget_of(settings, window)
        found = inspect_transcript(
            record.transcript,
            settings.policy,
            budget,
            Estimator(),
            most=most,
            measured_tokens=measured,
        )
        records.append(InspectedRecord(found, window))
    return records


def show_inspection(source: Input, records: Sequence[InspectedRecord]) -> None:
    """Print where the context of every transcript of a file goes."""
    picture = Picture()
    for number, one in enumerate(records[:SHOWN_TRANSCRIPTS]):
        found = one.found
        line = source.place(number)
        sizes = size(found.messages, found.tokens - found.outside_tokens)
        if found.outside_tokens:
            sizes += f", {found.outside_tokens:,} beside them"
        picture.line(picture.heading(source, "ok"), line, sizes)
        picture.category_bars([(share.name, share.tokens, None) for share in found.categories])
        _pressure(picture, found, one.window.model)
        _longest(picture, found.longest)
        _duplicates(picture, found.duplicates)
        picture.blank()
        if found.tokens_source == "measured":
            picture.note("the total was measured; the parts are estimates, scaled to it")
        elif found.is_estimate:
            picture.note("token figures are estimates")
        picture.note(one.window.note)
    picture.warnings(source)
    picture.more(len(records), SHOWN_TRANSCRIPTS, "sessions; name one file, or see --json")


def _pressure(picture: Picture, found: Inspection, model: str) -> None:
    filled = min(round(BAR_COLUMNS * found.pressure), BAR_COLUMNS)
    style = {"none": "yellow" if found.warning else "green", "soft": "yellow", "hard": "red"}
    style["early"] = style["none"]
    picture.blank()
    picture.table(
        "lbw",
        [
            (
                "pressure",
                picture.meter(filled, BAR_COLUMNS, style[found.urgency]),
                f"{found.pressure:.0%} of the threshold: {_verdict(found)}",
            )
        ],
    )
    whose = f" of {shorten(model)}" if model else ""
    sizes = f"threshold {found.threshold_tokens:,}, window{whose} {found.effective_window:,}"
    picture.paragraph((sizes, "dim"), indent=2)


def _verdict(found: Inspection) -> str:
    if not found.fits_window:
        return "it does not fit the window"
    if found.urgency == "hard":
        return "compaction is urgent"
    if found.urgency == "soft":
        return "compaction is due"
    if found.urgency == "early":
        return "early, and `foldaway plan` says whether it pays"
    return "compaction will soon be due" if found.warning else "no need for compaction"


def _longest(picture: Picture, rows: Sequence[Long]) -> None:
    picture.paragraph(("\n  longest messages", "bold"))
    picture.table(
        "rflf",
        [
            (
                f"{row.tokens:,}",
                shorten(f"m{row.position}" + (f" {row.id}" if row.id else "")),
                row.role,
                shorten(", ".join(row.tools)),
            )
            for row in rows
        ],
        indent=4,
    )


def _duplicates(picture: Picture, rows: Sequence[Copies]) -> None:
    if not rows:
        picture.paragraph(("\n  no identical tool results", "dim"))
        return
    picture.paragraph(("\n  identical tool results", "bold"), "  (tokens of the copies)")
    lines: list[tuple[str, ...]] = []
    for row in rows:
        places = ", ".join(f"m{at}" for at in row.positions[:SHOWN_PLACES])
        more = ", …" if len(row.positions) > SHOWN_PLACES else ""
        count, tool = f"×{len(row.positions):,}", shorten(row.tool)
        lines.append((f"{row.tokens:,}", count, tool, f"{places}{more}"))
    picture.table("rfff", lines, indent=4)


def fixed_note(tokens: int) -> str:
    """Return why there are more tokens than the messages have, "" if there are none."""
    return f"{tokens:,} of the tokens are beside the messages: system prompt, tools" * bool(tokens)


def show_comparison(
    picture: Picture, heading: list[Piece], compared: Comparison, made: ViewDifference
) -> None:
    """Print two transcripts beside each other, below a heading that names them."""
    was = size(compared.messages_before, compared.tokens_before)
    now = size(compared.messages_after, compared.tokens_after)
    change = saving(compared.tokens_before, compared.tokens_after)
    picture.line(*heading, f"{was} {picture.arrow} {now} ({change})")
    picture.difference(made)
    rows = sorted(compared.categories, key=lambda one: -one.tokens_before)
    picture.category_bars([(one.name, one.tokens_before, one.tokens_after) for one in rows])
    picture.blank()
    picture.note(fixed_note(compared.fixed_tokens))
    picture.note("token figures are estimates")
