"""What the commands on trajectories share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def sources_argument(command: F) -> F:
    """Add the files and folders that hold records."""
    return click.argument("sources", nargs=-1, required=True, type=click.Path(), metavar="SRC...")(
        command
    )


def tokenizer_option(command: F) -> F:
    """Add `--tokenizer`."""
    return click.option(
        "--tokenizer", default="", metavar="T",
        help="Who counts: a tokenizer.json, or a model or vocabulary that tiktoken knows; our own "
        "estimate where it is not named.",
    )(command)  # fmt: skip
