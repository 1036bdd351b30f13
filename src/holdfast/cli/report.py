"""What the commands print with `--json`: one object a line, the fields as in docs/cli.md."""

from __future__ import annotations

from typing import Any

import click
from msgspec import UNSET, Struct, UnsetType, to_builtins

from holdfast.cli import say
from holdfast.cli.files import label
from holdfast.cli.inputs import Input
from holdfast.dialects.jsontext import dump
from holdfast.dialects.loss import Loss
from holdfast.dialects.rule import Action
from holdfast.errors import NotReadable
from holdfast.report import Report
from holdfast.transcript import Violation


class Unreadable(Struct, frozen=True, kw_only=True):
    """A file that is no transcript."""

    file: str
    valid: bool = False
    error: str


class Place(Struct, frozen=True):
    """Which transcript of a file with several: `record` counts from 0, `line` from 1."""

    record: int | UnsetType = UNSET
    line: int | UnsetType = UNSET


class Found(Struct, frozen=True):
    """A violation with its place in the file."""

    rule: str
    index: int
    path: str
    message: str
    remedy: str
    mendable: bool
    record: int | UnsetType = UNSET
    line: int | UnsetType = UNSET


class Done(Struct, frozen=True):
    """An action of a repair with its place in the file."""

    rule: str
    index: int
    what: str
    record: int | UnsetType = UNSET
    line: int | UnsetType = UNSET


class Lost(Struct, frozen=True):
    """Something that the other dialect cannot hold, with its place in the file."""

    index: int
    path: str
    what: str
    record: int | UnsetType = UNSET
    line: int | UnsetType = UNSET


class CheckReport(Struct, frozen=True, kw_only=True):
    """What `check` found in one file."""

    file: str
    valid: bool
    dialect: str
    provider: str
    transcripts: int
    messages: int
    violations: tuple[Found, ...]
    warnings: tuple[str, ...]


class RepairReport(Struct, frozen=True, kw_only=True):
    """What `repair` did.

    `violations` are those that cannot be mended; then nothing is written and `output` is null.
    """

    file: str
    output: str | None
    dialect: str
    provider: str
    changed: bool
    actions: tuple[Done, ...]
    violations: tuple[Found, ...]
    warnings: tuple[str, ...]


class ConvertReport(Struct, frozen=True, kw_only=True):
    """What `convert` did; `output` is null where nothing was written because of losses."""

    file: str
    output: str | None
    dialect: str
    to: str
    lossless: bool
    losses: tuple[Lost, ...]
    messages: int
    warnings: tuple[str, ...]


def emit(report: Struct, *, err: bool = False) -> None:
    """Print a report as one line of JSON."""
    click.echo(dump(to_builtins(report)), err=err)


def unreadable(name: str, error: NotReadable, *, as_json: bool, err: bool = False) -> int:
    """Report a file that is no transcript, and return the exit code that goes with it."""
    if as_json:
        emit(Unreadable(file=name, error=str(error)), err=err)
        return 2
    return say(f"{label(name)}: {error}")


def found(given: Input, record: int, violation: Violation) -> Found:
    """Return a violation as it is reported."""
    place = place_of(given, record)
    return Found(
        violation.rule, violation.index, violation.path, violation.message, violation.remedy,
        violation.mendable, place.record, place.line,
    )  # fmt: skip


def done(given: Input, record: int, action: Action) -> Done:
    """Return an action as it is reported."""
    place = place_of(given, record)
    return Done(action.rule, action.index, action.what, place.record, place.line)


def lost(given: Input, record: int, loss: Loss) -> Lost:
    """Return a loss as it is reported."""
    place = place_of(given, record)
    return Lost(loss.index, loss.path, loss.what, place.record, place.line)


def place_of(given: Input, record: int) -> Place:
    """Return which transcript of the file is meant; unset where it holds only one."""
    return Place(record, given.records[record].line) if given.holds_many else Place()


class Refusal(Struct, frozen=True, kw_only=True):
    """What `compress` refuses: rules are broken and cannot be mended; nothing was written."""

    file: str
    output: None = None
    violations: tuple[Found, ...]


def compression_report(
    given: Input, record: int, report: Report, output: str | None, originals: str | None
) -> dict[str, Any]:
    """Return the report on one transcript as it is written."""
    place = to_builtins(place_of(given, record))
    return {
        "file": given.name, "output": output, "originals": originals, **place,
        **to_builtins(report), "saved": round(report.saved, 4),
    }  # fmt: skip
