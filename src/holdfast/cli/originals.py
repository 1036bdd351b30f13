"""`holdfast recall` and `holdfast undo`: what a compression replaced, byte for byte."""

from __future__ import annotations

import os
from typing import Any

import click

from holdfast.cli import say
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
from holdfast.cli.inputs import FILE, PATH, input_limits, json_option, options, print_json
from holdfast.cli.stores import opened, store_options
from holdfast.dialects.document import read_document
from holdfast.dialects.jsontext import parse
from holdfast.engine.originals import Generation, read_originals, write_originals
from holdfast.engine.originals import recall as recall_from
from holdfast.engine.originals import undo as undo_newest
from holdfast.errors import CannotUndo, NotReadable, UnknownReference

SUFFIX = ".originals.jsonl"
"""What is added to the name of an output for the file with its originals."""


def load_originals(name: str) -> tuple[Generation, ...]:
    """Return the generations in a file, or raise `NotReadable` with its name."""
    try:
        return read_originals(read_bytes(name))
    except NotReadable as error:
        raise error.at(label(name)) from None


@click.command()
@click.argument("reference", metavar="REF")
@options(
    ("--originals", FILE, "FILE",
     "Look in the file that compress wrote beside its output, and in no session."),
    ("--session", str, "ID", "Only what this session gave out.", ""),
)  # fmt: skip
@store_options
@json_option
def recall(
    reference: str, originals: str | None, session: str, as_json: bool, **given: Any
) -> int:  # fmt: skip
    """Print the originals behind a reference.

    REF is a reference such as hf-0123456789 that a digest or summary names. Every message is
    printed byte for byte as it is kept, or with --originals as it stood in the file that was
    compressed, and then a line break. With --json it is one object: the reference, where it leads
    in which session, and `messages`. A reference that is not known gives one sentence and exit
    code 2.

    \b
    holdfast recall hf-0123456789
    holdfast recall hf-0123456789 --originals small.json.originals.jsonl
    """
    where: dict[str, Any] = {}
    if originals is None:
        where, found = _from_store(reference, session, given)
    else:
        found = recall_from(reference, load_originals(originals))
    if as_json:
        print_json({"reference": reference, **where, "messages": [parse(one) for one in found]})
    else:
        write_bytes(STANDARD, b"".join(piece + b"\n" for piece in found))
    return 0


def _from_store(
    reference: str, session: str, given: dict[str, Any]
) -> tuple[dict[str, Any], list[bytes]]:
    with opened(given, "read") as store:
        session_id = store.find(session).id if session else ""
        place = next(iter(store.places(reference, session_id=session_id)), None)
        if place is None:
            raise UnknownReference(reference)
        start, stop = place.reference.positions
        found = [row.body for row in store.read(place.session_id, start, stop)]
    return {"session": place.session_id, "positions": [start, stop]}, found


@click.command()
@click.argument("out", type=PATH)
@click.option(
    "-o", "--output", type=FILE, metavar="FILE",
    help="Where to write; OUT itself where it is not named.",
)  # fmt: skip
@options(
    ("--originals", PATH, "FILE", "Its originals; OUT.originals.jsonl where it is not named.")
)  # fmt: skip
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
    if target != STANDARD and os.path.realpath(target) == os.path.realpath(out):
        _keep(held, undone.generations)
    elif target != STANDARD and undone.generations:
        _keep(f"{target}{SUFFIX}", undone.generations)
    where = "standard output" if target == STANDARD else label(target)
    kept = f", with {undone.appended:,} messages appended since" if undone.appended else ""
    left = len(undone.generations)
    more = f"; {left:,} earlier can be undone" if left else ""
    click.echo(f"as it was before the compression{kept}: {where}{more}", err=target == STANDARD)
    return 0


def _keep(name: str, generations: tuple[Generation, ...]) -> None:
    if generations:
        write_bytes(name, write_originals(generations), private=True)
    else:
        remove(name)
