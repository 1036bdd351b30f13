"""`holdfast repair`: mend what breaks a provider's rules, and say what was done."""

from __future__ import annotations

import click
from msgspec import Struct

from holdfast.cli.files import STANDARD, check_writable, mode_of, packed, write_bytes
from holdfast.cli.inputs import (
    FILE,
    Input,
    output_option,
    read_input,
    reading_options,
    refuse_contradiction,
)
from holdfast.cli.report import Done, Found, RepairReport, done, emit, found, unreadable
from holdfast.dialects.document import write_document
from holdfast.dialects.repair import repair_transcript
from holdfast.errors import CannotRepair, NotReadable
from holdfast.transcript import Transcript


@click.command()
@click.argument("file", type=FILE)
@output_option
@reading_options
def repair(file: str, output: str, provider: str | None, dialect: str | None, as_json: bool) -> int:
    """Mend what breaks a provider's rules.

    Nothing is invented: orphaned results are dropped, missing ones become explicit stubs,
    neighbours of one role are merged. Messages without fault keep their bytes. What cannot be
    mended is listed, nothing is written, and the exit code is 1. OUT may be FILE itself.

    \b
    holdfast repair session.json -o mended.json
    holdfast repair --provider strict session.jsonl.gz -o mended.jsonl.gz
    holdfast repair - < request.json > mended.json
    """
    refuse_contradiction(provider, dialect)
    check_writable(output)
    to_stderr = output == STANDARD
    try:
        given = read_input(file, provider, dialect)
        outcome = _repair(given)
    except NotReadable as error:
        return unreadable(file, error, as_json=as_json, err=to_stderr)
    if not outcome.hopeless:
        write_bytes(output, _bytes(given, outcome, output), mode=mode_of(file))
    if as_json:
        emit(_report(given, outcome, output), err=to_stderr)
    else:
        _show(given, outcome, output)
    return 1 if outcome.hopeless else 0


class _Outcome(Struct, frozen=True):
    """The mended transcripts and their text, what was done, and what cannot be mended."""

    mended: tuple[Transcript, ...]
    text: bytes
    actions: tuple[Done, ...]
    hopeless: tuple[Found, ...]


def _repair(given: Input) -> _Outcome:
    mended: list[Transcript] = []
    actions: list[Done] = []
    hopeless: list[Found] = []
    for number, (transcript, profile) in enumerate(
        zip(given.transcripts, given.profiles, strict=True)
    ):
        try:
            whole, taken = repair_transcript(transcript, profile)
        except CannotRepair as error:
            hopeless += [found(given, number, violation) for violation in error.violations]
            continue
        mended.append(whole)
        actions += [done(given, number, action) for action in taken]
    if hopeless:
        return _Outcome((), b"", (), tuple(hopeless))
    return _Outcome(tuple(mended), write_document(given.document, mended), tuple(actions), ())


def _bytes(given: Input, outcome: _Outcome, output: str) -> bytes:
    """Return what goes into the output; the very bytes of the input where nothing changed."""
    same = outcome.text == given.document.source
    if same and given.document.compressed and output.endswith(".gz"):
        return given.data
    return packed(output, outcome.text)


def _report(given: Input, outcome: _Outcome, output: str) -> RepairReport:
    refused = bool(outcome.hopeless)
    return RepairReport(
        file=given.name, output=None if refused else output, dialect=given.dialect,
        provider=given.provider, changed=not refused and outcome.text != given.document.source,
        actions=outcome.actions, violations=outcome.hopeless, warnings=given.document.warnings,
    )  # fmt: skip


def _show(given: Input, outcome: _Outcome, output: str) -> None:
    from holdfast.cli.show import show_refusal, show_repair

    if outcome.hopeless:
        show_refusal(given, outcome.hopeless)
    else:
        show_repair(given, outcome.mended, outcome.actions, output)
