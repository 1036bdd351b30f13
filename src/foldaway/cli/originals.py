"""The file of originals that a compaction writes beside its output."""

from __future__ import annotations

import os

from foldaway.cli.files import label, read_bytes, remove, write_bytes
from foldaway.cli.inputs import input_limits
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


def undo_newest_of(
    file: str, originals: str | None = None
) -> tuple[bytes, tuple[Generation, ...], int]:
    """Return a file as it was before its last compaction, the generations that are left, and how
    many messages were appended since; raise if there was no compaction.
    """
    held = originals or f"{file}{SUFFIX}"
    limits = input_limits()
    try:
        now = Document.read(read_bytes(file, limits), limits=limits).source
    except NotReadable as error:
        raise error.at(label(file)) from None
    if originals is None and not os.path.exists(held):
        raise NotReadable(
            f"no compaction to go back to: no {label(held)} is next to it",
            where=label(file),
            remedy="name its originals with --originals",
        )
    try:
        undone = undo_newest(load_originals(held), now)
    except CannotUndo as error:
        raise CannotUndo(f"{label(file)}: {error.what}", error.remedy) from None
    return undone.text, undone.generations, undone.appended


def keep_originals(name: str, generations: tuple[Generation, ...]) -> None:
    """Write what is left of the originals; without any, remove their file."""
    if generations:
        write_bytes(name, write_originals(generations), private=True)
    else:
        remove(name)
