"""The originals file as commands read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from holdfast.cli.files import label, read_bytes
from holdfast.engine.originals import Generation, read_originals
from holdfast.errors import NotReadable

F = TypeVar("F", bound=Callable[..., Any])

SUFFIX = ".originals.jsonl"
"""What is added to the name of an output for the file with its originals."""


def originals_option(command: F) -> F:
    """Add a required `--originals` to a command."""
    return click.option(
        "--originals", type=click.Path(allow_dash=True), required=True, metavar="FILE",
        help="The file that compress wrote beside its output.",
    )(command)  # fmt: skip


def load_originals(name: str) -> tuple[Generation, ...]:
    """Return the generations in a file, or raise `NotReadable` with its name."""
    try:
        return read_originals(read_bytes(name))
    except NotReadable as error:
        raise error.at(label(name)) from None
