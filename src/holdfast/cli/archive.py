"""The originals file as commands read it."""

from __future__ import annotations

from holdfast.cli.files import label, read_bytes
from holdfast.engine.originals import Generation, read_originals
from holdfast.errors import NotReadable

SUFFIX = ".originals.jsonl"
"""What is added to the name of an output for the file with its originals."""


def load_originals(name: str) -> tuple[Generation, ...]:
    """Return the generations in a file, or raise `NotReadable` with its name."""
    try:
        return read_originals(read_bytes(name))
    except NotReadable as error:
        raise error.at(label(name)) from None
