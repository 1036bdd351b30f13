"""`foldaway check`, `foldaway repair` and `foldaway rules`: a provider's rules and who breaks them.

Pictures show ids, roles and paths; what was said they never show.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TypeVar

import click
from msgspec import Struct, UnsetType

from foldaway._core import log_event
from foldaway.cli.conversation import read_input
from foldaway.cli.draw import Cell, Mark, Picture, Piece, cell_of, text_of
from foldaway.cli.files import (
    SHOWN_ENTRIES,
    STANDARD,
    check_writable,
    count_of,
    label,
    output_label,
    shorten,
)
from foldaway.cli.inputs import (
    FILE,
    PROVIDER,
    Input,
    Located,
    json_option,
    locate,
    output_option,
    print_json,
    reading,
    reading_options,
    refuse_contradiction,
    report_unreadable,
)
from foldaway.dialects import PROFILES, Action, Profile, check_transcript, repair_transcript
from foldaway.errors import CannotRepair, NotReadable
from foldaway.transcript import Transcript, Violation

SHOWN_REMEDIES = 3
"""Different remedies of one rule that are shown; a rule has few."""


Broken = TypeVar("Broken", Violation, Action)
"""What names a rule."""


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@reading_options
def check(files: tuple[str, ...], provider: str | None, dialect: str | None, as_json: bool) -> int:
    """Check transcripts against a provider's rules.

    FILE is a session of an agent that `foldaway import` knows, JSON (a message list or a request
    body), JSON lines (a message or a transcript per line), gzip of these, a folder, or a stored
    session by its id, the beginning or end of it, its title, or `last`; - is standard input. All
    commands that take a conversation read it so. Lines of an agent's file that belong to one answer
    count as one. All files are checked; the worst one decides the exit code: 0 valid, 1 rules are
    broken, 2 not readable. `foldaway rules` lists the rules.

    \b
    foldaway check session.json
    foldaway check --provider strict sessions/*.jsonl.gz
    foldaway check --json - < request.json
    """
    refuse_contradiction(provider, dialect)
    codes: list[int] = []
    for name in files:
        try:
            given = read_input(name, provider, dialect, any_roles=True)
            violations = _violations(given)
        except NotReadable as error:
            codes.append(report_unreadable(name, error, as_json=as_json))
            continue
        if as_json:
            print_json(
                {
                    "file": given.name,
                    "valid": not violations,
                    "dialect": given.dialect,
                    "provider": given.provider,
                    "transcripts": len(given.records),
                    "messages": given.message_count,
                    "violations": [one.row() for one in violations],
                    "warnings": given.document.warnings,
                }
            )
        else:
            show_check(given, violations, alone=len(files) == 1)
        codes.append(1 if violations else 0)
    return max(codes)


def _violations(given: Input) -> list[Located[Violation]]:
    """Return the violations of all transcripts of a file, in the order of the file."""
    pairs = zip(given.transcripts, given.profiles, strict=True)
    return [
        one
        for number, (transcript, profile) in enumerate(pairs)
        for one in locate(given, number, check_transcript(transcript, profile))
    ]


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
    foldaway repair session.json -o mended.json
    foldaway repair --provider strict session.jsonl.gz -o mended.jsonl.gz
    foldaway repair - < request.json > mended.json
    """
    refuse_contradiction(provider, dialect)
    check_writable(output)
    to_stderr = output == STANDARD
    with reading(file, as_json=as_json, err=to_stderr):
        given = read_input(file, provider, dialect, any_roles=True)
        done = _repair(given)
    refused = bool(done.hopeless)
    same = done.text == given.document.source
    if not refused:
        given.write(output, done.text)
    if as_json:
        print_json(
            {
                "file": given.name,
                "output": None if refused else output,
                "dialect": given.dialect,
                "provider": given.provider,
                "changed": not refused and not same,
                "actions": [one.row() for one in done.actions],
                "violations": [one.row() for one in done.hopeless],
                "warnings": given.document.warnings,
            },
            err=to_stderr,
        )
    elif refused:
        show_refusal(given, done.hopeless)
    else:
        show_repair(given, done.mended, done.actions, output)
    return 1 if refused else 0


class _Repaired(Struct, frozen=True):
    """The repaired transcripts and their text, what was done, and what cannot be repaired."""

    mended: tuple[Transcript, ...] = ()
    text: bytes = b""
    actions: Sequence[Located[Action]] = ()
    hopeless: Sequence[Located[Violation]] = ()


def _repair(given: Input) -> _Repaired:
    mended: list[Transcript] = []
    actions: list[Located[Action]] = []
    hopeless: list[Located[Violation]] = []
    pairs = zip(given.transcripts, given.profiles, strict=True)
    for number, (transcript, profile) in enumerate(pairs):
        try:
            whole, taken = repair_transcript(transcript, profile)
        except CannotRepair as error:
            log_event("repair.failed", violations=len(error.violations), dialect=transcript.dialect)
            hopeless += locate(given, number, error.violations)
            continue
        mended.append(whole)
        if taken:
            log_event("repair.done", repairs=len(taken), dialect=transcript.dialect)
        actions += locate(given, number, taken)
    if hopeless:
        return _Repaired(hopeless=hopeless)
    return _Repaired(tuple(mended), given.document.write(mended), actions)


@click.command()
@click.argument("provider", required=False, type=PROVIDER, metavar="[PROVIDER]")
@json_option
def rules(provider: str | None, as_json: bool) -> int:
    """List the rules of the providers.

    \b
    foldaway rules
    foldaway rules anthropic
    """
    for profile in [PROFILES[provider]] if provider else PROFILES.values():
        if as_json:
            rows = [
                {
                    "name": rule.name,
                    "states": rule.states,
                    "mendable": rule.mend is not None,
                    "mends": rule.mends,
                }
                for rule in profile.rules
            ]
            print_json(
                {
                    "provider": profile.name,
                    "dialect": profile.dialect,
                    "dated": profile.dated,
                    "rules": rows,
                }
            )
        else:
            show_profile(profile)
    return 0


def show_check(given: Input, violations: Sequence[Located[Violation]], *, alone: bool) -> None:
    """Print the verdict on one file, and if it is broken the map, the places, the remedy."""
    picture = Picture()
    _verdict(picture, given, violations)
    if violations or alone:
        _map(picture, given, violations)
    _places(picture, given, violations)
    if violations and all(one.value.mendable for one in violations):
        name = given.name if given.name == STANDARD else shlex.quote(label(given.name))
        whose = "" if given.provider == given.dialect else f"--provider {given.provider} "
        command = f"foldaway repair {whose}{name} -o OUT"
        picture.line("\n  ", ("repair it: ", "dim"), (command, "bold"))
    if violations:
        picture.blank()


def show_repair(
    given: Input, mended: Sequence[Transcript], actions: Sequence[Located[Action]], output: str
) -> None:
    """Print the map before and after, and what was done, rule by rule."""
    picture = Picture(stderr=output == STANDARD)
    what = f"{count_of(len(actions), 'repair')} for {given.provider}" if actions else ""
    verdict = f"{what or 'nothing to repair'}; written to {output_label(output)}"
    picture.line(picture.heading(given, "ok"), verdict)
    picture.warnings(given)
    if not actions:
        return
    if not given.holds_many:
        _draw_before_and_after(picture, given, mended[0], actions)
    for rule, rows in _group_by_rule(actions):
        picture.paragraph("\n  ", (rule, "bold"), (f"  ×{len(rows):,}", "green"))
        lines = [((row.where, "dim"), shorten(row.value.what)) for row in rows[:SHOWN_ENTRIES]]
        picture.table("rw", lines, indent=4)
        picture.more(len(rows))
    picture.blank()


def show_refusal(given: Input, violations: Sequence[Located[Violation]]) -> None:
    """Print what cannot be repaired without inventing content."""
    picture = Picture(stderr=True)
    verdict = (
        f"{count_of(len(violations), 'violation')} cannot be repaired without inventing content"
    )
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


def _verdict(picture: Picture, given: Input, violations: Sequence[Located[Violation]]) -> None:
    rules = count_of(len({one.value.rule for one in violations}), "rule")
    verdict = f"{count_of(len(violations), 'violation')} of {rules}" if violations else "valid"
    counts = count_of(given.message_count, "message")
    if given.holds_many:
        broken = len({one.place.record for one in violations})
        counts = f"{count_of(len(given.records), 'transcript')} ({broken:,} broken), {counts}"
    picture.line(
        picture.heading(given, "broken" if violations else "ok"),
        (verdict, "red" if violations else "green"),
        (f"  {given.provider}, {counts}", "dim"),
    )
    picture.warnings(given)


def _map(picture: Picture, given: Input, violations: Sequence[Located[Violation]]) -> None:
    mark: Mark = ("▲" if picture.unicode else "^", "bold red", "broken here")
    if given.holds_many:
        records = [one.place.record for one in violations]
        marked = {record for record in records if not isinstance(record, UnsetType)}
        cells: list[Cell] = [
            "broken" if number in marked else "fine" for number in range(len(given.records))
        ]
    else:
        marked = {one.value.index for one in violations if one.value.index >= 0}
        cells = [cell_of(message) for message in given.transcripts[0].messages]
    picture.strip("", cells, marked, mark)
    picture.legend("", cells, [mark] if marked else [])


def _draw_before_and_after(
    picture: Picture, given: Input, mended: Transcript, actions: Sequence[Located[Action]]
) -> None:
    touched = {one.value.index for one in actions if one.value.index >= 0}
    new = {index for index, message in enumerate(mended.messages) if not message.intact}
    before: list[Cell] = [cell_of(message) for message in given.transcripts[0].messages]
    after: list[Cell] = [cell_of(message) for message in mended.messages]
    was: Mark = ("▲" if picture.unicode else "^", "bold red", "was broken")
    now: Mark = ("●" if picture.unicode else "*", "bold green", "changed or added")
    picture.strip("before ", before, touched, was)
    picture.strip("after  ", after, new, now)
    picture.legend("before ", [*before, *after], [was, now], len(before))


def _places(picture: Picture, given: Input, violations: Sequence[Located[Violation]]) -> None:
    states = {rule.name: rule.states for one in reversed(given.profiles) for rule in one.rules}
    for rule, rows in _group_by_rule(violations):
        sentence = f"  {states[rule]}" if rule in states else ""
        picture.blank()
        heading = ((rule, "bold"), (f"  ×{len(rows):,}", "red"), (sentence, "dim"))
        picture.paragraph(*heading, indent=2)
        picture.table(
            "rpf",
            [
                ((row.where, "dim"), (row.value.path, "cyan"), shorten(row.value.message))
                for row in rows[:SHOWN_ENTRIES]
            ],
            indent=4,
        )
        picture.more(len(rows))
        for remedy in islice(dict.fromkeys(row.value.remedy for row in rows), SHOWN_REMEDIES):
            picture.paragraph((f"{picture.arrow} {shorten(remedy)}", "green"), indent=4)


def _group_by_rule(rows: Iterable[Located[Broken]]) -> list[tuple[str, list[Located[Broken]]]]:
    """Return the rows of each rule, the rules in the order in which they first appear."""
    found: dict[str, list[Located[Broken]]] = {}
    for row in rows:
        found.setdefault(row.value.rule, []).append(row)
    return list(found.items())
