"""`foldaway convert`: write a transcript in another dialect, or say what would be lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import click

from foldaway.cli.conversation import read_input
from foldaway.cli.draw import Picture
from foldaway.cli.files import (
    STANDARD,
    check_writable,
    count_of,
    output_label,
    shorten,
    write_output,
)
from foldaway.cli.inputs import (
    DIALECT,
    FILE,
    Input,
    Located,
    dialect_option,
    json_option,
    locate,
    options,
    output_option,
    print_json,
    reading,
)
from foldaway.dialects import Converted, Loss, convert_transcript, dump_bytes

SHOWN_LOSSES = 20
"""Losses that are listed; about a screen."""


@click.command()
@click.argument("file", type=FILE)
@click.option("--to", required=True, type=DIALECT, help="The dialect to write.")
@output_option
@options(("--allow-loss", bool, "Write even if something is lost."))
@dialect_option
@json_option
def convert(
    file: str, to: str, output: str, allow_loss: bool, dialect: str | None, as_json: bool
) -> int:
    """Write a transcript in another dialect.

    If the other dialect cannot express something, it is listed, nothing is written, and the exit
    code is 1. With --allow-loss the rest is written.

    \b
    foldaway convert session.json --to anthropic -o out.json
    foldaway convert sessions.jsonl --to openai-responses --allow-loss -o out.jsonl.gz
    """
    check_writable(output)
    to_stderr = output == STANDARD
    with reading(file, as_json=as_json, err=to_stderr):
        given = read_input(file, None, dialect)
        converted = [convert_transcript(transcript, to) for transcript in given.transcripts]
    losses = [
        loss for number, one in enumerate(converted) for loss in locate(given, number, one.losses)
    ]
    refused = bool(losses) and not allow_loss
    if not refused:
        write_output(output, _bytes(given, converted, to), file)
    if as_json:
        print_json(
            {
                "file": given.name,
                "output": None if refused else output,
                "dialect": given.dialect,
                "to": to,
                "lossless": not losses,
                "losses": [one.row() for one in losses],
                "messages": given.message_count,
                "warnings": given.document.warnings,
            },
            err=to_stderr,
        )
    else:
        show_conversion(given, to, losses, None if refused else output)
    return 1 if refused else 0


def _bytes(given: Input, converted: list[Converted], to: str) -> bytes:
    """Return the transcripts in the layout of the file that they came from."""
    if given.dialect == to:
        return given.document.write(given.transcripts)
    values = [one.messages for one in converted]
    match given.document.layout:
        case "value":
            return dump_bytes(values[0]) + b"\n"
        case "message lines":
            listed = cast("list[Any]", values[0] if isinstance(values[0], list) else values)
            return b"".join(dump_bytes(element) + b"\n" for element in listed)
        case "record lines":
            return b"".join(dump_bytes(value) + b"\n" for value in values)
        case "record list":
            return dump_bytes(values) + b"\n"


def show_conversion(
    given: Input, to: str, losses: Sequence[Located[Loss]], output: str | None
) -> None:
    """Print what was written and what it does not contain, or why nothing was (output None)."""
    picture = Picture(stderr=output is None or output == STANDARD)
    if output is None:
        verdict = f"{count_of(len(losses), 'thing')} that {to} cannot hold; nothing was written"
        picture.line(picture.heading(given, "broken"), verdict)
    else:
        lost = f"with {count_of(len(losses), 'loss', 'losses')}" if losses else "without loss"
        where = output_label(output)
        verdict = f"{count_of(given.message_count, 'message')} to {to} {lost}; written to {where}"
        picture.line(picture.heading(given, "ok"), verdict)
        picture.warnings(given)
    alike: dict[str, list[Located[Loss]]] = {}
    for row in losses:
        alike.setdefault(row.value.what, []).append(row)
    picture.table(
        "rrpf",
        [
            (
                (f"×{len(rows):,}", "red"),
                (rows[0].where, "dim"),
                (rows[0].value.path, "cyan"),
                shorten(what),
            )
            for what, rows in list(alike.items())[:SHOWN_LOSSES]
        ],
        indent=4,
    )
    picture.more(len(alike), SHOWN_LOSSES)
    if output is None:
        picture.paragraph("  ", ("write it without them: ", "dim"), ("--allow-loss", "bold"))
