"""`holdfast check`, `holdfast repair` and `holdfast rules`: a provider's rules and who breaks them.

Pictures show ids, roles and paths; what was said they never show.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

import click
from msgspec import UNSET, Struct, UnsetType, to_builtins

from holdfast.cli.draw import Cell, Mark, Picture, Piece, cell_of, text_of
from holdfast.cli.files import (
    SHOWN_ENTRIES,
    STANDARD,
    check_writable,
    counted,
    label,
    mode_of,
    packed,
    shortened,
    write_bytes,
)
from holdfast.cli.inputs import (
    FILE,
    PROVIDER,
    Input,
    ViolationRow,
    json_option,
    output_option,
    place_of,
    print_json,
    read_input,
    reading,
    reading_options,
    refuse_contradiction,
    report_unreadable,
    violation_row,
    where_text,
)
from holdfast.dialects.check import check_transcript
from holdfast.dialects.document import write_document
from holdfast.dialects.profiles import PROFILES
from holdfast.dialects.repair import repair_transcript
from holdfast.dialects.rule import Action, Profile
from holdfast.errors import CannotRepair, NotReadable
from holdfast.transcript import Transcript

SHOWN_REMEDIES = 3
"""Different remedies of one rule that are shown; a rule has few."""


class ActionRow(Struct, frozen=True):
    """An action of a repair with its place in the file."""

    rule: str
    index: int
    what: str
    record: int | UnsetType = UNSET
    line: int | UnsetType = UNSET


Row = TypeVar("Row", ViolationRow, ActionRow)


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@reading_options
def check(files: tuple[str, ...], provider: str | None, dialect: str | None, as_json: bool) -> int:
    """Check transcripts against a provider's rules.

    FILE is JSON (a message list or a request body), JSON lines (a message or a transcript per
    line) or gzip of these; - is standard input. All files are checked; the worst one decides the
    exit code: 0 valid, 1 rules are broken, 2 not readable.

    \b
    holdfast check session.json
    holdfast check --provider strict sessions/*.jsonl.gz
    holdfast check --json - < request.json
    """
    refuse_contradiction(provider, dialect)
    codes: list[int] = []
    for name in files:
        try:
            given = read_input(name, provider, dialect)
            violations = _violations(given)
        except NotReadable as error:
            codes.append(report_unreadable(name, error, as_json=as_json))
            continue
        if as_json:
            print_json({
                "file": given.name, "valid": not violations, "dialect": given.dialect,
                "provider": given.provider, "transcripts": len(given.records),
                "messages": given.message_count, "violations": to_builtins(violations),
                "warnings": given.document.warnings,
            })  # fmt: skip
        else:
            show_check(given, violations, alone=len(files) == 1)
        codes.append(1 if violations else 0)
    return max(codes)


def _violations(given: Input) -> tuple[ViolationRow, ...]:
    """Return the violations of all transcripts of a file, in the order of the file."""
    pairs = zip(given.transcripts, given.profiles, strict=True)
    return tuple(
        violation_row(given, number, violation)
        for number, (transcript, profile) in enumerate(pairs)
        for violation in check_transcript(transcript, profile)
    )


@click.command()
@click.argument("file", type=FILE)
@output_option
@reading_options
def repair(file: str, output: str, provider: str | None, dialect: str | None, as_json: bool) -> int:
    """Repair what breaks a provider's rules.

    Nothing is invented: orphaned results are dropped, missing ones become explicit stubs,
    neighboring messages of one role are merged. Valid messages keep their bytes. If something
    cannot be repaired, it is listed, nothing is written, and the exit code is 1. OUT may be FILE.

    \b
    holdfast repair session.json -o mended.json
    holdfast repair --provider strict session.jsonl.gz -o mended.jsonl.gz
    holdfast repair - < request.json > mended.json
    """
    refuse_contradiction(provider, dialect)
    check_writable(output)
    to_stderr = output == STANDARD
    with reading(file, as_json=as_json, err=to_stderr):
        given = read_input(file, provider, dialect)
        done = _repair(given)
    refused = bool(done.hopeless)
    same = done.text == given.document.source
    if not refused:
        is_as_it_was = same and given.document.compressed and output.endswith(".gz")
        data = given.data if is_as_it_was else packed(output, done.text)
        write_bytes(output, data, mode=mode_of(file))
    if as_json:
        print_json({
            "file": given.name, "output": None if refused else output, "dialect": given.dialect,
            "provider": given.provider, "changed": not refused and not same,
            "actions": to_builtins(done.actions), "violations": to_builtins(done.hopeless),
            "warnings": given.document.warnings,
        }, err=to_stderr)  # fmt: skip
    elif refused:
        show_refusal(given, done.hopeless)
    else:
        show_repair(given, done.mended, done.actions, output)
    return 1 if refused else 0


class _Repaired(Struct, frozen=True):
    """The mended transcripts and their text, what was done, and what cannot be mended."""

    mended: tuple[Transcript, ...] = ()
    text: bytes = b""
    actions: tuple[ActionRow, ...] = ()
    hopeless: tuple[ViolationRow, ...] = ()


def _repair(given: Input) -> _Repaired:
    mended: list[Transcript] = []
    actions: list[ActionRow] = []
    hopeless: list[ViolationRow] = []
    pairs = zip(given.transcripts, given.profiles, strict=True)
    for number, (transcript, profile) in enumerate(pairs):
        try:
            whole, taken = repair_transcript(transcript, profile)
        except CannotRepair as error:
            hopeless += [violation_row(given, number, one) for one in error.violations]
            continue
        mended.append(whole)
        actions += [_action_row(given, number, action) for action in taken]
    if hopeless:
        return _Repaired(hopeless=tuple(hopeless))
    return _Repaired(tuple(mended), write_document(given.document, mended), tuple(actions))


def _action_row(given: Input, record: int, action: Action) -> ActionRow:
    place = place_of(given, record)
    return ActionRow(action.rule, action.index, action.what, place.record, place.line)


@click.command()
@click.argument("provider", required=False, type=PROVIDER, metavar="[PROVIDER]")
@json_option
def rules(provider: str | None, as_json: bool) -> int:
    """List the rules of the providers.

    \b
    holdfast rules
    holdfast rules anthropic
    """
    for profile in [PROFILES[provider]] if provider else PROFILES.values():
        if as_json:
            rows = [
                {"name": rule.name, "states": rule.states, "mendable": rule.mend is not None,
                 "mends": rule.mends}
                for rule in profile.rules
            ]  # fmt: skip
            print_json({"provider": profile.name, "dialect": profile.dialect,
                        "dated": profile.dated, "rules": rows})  # fmt: skip
        else:
            show_profile(profile)
    return 0


def show_check(given: Input, violations: Sequence[ViolationRow], *, alone: bool) -> None:
    """Print the verdict on one file, and if it is broken the map, the places, the remedy."""
    picture = Picture()
    _verdict(picture, given, violations)
    if violations or alone:
        _map(picture, given, violations)
    _places(picture, given, violations)
    if violations and all(violation.mendable for violation in violations):
        name = given.name if given.name == STANDARD else shlex.quote(label(given.name))
        whose = "" if given.provider == given.dialect else f"--provider {given.provider} "
        command = f"holdfast repair {whose}{name} -o OUT"
        picture.line("\n  ", ("mend it: ", "dim"), (command, "bold"))
    if violations:
        picture.blank()


def show_repair(
    given: Input, mended: Sequence[Transcript], actions: Sequence[ActionRow], output: str
) -> None:
    """Print the map before and after, and what was done, rule by rule."""
    picture = Picture(stderr=output == STANDARD)
    where = "standard output" if output == STANDARD else label(output)
    what = f"{counted(len(actions), 'repair')} for {given.provider}" if actions else ""
    verdict = f"{what or 'nothing to mend'}; written to {where}"
    picture.line(picture.heading(given, "ok"), verdict)
    picture.warnings(given)
    if not actions:
        return
    if not given.holds_many:
        _before_and_after(picture, given, mended[0], actions)
    for rule, rows in _by_rule(actions):
        picture.paragraph("\n  ", (rule, "bold"), (f"  ×{len(rows):,}", "green"))
        lines = [
            ((where_text(row.index, row.line), "dim"), shortened(row.what))
            for row in rows[:SHOWN_ENTRIES]
        ]
        picture.table("rw", lines, indent=4)
        picture.more(len(rows))
    picture.blank()


def show_refusal(given: Input, violations: Sequence[ViolationRow]) -> None:
    """Print what cannot be mended without inventing content."""
    picture = Picture(stderr=True)
    verdict = f"{counted(len(violations), 'violation')} cannot be mended without inventing content"
    picture.line(picture.heading(given, "broken"), f"{verdict}; nothing was written")
    picture.warnings(given)
    _map(picture, given, violations)
    _places(picture, given, violations)
    picture.blank()


def show_profile(profile: Profile) -> None:
    """Print a provider's rules."""
    picture = Picture()
    picture.paragraph(
        (profile.name, "bold"), (f"  {profile.dialect}, as of {profile.dated}", "dim")
    )
    rows: list[tuple[Piece, Piece]] = []
    for rule in profile.rules:
        mends = f"repair {rule.mends}" if rule.mends else "repair refuses it"
        rows.append(((rule.name, "cyan"), text_of(rule.states, (f"\n{mends}", "dim"))))
    picture.table("lw", rows)
    picture.blank()


def _verdict(picture: Picture, given: Input, violations: Sequence[ViolationRow]) -> None:
    rules = counted(len({violation.rule for violation in violations}), "rule")
    verdict = f"{counted(len(violations), 'violation')} of {rules}" if violations else "valid"
    counts = counted(given.message_count, "message")
    if given.holds_many:
        broken = len({violation.record for violation in violations})
        counts = f"{counted(len(given.records), 'transcript')} ({broken:,} broken), {counts}"
    picture.line(
        picture.heading(given, "broken" if violations else "ok"),
        (verdict, "red" if violations else "green"),
        (f"  {given.provider}, {counts}", "dim"),
    )
    picture.warnings(given)


def _map(picture: Picture, given: Input, violations: Sequence[ViolationRow]) -> None:
    mark: Mark = ("▲" if picture.unicode else "^", "bold red", "broken here")
    if given.holds_many:
        marked = {row.record for row in violations if not isinstance(row.record, UnsetType)}
        cells: list[Cell] = [
            "broken" if number in marked else "fine" for number in range(len(given.records))
        ]
    else:
        marked = {violation.index for violation in violations if violation.index >= 0}
        cells = [cell_of(message) for message in given.transcripts[0].messages]
    picture.strip("", cells, marked, mark)
    picture.legend("", cells, [mark] if marked else [])


def _before_and_after(
    picture: Picture, given: Input, mended: Transcript, actions: Sequence[ActionRow]
) -> None:
    touched = {action.index for action in actions if action.index >= 0}
    new = {index for index, message in enumerate(mended.messages) if not message.intact}
    before: list[Cell] = [cell_of(message) for message in given.transcripts[0].messages]
    after: list[Cell] = [cell_of(message) for message in mended.messages]
    was: Mark = ("▲" if picture.unicode else "^", "bold red", "was broken")
    now: Mark = ("●" if picture.unicode else "*", "bold green", "changed or added")
    picture.strip("before ", before, touched, was)
    picture.strip("after  ", after, new, now)
    picture.legend("before ", [*before, *after], [was, now], len(before))


def _places(picture: Picture, given: Input, violations: Sequence[ViolationRow]) -> None:
    states = {rule.name: rule.states for one in reversed(given.profiles) for rule in one.rules}
    for rule, rows in _by_rule(violations):
        sentence = f"  {states[rule]}" if rule in states else ""
        picture.paragraph(
            "\n  ", (rule, "bold"), (f"  ×{len(rows):,}", "red"), (sentence, "dim")
        )  # fmt: skip
        picture.table("rpf", [
            ((where_text(row.index, row.line), "dim"), (row.path, "cyan"), shortened(row.message))
            for row in rows[:SHOWN_ENTRIES]
        ], indent=4)  # fmt: skip
        picture.more(len(rows))
        for remedy in islice(dict.fromkeys(row.remedy for row in rows), SHOWN_REMEDIES):
            picture.paragraph((f"{picture.arrow} {shortened(remedy)}", "green"), indent=4)


def _by_rule(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """Return the rows of each rule, the rules in the order in which they first appear."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.rule, []).append(row)
    return list(found.items())
