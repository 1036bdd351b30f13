"""`holdfast undo`: a transcript as it was before it was compressed."""

from __future__ import annotations

import os

import click

from holdfast.cli import say
from holdfast.cli.archive import SUFFIX, load_originals
from holdfast.cli.files import (
    STANDARD,
    check_writable,
    label,
    mode_of,
    packed,
    read_bytes,
    remove,
    write_bytes,
)
from holdfast.cli.inputs import input_limits
from holdfast.dialects.document import read_document
from holdfast.engine.originals import Generation, Undone, write_originals
from holdfast.engine.originals import undo as undo_newest
from holdfast.errors import CannotUndo, NotReadable


@click.command()
@click.argument("out", type=click.Path())
@click.option("-o", "--output", type=click.Path(allow_dash=True), metavar="FILE",
              help="Where to write; OUT itself where it is not named.")  # fmt: skip
@click.option("--originals", type=click.Path(), metavar="FILE",
              help="Its originals; OUT.originals.jsonl where it is not named.")  # fmt: skip
def undo(out: str, output: str | None, originals: str | None) -> int:
    """Give back a transcript as it was before it was compressed.

    The newest compression is taken back, and leaves the originals; the file goes with the last
    one. Messages that were appended since stay at the end. Where OUT was edited otherwise, nothing
    is written and the exit code is 2. With -o, OUT and its originals stay as they are.

    \b
    holdfast undo small.json
    holdfast undo small.json -o session.json
    """
    held = originals or f"{out}{SUFFIX}"
    target = output or out
    check_writable(target)
    try:
        limits = input_limits()
        now = read_document(read_bytes(out, limits), limits=limits).source
    except NotReadable as error:
        return say(f"{label(out)}: {error}")
    if originals is None and not os.path.exists(held):
        return say(f"{label(out)}: there is nothing to undo; no {label(held)} is beside it, name "
                   f"its originals with --originals")  # fmt: skip
    try:
        undone = undo_newest(load_originals(held), now)
    except CannotUndo as error:
        return say(f"{label(out)}: {error}")
    write_bytes(target, packed(target, undone.text), mode=mode_of(held))
    if _same(target, out):
        _keep(held, undone.generations)
    elif target != STANDARD and undone.generations:
        _keep(f"{target}{SUFFIX}", undone.generations)
    _tell(target, undone)
    return 0


def _same(name: str, other: str) -> bool:
    return name != STANDARD and os.path.realpath(name) == os.path.realpath(other)


def _keep(name: str, generations: tuple[Generation, ...]) -> None:
    if generations:
        write_bytes(name, write_originals(generations), private=True)
    else:
        remove(name)


def _tell(target: str, undone: Undone) -> None:
    where = "standard output" if target == STANDARD else label(target)
    kept = f", with {undone.appended:,} messages appended since" if undone.appended else ""
    left = len(undone.generations)
    more = f"; {left:,} earlier can be undone" if left else ""
    click.echo(f"as it was before the compression{kept}: {where}{more}", err=target == STANDARD)
