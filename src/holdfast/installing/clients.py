"""Programs that start MCP servers: where their settings are, and our entry there."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct, convert

from holdfast.errors import UnknownName

Form: TypeAlias = Literal["json", "toml", "yaml"]
_GIVEN_ON = {
    "HOLDFAST_CONFIG": "--config", "HOLDFAST_HOME": "--home", "HOLDFAST_PROFILE": "--profile",
}  # fmt: skip
"""Variables that a program may not hand on to its servers, and the options that say the same."""
NAME = "holdfast"
"""The key of our entry."""


class Client(Struct, frozen=True, kw_only=True):
    """One program; `clients.toml` says what the fields mean."""

    name: str
    title: str
    form: Form
    file: str
    variable: str = ""
    mark: str = ""
    program: str = ""
    section: tuple[str, ...]
    entry: dict[str, Any]
    anywhere: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """The keys under which our entry is."""
        return (*self.section, NAME)

    def settings_file(self, environment: Mapping[str, str]) -> Path:
        """Return where its settings are; the file need not exist."""
        usual = _place(self.file, environment)
        named = environment.get(self.variable, "") if self.variable else ""
        return Path(named) / usual.name if named else usual

    def is_here(self, environment: Mapping[str, str]) -> bool:
        """Return whether the program seems to be on this machine."""
        file = self.settings_file(environment)
        mark = _place(self.mark, environment) if self.mark else file.parent
        named = bool(self.variable and environment.get(self.variable))
        on_path = self.program and shutil.which(self.program, path=environment.get("PATH", ""))
        return file.exists() or mark.exists() or named or bool(on_path)

    def entry_for(self, command: str, args: list[str]) -> dict[str, Any]:
        """Return our entry for a command."""
        given = {"{command}": command, "{args}": args, "{argv}": [command, *args]}
        return {
            key: given.get(value, value) if isinstance(value, str) else value
            for key, value in self.entry.items()
        }


@cache
def clients() -> Mapping[str, Client]:
    """Return the table, by name."""
    table = tomllib.loads(files("holdfast.installing").joinpath("clients.toml").read_text("utf-8"))
    return {name: convert({"name": name, **row}, Client) for name, row in table.items()}


def client_named(name: str) -> Client:
    """Return a client; raises `UnknownName`."""
    known = clients()
    if name not in known:
        raise UnknownName("client", name, list(known))
    return known[name]


def server_command(environment: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return how a program that knows nothing of our environment starts the server.

    A copy in the cache of uvx is gone some day, so uvx is asked for a new one.
    """
    command, first = _own_command(environment)
    given = [
        part
        for name, option in _GIVEN_ON.items()
        if environment.get(name)
        for part in (option, environment[name])
    ]
    return command, [*first, "mcp", *given]


def _own_command(environment: Mapping[str, str]) -> tuple[str, list[str]]:
    uvx = shutil.which("uvx", path=environment.get("PATH", ""))
    if uvx and f"{os.sep}uv{os.sep}archive-v" in sys.prefix:
        return uvx, ["--from", "holdfast[mcp]", "holdfast"]
    beside = Path(sys.executable).parent / "holdfast"
    if beside.exists():
        return str(beside), []
    return sys.executable, ["-m", "holdfast"]


def _place(text: str, environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME") or os.path.expanduser("~")
    config = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    support = f"{home}/Library/Application Support" if sys.platform == "darwin" else config
    found = text.replace("{config}", config).replace("{support}", support)
    return Path(home + found[1:]) if found.startswith("~/") else Path(found)
