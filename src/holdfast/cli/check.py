"""`holdfast check`: hold transcripts against a provider's rules."""

from __future__ import annotations

import click

from holdfast.cli.inputs import FILE, Input, read_input, reading_options, refuse_contradiction
from holdfast.cli.report import CheckReport, Found, emit, found, unreadable
from holdfast.dialects.check import check_transcript
from holdfast.errors import NotReadable

VALID, BROKEN = 0, 1


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@reading_options
def check(files: tuple[str, ...], provider: str | None, dialect: str | None, as_json: bool) -> int:
    """Hold transcripts against a provider's rules.

    FILE is JSON (a message list or a request body), JSON lines (a message or a transcript a
    line) or gzip of these; - is standard input. All files are checked; the worst one decides the
    exit code: 0 valid, 1 rules are broken, 2 not readable.

    \b
    holdfast check session.json
    holdfast check --provider strict sessions/*.jsonl.gz
    holdfast check --json - < request.json
    """
    refuse_contradiction(provider, dialect)
    return max(_check_file(name, provider, dialect, as_json, len(files) == 1) for name in files)


def check_input(given: Input) -> tuple[Found, ...]:
    """Return the violations of all transcripts of a file, in the order of the file."""
    return tuple(
        found(given, number, violation)
        for number, (transcript, profile) in enumerate(
            zip(given.transcripts, given.profiles, strict=True)
        )
        for violation in check_transcript(transcript, profile)
    )


def _check_file(
    name: str, provider: str | None, dialect: str | None, as_json: bool, alone: bool
) -> int:
    try:
        given = read_input(name, provider, dialect)
        violations = check_input(given)
    except NotReadable as error:
        return unreadable(name, error, as_json=as_json)
    if as_json:
        emit(_report(given, violations))
    else:
        from holdfast.cli.show import show_check

        show_check(given, violations, alone=alone)
    return BROKEN if violations else VALID


def _report(given: Input, violations: tuple[Found, ...]) -> CheckReport:
    return CheckReport(
        file=given.name, valid=not violations, dialect=given.dialect, provider=given.provider,
        transcripts=len(given.records), messages=given.message_count, violations=violations,
        warnings=given.document.warnings,
    )  # fmt: skip
