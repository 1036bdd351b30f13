"""`foldaway undo`, and the file of originals that a compression writes."""

from __future__ import annotations

import os

import click

from foldaway.cli import say
from foldaway.cli.files import (
    STANDARD,
    check_writable,
    label,
    output_label,
    read_bytes,
    remove,
    write_bytes,
    write_output,
)
from foldaway.cli.inputs import FILE, PATH, input_limits, options
from foldaway.dialects import Document
from foldaway.engine import Generation, read_originals, write_originals
from foldaway.engine import undo as undo_newest
from foldaway.errors import CannotUndo, NotReadable

SUFFIX = ".originals.jsonl"
"""What is added to the name of an output for the file with its originals."""


def load_originals(name: str) -> tuple[Generation, ...]:
    """Return the generations in a file, or raise `NotReadable` with its name."""
    try:
        return read_originals(read_bytes(name))
    except NotReadable as error:
        raise error.at(label(name)) from None


@click.command()
@click.argument("out", type=PATH)
@options(
    ("-o --output FILE", FILE, "Where to write; OUT itself by default."),
    ("--originals FILE", PATH, "Its originals; OUT.originals.jsonl by default."),
)
def undo(out: str, output: str | None, originals: str | None) -> int:
    """Restore a transcript as it was before it was compressed.

    The newest compression is undone and removed from the originals file, which is deleted with the
    last one. Messages that were appended since stay at the end. If OUT was edited in another way,
    nothing is written and the exit code is 2. With -o, OUT and its originals stay as they are.

    \b
    foldaway undo small.json
    foldaway undo small.json -o session.json
    """
    held = originals or f"{out}{SUFFIX}"
    target = output or out
    check_writable(target)
    try:
        limits = input_limits()
        now = Document.read(read_bytes(out, limits), limits=limits).source
    except NotReadable as error:
        return say(f"{label(out)}: {error}")
    if originals is None and not os.path.exists(held):
        return say(
            f"{label(out)}: there is nothing to undo; no {label(held)} is next to it, name "
            f"its originals with --originals"
        )
    try:
        undone = undo_newest(load_originals(held), now)
    except CannotUndo as error:
        return say(f"{label(out)}: {error}")
    write_output(target, undone.text, held)
    if target != STANDARD and os.path.realpath(target) == os.path.realpath(out):
        _keep(held, undone.generations)
    elif target != STANDARD and undone.generations:
        _keep(f"{target}{SUFFIX}", undone.generations)
    kept = f", with {undone.appended:,} messages appended since" if undone.appended else ""
    where, left = output_label(target), len(undone.generations)
    more = f"; {left:,} earlier can be undone" if left else ""
    click.echo(
        f"restored as it was before the compression{kept}: {where}{more}", err=target == STANDARD
    )
    return 0


def _keep(name: str, generations: tuple[Generation, ...]) -> None:
    if generations:
        write_bytes(name, write_originals(generations), private=True)
    else:
        remove(name)
