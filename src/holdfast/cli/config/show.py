"""`holdfast config show`: the settings in effect, and where they come from."""

from __future__ import annotations

from typing import Any

import click
from msgspec import to_builtins
from rich.table import Table
from rich.text import Text

from holdfast.cli.config.draw import STATES, WHOSE, as_text, printable, without_secrets
from holdfast.cli.draw import console_for, indented, shortened
from holdfast.cli.inputs import json_option
from holdfast.cli.settings import config_option, settings_from
from holdfast.config import SECTIONS, Settings, value_of
from holdfast.dialects.jsontext import dump

_DEFAULT = "default"


@click.command("show")
@click.option("--all", "everything", is_flag=True, help="Also show settings at their defaults.")
@config_option
@json_option
def command(everything: bool, as_json: bool, **options: Any) -> int:
    """Show the settings in effect, where they come from, and what was ignored.

    Passwords in addresses and the options of an external memory are not shown. JSON has all
    settings.

    \b
    holdfast config show
    holdfast config show --all
    holdfast config show --json
    """
    settings = settings_from(options)
    rows = _rows(settings)
    if as_json:
        click.echo(dump({
            "files": to_builtins(settings.files),
            "settings": {
                name: {"value": value, "origin": origin} for name, value, origin in rows
            },
            "warnings": list(settings.warnings),
        }))  # fmt: skip
        return 0
    console = console_for()
    for file in settings.files:
        told = f"{file.name}  {WHOSE[file.whose]}, {STATES[file.state]}"
        console.print(Text(printable(told), "bold"), soft_wrap=True)
        for one in file.ignored:
            what = f"{one.key}: {one.why}" if one.key else one.why
            console.print(Text(f"  ignored {what}", "yellow"), soft_wrap=True)
    shown = [row for row in rows if everything or row[2] != _DEFAULT]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, min_width=max((len(name) for name, *_ in shown), default=0))
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold")
    for name, value, origin in shown:
        style = "dim" if origin == _DEFAULT else ""
        place = origin.removesuffix(f": {name}")
        grid.add_row(name, shortened(as_text(value)), shortened(place), style=style)
    console.print(indented(grid, 2))
    if len(shown) < len(rows):
        left = f"  {len(rows) - len(shown)} settings have their defaults; --all shows them"
        console.print(Text(left, "dim"), soft_wrap=True)
    return 0


def _rows(settings: Settings) -> list[tuple[str, Any, str]]:
    """Return every setting with its value and its origin, tables of memories after the rest."""
    names = [f"{section}.{key}" for section, keys in SECTIONS.items() for key in keys]
    names += [name for name in settings.origins if name not in names]
    return [
        (name, without_secrets(value_of(settings, name)), settings.origins.get(name, _DEFAULT))
        for name in names
    ]
