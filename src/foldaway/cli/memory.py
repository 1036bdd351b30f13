"""`foldaway memory`: what is remembered, in Markdown files with a history."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from foldaway.cli import CommandGroup, say
from foldaway.cli.files import (
    STANDARD,
    count_of,
    format_time,
    join_on_one_line,
    read_bytes,
    write_bytes,
)
from foldaway.cli.inputs import COUNT, JSON_ROW, options, print_json
from foldaway.cli.settings import CONFIG_ROW, HOME_ROW, home_of, settings_from
from foldaway.config import redaction_policy
from foldaway.errors import FoldawayError, MemoryConflict, NotWritable
from foldaway.memory import (
    Bounds,
    Change,
    MemoryEntry,
    MemoryFile,
    memory_files,
    memory_folder,
    to_bytes,
    to_text,
)
from foldaway.redaction import Redactor
from foldaway.search import clean
from foldaway.transcript import estimate_text


@click.group(cls=CommandGroup)
def memory() -> None:
    """List, add, edit, remove, search and restore what is remembered.

    What the agent learned is in MEMORY.md, who the user is in USER.md (--user). These are Markdown
    files in the data folder that any editor can change; an entry is a list item or a paragraph.

    \b
    foldaway memory list
    foldaway memory add "Prefers short answers" --user
    foldaway memory edit
    """


file_options = options(
    ("--user", bool, "Use USER.md, who the user is, instead of MEMORY.md."),
    HOME_ROW,
    ("--profile NAME", str, "Whose memory."),
    CONFIG_ROW,
    JSON_ROW,
)


def _memory_file(given: Mapping[str, Any]) -> MemoryFile:
    """Return the file that the options name, or raise; nothing is made."""
    settings = settings_from(given)
    folder = memory_folder(home_of(given), settings.profile)
    hide = Redactor(redaction_policy(settings))
    return memory_files(folder, Bounds(), redact=hide)["user" if given["user"] else "memory"]


def _row(file: MemoryFile, entry: MemoryEntry) -> dict[str, object]:
    """Return an entry as it is printed for programs."""
    return {"file": file.name, "id": entry.id, "text": entry.text}


def _print_change(file: MemoryFile, entry: MemoryEntry, change: str, *, as_json: bool) -> None:
    """Print an entry that was changed, and for people what was done."""
    if as_json:
        print_json(_row(file, entry))
    else:
        click.echo(f"{entry.id}: {change} {file.name}")


def _print_entry(entry: MemoryEntry) -> None:
    click.echo(f"{entry.id}  {join_on_one_line(entry.text)}")


@memory.command("list")
@file_options
def list_entries(as_json: bool, **given: Any) -> int:
    """List what is remembered, the oldest first.

    An entry is named by its id, which is made from its text. With --json there is one object:
    `path`, `entries`, and what of its size is used.

    \b
    foldaway memory list
    foldaway memory list --user --json
    """
    file = _memory_file(given)
    text, entries = file.text(), file.entries()
    if as_json:
        print_json(
            {
                "file": file.name,
                "path": str(file.path),
                "entries": [_row(file, entry) for entry in entries],
                "chars": len(text),
                "most_chars": file.limit.chars,
                "tokens": estimate_text(text),
                "most_tokens": file.limit.tokens,
            }
        )
        return 0
    for entry in entries:
        _print_entry(entry)
    used = f"{len(text):,} of {file.limit.chars:,} characters"
    click.echo(f"{file.path}: {used}" if entries else f"{file.path}: nothing is remembered yet")
    return 0


@memory.command()
@click.argument("words", nargs=-1, required=True, metavar="TEXT")
@file_options
def add(words: Sequence[str], as_json: bool, **given: Any) -> int:
    """Remember something.

    Secrets in it are hidden. `-` takes the text from standard input. An entry that exists
    already is not added again. If the file is full, the message says what could be removed.

    \b
    foldaway memory add The tests run with make test
    foldaway memory add "Lives in Lisbon" --user
    """
    text = " ".join(words)
    if text == STANDARD:
        text = read_bytes(STANDARD).decode("utf-8", "replace")
    file = _memory_file(given)
    _print_change(file, file.add(text, "cli"), "is in", as_json=as_json)
    return 0


@memory.command()
@file_options
def edit(as_json: bool, **given: Any) -> int:
    """Edit a memory file; what others write meanwhile is kept.

    $EDITOR (or $VISUAL) opens a copy. When it is closed, your changes go into the file entry by
    entry, together with what agents added meanwhile. If both changed the same entry, nothing is
    written: both texts are shown, yours is kept in a file next to it, and the exit code is 1.

    \b
    foldaway memory edit
    EDITOR=nano foldaway memory edit --user
    """
    file = _memory_file(given)
    before = file.text()
    folder = Path(tempfile.mkdtemp(prefix="foldaway-"))
    copy = folder / "memory.md"
    write_bytes(str(copy), to_bytes(before), private=True)
    try:
        click.edit(filename=str(copy))
    except click.ClickException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    edited = to_text(read_bytes(str(copy)))
    code = 0
    try:
        after = before if edited == before else file.take_edit(before, edited, "cli")
        _print_edit(file, changed=after != before, as_json=as_json)
    except MemoryConflict as conflict:
        code = _keep_edit(file, edited, conflict)
    except FoldawayError as error:
        return say(f"{error}; what you wrote is in {copy}")
    shutil.rmtree(folder, ignore_errors=True)
    return code


def _keep_edit(file: MemoryFile, edited: str, conflict: MemoryConflict) -> int:
    """Put what the user wrote beside the file, and show both."""
    path, number = file.path, 1
    while (beside := path.with_name(f"{path.stem}.conflict-{number}{path.suffix}")).exists():
        number += 1
    write_bytes(str(beside), to_bytes(file.redact(edited)), private=True)
    click.echo(f"yours:\n{clean(conflict.wanted) or '(taken out)'}\n", err=True)
    click.echo(f"theirs:\n{clean(conflict.found) or '(taken out)'}\n", err=True)
    return say(
        f"{conflict.name}: {conflict.entry!r} was changed by somebody else while you edited; "
        f"nothing was written, yours is in {beside}; take over what you want with `foldaway memory "
        "edit`",
        1,
    )


def _print_edit(file: MemoryFile, *, changed: bool, as_json: bool) -> None:
    text = file.text()
    if as_json:
        print_json({"file": file.name, "changed": changed, "entries": len(file.entries())})
    elif not changed:
        click.echo(f"{file.name}: nothing changed")
    else:
        most = f"; more than the {file.limit.chars:,} characters that agents may use"
        note = most if len(text) > file.limit.chars else ""
        click.echo(f"{file.name}: {count_of(len(file.entries()), 'entry', 'entries')}{note}")


@memory.command()
@click.argument("entry")
@file_options
def remove(entry: str, as_json: bool, **given: Any) -> int:
    """Forget an entry.

    ENTRY is its id, or a text that no other entry contains. It stays in the history.

    \b
    foldaway memory remove 3f2a9c01
    foldaway memory remove "lives in Lisbon" --user
    """
    file = _memory_file(given)
    _print_change(file, file.remove(entry, "cli"), "is no longer in", as_json=as_json)
    return 0


@memory.command()
@click.argument("words", nargs=-1, required=True, metavar="QUERY")
@options(("--most N", COUNT, "How many to print.", 10))
@file_options
def search(words: Sequence[str], most: int, as_json: bool, **given: Any) -> int:
    """Find entries by their words.

    Words, "phrases", prefix*, -without; any text is a query. The best comes first. The exit
    code is 1 if nothing is found.

    \b
    foldaway memory search tests
    foldaway memory search '"make test"' --json
    """
    file = _memory_file(given)
    found = file.search(" ".join(words), most)
    for entry in found:
        if as_json:
            print_json(_row(file, entry))
        else:
            _print_entry(entry)
    if not found and not as_json:
        click.echo(f"no entry of {file.name} matches", err=True)
    return 0 if found else 1


@memory.command()
@options(("--most N", COUNT, "How many of the newest to print.", 20))
@file_options
def history(most: int, as_json: bool, **given: Any) -> int:
    """Show every version: when, by whom, what changed.

    The newest comes last. `tool` is an agent, `cli` a command, `editor` everything else that wrote
    the file. `restore` puts a version back by its number.

    \b
    foldaway memory history
    foldaway memory history --user --most 100 --json
    """
    file = _memory_file(given)
    with suppress(NotWritable):  # what there is can still be read
        file.notice("cli")
    changes = file.history()
    for change in changes[-most:]:
        _print_version(change, as_json=as_json)
    if not changes and not as_json:
        click.echo(f"{file.name} has no versions yet", err=True)
    return 0


def _print_version(change: Change, *, as_json: bool) -> None:
    version = change.version
    if as_json:
        print_json(
            {
                "version": version.number,
                "time": version.time,
                "who": version.who,
                "what": version.what,
                "added": list(change.added),
                "removed": list(change.removed),
            }
        )
        return
    click.echo(f"{version.number}  {format_time(version.time)}  {version.who}  {version.what}")
    for sign, texts in (("-", change.removed), ("+", change.added)):
        for text in texts:
            click.echo(f"    {sign} {join_on_one_line(text)}")


@memory.command()
@click.argument("version", type=COUNT)
@file_options
def restore(version: int, as_json: bool, **given: Any) -> int:
    """Put a version back.

    It becomes the newest; what was there stays in the history. Secrets that an editor had written
    are not kept in versions, so they do not come back.

    \b
    foldaway memory restore 3
    foldaway memory restore 3 --user
    """
    file = _memory_file(given)
    file.restore(version, "cli")
    if as_json:
        print_json({"file": file.name, "restored": version, "entries": len(file.entries())})
    else:
        click.echo(f"{file.name} is version {version} again")
    return 0
