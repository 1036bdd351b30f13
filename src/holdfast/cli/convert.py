"""`holdfast convert`: write a transcript in another dialect, or say what would be lost."""

from __future__ import annotations

from typing import Any, cast

import click

from holdfast.cli.files import STANDARD, check_writable, mode_of, packed, write_bytes
from holdfast.cli.inputs import (
    DIALECT,
    FILE,
    Input,
    dialect_option,
    json_option,
    output_option,
    read_input,
)
from holdfast.cli.report import ConvertReport, Lost, emit, lost, unreadable
from holdfast.dialects.convert import Converted, convert_transcript
from holdfast.dialects.document import write_document
from holdfast.dialects.jsontext import dump
from holdfast.errors import NotReadable


@click.command()
@click.argument("file", type=FILE)
@click.option("--to", required=True, type=DIALECT, help="The dialect to write.")
@output_option
@click.option("--allow-loss", is_flag=True, help="Write also where something cannot be held.")
@dialect_option
@json_option
def convert(
    file: str, to: str, output: str, allow_loss: bool, dialect: str | None, as_json: bool
) -> int:
    """Write a transcript in another dialect.

    What the other dialect cannot hold is listed, nothing is written, and the exit code is 1,
    unless --allow-loss says to go on without it.

    \b
    holdfast convert session.json --to anthropic -o out.json
    holdfast convert sessions.jsonl --to openai-responses --allow-loss -o out.jsonl.gz
    """
    check_writable(output)
    to_stderr = output == STANDARD
    try:
        given = read_input(file, None, dialect)
        converted = [convert_transcript(transcript, to) for transcript in given.transcripts]
    except NotReadable as error:
        return unreadable(file, error, as_json=as_json, err=to_stderr)
    losses = _losses(given, converted)
    refused = bool(losses) and not allow_loss
    if not refused:
        write_bytes(output, packed(output, _bytes(given, converted, to)), mode=mode_of(file))
    _tell(given, to, losses, None if refused else output, as_json, to_stderr)
    return 1 if refused else 0


def _losses(given: Input, converted: list[Converted]) -> tuple[Lost, ...]:
    return tuple(
        lost(given, number, loss) for number, one in enumerate(converted) for loss in one.losses
    )


def _bytes(given: Input, converted: list[Converted], to: str) -> bytes:
    """Return the transcripts in the layout of the file that they came from."""
    if given.dialect == to:
        return write_document(given.document, given.transcripts)
    values = [one.messages for one in converted]
    match given.document.layout:
        case "value":
            return dump(values[0]) + b"\n"
        case "message lines":
            listed = cast("list[Any]", values[0] if isinstance(values[0], list) else values)
            return b"".join(dump(element) + b"\n" for element in listed)
        case "record lines":
            return b"".join(dump(value) + b"\n" for value in values)
        case "record list":
            return dump(values) + b"\n"


def _tell(
    given: Input, to: str, losses: tuple[Lost, ...], output: str | None, as_json: bool,
    to_stderr: bool,
) -> None:  # fmt: skip
    if as_json:
        report = ConvertReport(
            file=given.name, output=output, dialect=given.dialect, to=to, lossless=not losses,
            losses=losses, messages=given.message_count, warnings=given.document.warnings,
        )  # fmt: skip
        emit(report, err=to_stderr)
        return
    from holdfast.cli.show import show_conversion, show_losses

    if output is None:
        show_losses(given, to, losses)
    else:
        show_conversion(given, to, losses, output)
