"""`foldaway diff` and `undo`: what a compaction did to a file or a stored session, and back."""

from __future__ import annotations

import os
from typing import Any

import click

from foldaway.cli import say
from foldaway.cli.conversation import is_path, read_input
from foldaway.cli.draw import Picture
from foldaway.cli.files import STANDARD, check_writable, label, output_label, write_output
from foldaway.cli.inputs import (
    FILE,
    PATH,
    Input,
    dialect_option,
    json_option,
    options,
    print_json,
    reading,
    usage_error,
)
from foldaway.cli.inspect import show_comparison
from foldaway.cli.originals import SUFFIX, keep_originals, undo_newest_of
from foldaway.cli.sessions.compact import diff_session, undo_session
from foldaway.cli.stores import store_options
from foldaway.dialects import Document
from foldaway.engine import compare, difference
from foldaway.errors import NotReadable
from foldaway.facts import recognize


@click.command()
@click.argument("before", type=FILE, metavar="FILE|SESSION")
@click.argument("after", type=FILE, required=False, metavar="[AFTER]")
@options(
    (
        "--views A B",
        (click.IntRange(min=0), click.IntRange(min=0)),
        "Two views of a session by their numbers; 0 is the log as it is.",
    )
)
@dialect_option
@store_options
@json_option
def diff(
    before: str, after: str | None, dialect: str | None, views: tuple[int, int] | None, **given: Any
) -> int:
    """Show what a compaction did to every message.

    Of a stored session, its last compaction, or the step from one view to another (`foldaway
    sessions show` lists the views); the exit code is 1 if there was none. Of a file, its last
    compaction, from the originals beside it. Of two files, what was done from the first to the
    second, which have one transcript each, of the same dialect.

    Kept messages have the same payload; rewritten ones are recognized by their ids, first or last
    words; the others were folded or added. Tokens are estimates.

    \b
    foldaway diff 20260131-1200
    foldaway diff 20260131-1200 --views 0 2
    foldaway diff small.json
    foldaway diff session.json small.json
    """
    if after is None and not is_path(before):
        return diff_session(before, views, given)
    as_json = given["as_json"]
    if views is not None:
        raise usage_error("--views is for a stored session")
    if before == STANDARD and after in (None, STANDARD):
        raise usage_error("Only one of the two can be standard input")
    with reading(after or before, as_json=as_json):
        now = _read_one(after or before, dialect)
    if after is None:
        text, _left, _appended = undo_newest_of(before)
        old = Document.read(text, dialect=dialect).records[0].transcript
    else:
        with reading(before, as_json=as_json):
            old = _read_one(before, dialect).transcripts[0]
    new, after = now.transcripts[0], after or before
    if old.dialect != new.dialect:
        return say(
            f"{label(before)} is {old.dialect} and {label(after)} is {new.dialect}; convert one of "
            "them first, or name both with --dialect"
        )
    made = difference(recognize(old.messages), recognize(new.messages))
    comparison = compare((before, after), (old, new), made)
    if as_json:
        print_json(comparison)
    else:
        picture = Picture()
        show_comparison(picture, [picture.heading(now, "ok")], comparison, made)
    return 0


def _read_one(name: str, dialect: str | None) -> Input:
    given = read_input(name, None, dialect)
    if len(given.records) > 1:
        raise NotReadable(
            f"holds {len(given.records):,} transcripts", remedy="give files with one each"
        )
    return given


@click.command()
@click.argument("file", type=PATH, metavar="FILE|SESSION")
@options(
    ("-o --output OUT", FILE, "Where to write; FILE itself by default."),
    ("--originals FILE", PATH, "Its originals; FILE.originals.jsonl by default."),
)
@store_options
@json_option
def undo(file: str, output: str | None, originals: str | None, **given: Any) -> int:
    """Restore a transcript or session as it was before its last compaction.

    What was appended since stays at the end. Several compactions are undone one after the other.

    The compaction of a file is also removed from its originals, which are deleted with the last
    one. If the file was edited in another way, nothing is written and the exit code is 2. With -o,
    the file and its originals stay as they are.

    \b
    foldaway undo small.json
    foldaway undo small.json -o session.json
    foldaway undo 20260131-1200
    """
    if not is_path(file) and output is None and originals is None:
        return undo_session(file, given)
    return _undo_file(file, output, originals, as_json=given["as_json"])


def _undo_file(file: str, output: str | None, originals: str | None, *, as_json: bool) -> int:
    held, target = originals or f"{file}{SUFFIX}", output or file
    check_writable(target)
    text, generations, appended = undo_newest_of(file, originals)
    write_output(target, text, held)
    if target != STANDARD and os.path.realpath(target) == os.path.realpath(file):
        keep_originals(held, generations)
    elif target != STANDARD and generations:
        keep_originals(f"{target}{SUFFIX}", generations)
    kept = f", with {appended:,} messages appended since" if appended else ""
    where, left = output_label(target), len(generations)
    to_stderr = target == STANDARD
    if as_json:
        row = {"file": file, "output": target, "appended": appended, "left": left}
        print_json(row, err=to_stderr)
        return 0
    more = f"; {left:,} earlier can be undone" if left else ""
    click.echo(f"restored as it was before the compaction{kept}: {where}{more}", err=to_stderr)
    return 0
