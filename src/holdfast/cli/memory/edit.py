"""`holdfast memory edit`: a memory file in an editor."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import click

from holdfast.cli import say
from holdfast.cli.draw import counted
from holdfast.cli.files import read_bytes, write_bytes
from holdfast.cli.memory.target import chosen, file_options, print_json
from holdfast.errors import HoldfastError, MemoryConflict
from holdfast.memory.files.history import to_bytes, to_text
from holdfast.memory.files.memory_file import MemoryFile
from holdfast.search.text import clean


@click.command("edit")
@file_options
def command(as_json: bool, **options: Any) -> int:
    """Edit a memory file; what others write meanwhile is kept.

    $EDITOR (or $VISUAL) opens a copy. When it is closed, your changes go into the file entry by
    entry, together with what agents added meanwhile. Where both changed the same entry nothing is
    written: both texts are shown, yours stays in a file beside it, and the exit code is 1.

    \b
    holdfast memory edit
    EDITOR=nano holdfast memory edit --user
    """
    file = chosen(options)
    before = file.text()
    folder = Path(tempfile.mkdtemp(prefix="holdfast-"))
    copy = folder / "memory.md"
    write_bytes(str(copy), to_bytes(before), private=True)
    try:
        click.edit(filename=str(copy))
    except click.ClickException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    edited = to_text(read_bytes(str(copy)))
    try:
        after = before if edited == before else file.take_edit(before, edited, "cli")
        code = _tell(file, changed=after != before, as_json=as_json)
    except MemoryConflict as conflict:
        code = _keep(file, edited, conflict)
    except HoldfastError as error:
        return say(f"{error}; what you wrote is in {copy}")
    shutil.rmtree(folder, ignore_errors=True)
    return code


def _keep(file: MemoryFile, edited: str, conflict: MemoryConflict) -> int:
    """Put what the user wrote beside the file, and show both."""
    beside = _free(file.path)
    write_bytes(str(beside), to_bytes(file.redact(edited)), private=True)
    click.echo(f"yours:\n{clean(conflict.wanted) or '(taken out)'}\n", err=True)
    click.echo(f"theirs:\n{clean(conflict.found) or '(taken out)'}\n", err=True)
    return say(
        f"{conflict.name}: {conflict.entry!r} was changed by somebody else while you edited; "
        f"nothing was written, yours is in {beside}; take over what you want with `holdfast memory "
        "edit`",
        1,
    )


def _free(path: Path) -> Path:
    number = 1
    while (beside := path.with_name(f"{path.stem}.conflict-{number}{path.suffix}")).exists():
        number += 1
    return beside


def _tell(file: MemoryFile, *, changed: bool, as_json: bool) -> int:
    text = file.text()
    if as_json:
        print_json({"file": file.name, "changed": changed, "entries": len(file.entries())})
    elif not changed:
        click.echo(f"{file.name}: nothing changed")
    else:
        entries = counted(len(file.entries()), "entry", "entries")
        over = len(text) > file.limit.chars
        note = (
            f"; more than the {file.limit.chars:,} characters that agents may use" if over else ""
        )
        click.echo(f"{file.name}: {entries}{note}")
    return 0
