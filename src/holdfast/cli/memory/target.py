"""The options that name a memory file, and the file; entries as `--json` prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from holdfast.cli.draw import shortened
from holdfast.cli.inputs import json_option
from holdfast.cli.settings import config_option, settings_from
from holdfast.config import home_folder, redaction_policy
from holdfast.dialects.jsontext import dump
from holdfast.memory.files.entries import Entry
from holdfast.memory.files.memory_file import MemoryFile
from holdfast.memory.files.provider import Bounds, memory_files, memory_folder
from holdfast.redaction import Redactor

F = TypeVar("F", bound=Callable[..., Any])


def file_options(command: F) -> F:
    """Add `--user`, `--home`, `--profile`, `--config` and `--json` to a command."""
    command = config_option(json_option(command))
    for flag, metavar, text in (
        ("--profile", "NAME", "Whose memory."),
        ("--home", "DIR", "Where Holdfast keeps everything; HOLDFAST_HOME otherwise."),
    ):
        command = click.option(flag, metavar=metavar, help=text)(command)
    return click.option(
        "--user", is_flag=True, help="USER.md, who the user is; MEMORY.md otherwise."
    )(command)


def chosen(options: Mapping[str, Any]) -> MemoryFile:
    """Return the file that the options name, or raise; nothing is made."""
    home = Path(options["home"]) if options["home"] else home_folder()
    settings = settings_from(options)
    folder = memory_folder(home, settings.profile)
    hide = Redactor(redaction_policy(settings))
    return memory_files(folder, Bounds(), redact=hide)["user" if options["user"] else "memory"]


def print_json(value: dict[str, Any]) -> None:
    """Print one line of JSON."""
    click.echo(dump(value))


def row_of(file: MemoryFile, entry: Entry) -> dict[str, Any]:
    """Return an entry as it is printed for programs."""
    return {"file": file.name, "id": entry.id, "text": entry.text}


def print_done(file: MemoryFile, entry: Entry, told: str, *, as_json: bool) -> None:
    """Print an entry that was changed, and for people what was done."""
    if as_json:
        print_json(row_of(file, entry))
    else:
        click.echo(f"{entry.id}: {told} {file.name}")


def print_entry(entry: Entry) -> None:
    """Print an entry on a line of its own."""
    click.echo(f"{entry.id}  {shortened(' '.join(entry.text.split()))}")
