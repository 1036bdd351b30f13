"""`foldaway config`: the settings in effect, and the folders that are trusted to set them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, cast

import click

from foldaway.cli import CommandGroup, say
from foldaway.cli.draw import Picture
from foldaway.cli.files import count_of, label, make_plain, shorten, write_bytes
from foldaway.cli.inputs import PATH, confirm, json_option, options, print_json
from foldaway.cli.settings import config_option, settings_from
from foldaway.config import (
    FILE_NAME,
    Settings,
    State,
    Whose,
    list_settings,
    read_settings,
    review_folder,
    sample_file,
    settings_schema,
    trust_folder,
    untrust_folder,
    user_file,
)

_SECRETS = re.compile(r"(?<=://)[^@/\s]*@|\?.*$")
"""Who logs in at an address, and its parameters, which may contain a password."""
WHOSE: Mapping[Whose, str] = {
    "named": "named by you",
    "own": "your own",
    "folder": "of this folder",
}
STATES: Mapping[State, str] = {
    "applied": "all of it applies",
    "trusted": "all of it applies, because you trust it",
    "restricted": "applies in part",
    "changed": "applies in part: it has changed since you trusted it",
    "broken": "ignored: it cannot be read",
}
_DEFAULT = "default"
"""The origin of a setting that nobody has given."""


@click.group(cls=CommandGroup)
def config() -> None:
    """Show, write and check settings, and trust those of a folder.

    The foldaway.toml of the current folder may tune compaction. It may set an address, a command,
    a store, a key or a package only if you trust it.

    \b
    foldaway config show
    foldaway config init
    foldaway config check
    foldaway config trust .
    """


@config.command()
@options(("--all everything", bool, "Also show settings at their defaults."))
@config_option
@json_option
def show(everything: bool, as_json: bool, **given: Any) -> int:
    """Show the settings in effect, where they come from, and what was ignored.

    Passwords in addresses and the options of an external memory are not shown. JSON has all
    settings.

    \b
    foldaway config show
    foldaway config show --all
    foldaway config show --json
    """
    settings = settings_from(given)
    rows = _rows(settings)
    if as_json:
        values = {name: {"value": value, "origin": origin} for name, value, origin in rows}
        warnings = settings.warnings
        print_json({"files": settings.files, "settings": values, "warnings": warnings})
    else:
        show_settings(settings, rows, everything=everything)
    return 0


def _rows(settings: Settings) -> list[tuple[str, object, str]]:
    """Return every setting with its value and its origin, tables of memories after the rest."""
    return [
        (name, _without_secrets(value), origin or _DEFAULT)
        for name, value, origin in list_settings(settings)
    ]


def _without_secrets(value: object) -> object:
    """Return a setting as it is shown: no password of an address, no value of a memory's option."""
    if isinstance(value, str):
        return without_password(value)
    if isinstance(value, list):
        return [_without_secrets(one) for one in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    table = cast("dict[str, object]", value)
    if all(isinstance(one, int) for one in table.values()):  # limits by tool
        return table
    return dict.fromkeys(sorted(table), "…")


def without_password(address: str) -> str:
    """Return an address without who logs in and without parameters."""
    return _SECRETS.sub("", address) if "://" in address else address


def _toml_text(value: object) -> str:
    """Return a value of TOML nearly as a file has it; a date is a text."""
    return make_plain(json.dumps(value, default=str, ensure_ascii=False))


def show_settings(
    settings: Settings, rows: list[tuple[str, object, str]], *, everything: bool
) -> None:
    """Print the files that were read, then the settings with their origins."""
    picture = Picture()
    for file in settings.files:
        state = f"{file.name}  {WHOSE[file.whose]}, {STATES[file.state]}"
        picture.line((make_plain(state), "bold"))
        for one in file.ignored:
            what = f"{one.key}: {one.why}" if one.key else one.why
            picture.line((f"  ignored {what}", "yellow"))
    shown = [row for row in rows if everything or row[2] != _DEFAULT]
    lines: list[list[tuple[str, str]]] = []
    for name, value, origin in shown:
        style = "dim" if origin == _DEFAULT else ""
        place = origin.removesuffix(f": {name}")
        cells = (name, shorten(_toml_text(value)), shorten(place))
        lines.append([(cell, style) for cell in cells])
    picture.table("lff", lines, min_width=max((len(name) for name, *_ in shown), default=0))
    if len(shown) < len(rows):
        count = len(rows) - len(shown)
        picture.line((f"  {count} settings have their defaults; --all shows them", "dim"))


@config.command()
@options(("-o --output FILE", PATH, "Where to write it instead of your own settings file."))
def init(output: str | None) -> int:
    """Write a settings file with every setting and its default, to be filled in.

    Nothing in it is set. A file that exists is not replaced.

    \b
    foldaway config init
    foldaway config init -o foldaway.toml
    """
    name = output or user_file(os.environ)
    if os.path.lexists(name):
        return say(f"{label(name)} exists already; nothing was written", 1)
    os.makedirs(os.path.dirname(os.path.abspath(name)), mode=0o700, exist_ok=True)
    write_bytes(name, sample_file().encode())
    click.echo(f"written to {label(name)}; check it with `foldaway config check`")
    return 0


@config.command()
@click.argument("file", required=False, type=PATH)
@json_option
def check(file: str | None, as_json: bool) -> int:
    """Check the settings, or one settings file.

    The exit code is 2 if a setting is unknown or out of its range, and 1 if something is ignored.

    \b
    foldaway config check
    foldaway config check foldaway.toml
    """
    settings = read_settings(file)
    if as_json:
        print_json({"files": settings.files, "warnings": settings.warnings})
    else:
        for warning in settings.warnings:
            click.echo(f"ignored: {warning}")
        names = ", ".join(label(one.name) for one in settings.files) or "no settings file"
        given = len(settings.origins)
        click.echo(f"{names}: {count_of(given, 'setting')} given, {len(settings.warnings)} ignored")
    return 1 if settings.warnings else 0


@config.command()
def schema() -> int:
    """Print the JSON Schema of a settings file, for editors.

    \b
    foldaway config schema > foldaway.schema.json
    """
    click.echo(json.dumps(settings_schema(), indent=1))
    return 0


@config.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@options(("--yes", bool, "Do not ask."))
def trust(folder: str, yes: bool) -> int:
    """Let the foldaway.toml of a folder set everything, as long as it does not change.

    Shows what the file sets beyond what every folder may set, and asks. The trust is for the real
    path of DIR and the content of the file: after any change, trust it again.

    \b
    foldaway config trust .
    """
    data, refused = review_folder(folder)
    name = make_plain(os.path.join(os.path.realpath(folder), FILE_NAME))
    if not refused:
        click.echo(f"{name} sets nothing that needs your trust; all of it applies already")
        return 0
    click.echo(f"{name} sets:")
    for key, value in refused.items():
        click.echo(f"  {make_plain(key)} = {_toml_text(value)}")
    question = "Let it set them, with your keys and in your name?"
    remedy = "nothing was trusted; check the list and give --yes"
    if not yes and not confirm(question, remedy):
        return say("nothing was trusted", 1)
    trust_folder(folder, data)
    click.echo("trusted, until the file changes")
    return 0


@config.command()
@click.argument("folder", metavar="DIR", type=click.Path())
def untrust(folder: str) -> int:
    """Stop trusting the foldaway.toml of a folder.

    The folder need not exist any more.

    \b
    foldaway config untrust .
    """
    if not untrust_folder(folder):
        return say("that folder was not trusted; nothing was changed", 1)
    click.echo("not trusted any more")
    return 0
