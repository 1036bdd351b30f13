"""Programs that we install ourselves into: where their settings are, and what is ours there."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct, convert

from foldaway.errors import UnknownName

Form: TypeAlias = Literal["json", "toml", "yaml", "whole"]
"""How a settings file is written; `whole` is a file of ours alone."""
Deed: TypeAlias = Literal["facts", "dropped", "shorten", "import"]
"""What a hook does: give a compaction the facts of the session, give the agent those that a summary
dropped, shorten a result, or only import the session."""
Answering: TypeAlias = Literal["text", "context", "output", "file", "nothing"]
"""How a hook answers: with plain text, with JSON that has a context or a result, or by writing the
file of messages that the user named to the agent."""
_GIVEN_ON = {
    "FOLDAWAY_CONFIG": "--config", "FOLDAWAY_HOME": "--home", "FOLDAWAY_PROFILE": "--profile",
}  # fmt: skip
"""Variables that a program may not hand on to its servers, and the options that say the same."""
NAME = "foldaway"
"""The key of our entry."""
PACKAGE = "foldaway-agents"
"""The npm package with the plug-ins; every file of it names it."""
COMMAND_FILE = "foldaway.json"
"""Next to the files of a plug-in: the command that it starts."""


class SettingsPlace(Struct, frozen=True, kw_only=True):
    """A settings file, and the variable that names another folder for it."""

    file: str
    variable: str = ""
    depth: int = 1
    """How many of the first parts of the path the variable stands for."""

    def settings_file(self, environment: Mapping[str, str]) -> Path:
        """Return where it is; the file need not exist."""
        named = environment.get(self.variable, "") if self.variable else ""
        if not named:
            return _place(self.file, environment)
        # the variable stands for the program's own folder in the home folder
        parts = Path(self.file.removeprefix("~/")).parts
        return Path(named, *(parts[self.depth :] or parts))


class AgentHook(Struct, frozen=True, kw_only=True):
    """What is done at an event of an agent, and how it is answered."""

    does: Deed
    says: Answering = "nothing"
    matcher: str = ""
    late: bool = False

    @property
    def imports(self) -> bool:
        """Whether the session is imported too."""
        return self.does in ("facts", "import")


class AgentHooks(SettingsPlace, frozen=True, kw_only=True):
    """The hooks of an agent, by event."""

    entry: dict[str, Any]
    grouped: bool = True
    keys: dict[str, str] = {}
    own: dict[str, Any] | None = None
    transcript: str = ""
    message: str = ""
    sign: str = ""
    trust: tuple[str, ...] = ()
    events: dict[str, AgentHook]


class OtherSetting(SettingsPlace, frozen=True, kw_only=True):
    """A setting that only one agent has."""

    what: str
    form: Form
    path: tuple[str, ...] = ()
    value: Any
    instead: Any = None
    is_item: bool = False
    is_program: bool = False


class AgentPlugin(SettingsPlace, frozen=True, kw_only=True):
    """A folder with files of the package foldaway-agents, and how they start us."""

    files: tuple[str, ...]

    def additions(self, environment: Mapping[str, str], command: Sequence[str]) -> list[Addition]:
        """Return its files."""
        folder = self.settings_file(environment)
        told = json.dumps({"package": PACKAGE, "command": list(command)}, indent=2)
        texts = {name: package_file(name).read_text("utf-8") for name in self.files}
        return [
            Addition(what="plug-in", file=folder / name, form="whole", value=text, is_optional=True,
                     is_copy=name in self.files)
            for name, text in {**texts, COMMAND_FILE: f"{told}\n"}.items()
        ]  # fmt: skip


class Addition(Struct, frozen=True, kw_only=True):
    """One thing of ours in a settings file."""

    what: str
    """For people."""
    file: Path
    form: Form
    path: tuple[str, ...] = ()
    value: Any
    instead: Any = None
    """What it may replace: the program's own default, if that is written out."""
    is_item: bool = False
    """Whether it is one more element of a list."""
    is_optional: bool = False
    """Whether it is left out if the user has something else there."""
    is_program: bool = False
    """Whether a file of ours can be started."""
    is_copy: bool = False
    """Whether it is a file of the package foldaway-agents."""


class Client(SettingsPlace, frozen=True, kw_only=True):
    """One program; `programs.toml` says what the fields mean."""

    name: str
    title: str
    form: Form
    mark: str = ""
    program: str = ""
    prompt: tuple[str, ...] | None = None
    section: tuple[str, ...] = ()
    entry: dict[str, Any] = {}
    anywhere: bool = False
    mcp: bool = True
    hooks: AgentHooks | None = None
    settings: tuple[OtherSetting, ...] = ()
    plugin: AgentPlugin | None = None
    gains: tuple[str, ...] = ()
    note: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        """The keys under which our entry is."""
        return (*self.section, NAME)

    def is_here(self, environment: Mapping[str, str]) -> bool:
        """Return whether the program seems to be on this machine."""
        file = self.settings_file(environment)
        mark = _place(self.mark, environment) if self.mark else file.parent
        named = bool(self.variable and environment.get(self.variable))
        on_path = self.program and shutil.which(self.program, path=environment.get("PATH", ""))
        return file.exists() or mark.exists() or named or bool(on_path)

    def hook_of(self, event: str) -> AgentHook | None:
        """Return what is done at an event, None for nothing."""
        return None if self.hooks is None else self.hooks.events.get(event)

    def transcript_of(self, session: str, environment: Mapping[str, str]) -> str:
        """Return the file of a session, "" if it is not known where that is."""
        if self.hooks is None or not self.hooks.transcript or session != os.path.basename(session):
            return ""
        file = self.hooks.transcript.replace("{session}", session)
        place = SettingsPlace(file=file, variable=self.hooks.variable)
        return str(place.settings_file(environment))

    def message_file(self, environment: Mapping[str, str]) -> str:
        """Return the file that the agent reads before each request; "" if the user named none."""
        return environment.get(self.hooks.message, "") if self.hooks and self.hooks.message else ""

    def server_additions(
        self, environment: Mapping[str, str], *, all_projects: bool = False
    ) -> list[Addition]:
        """Return the entry of our MCP server; none if the program takes no servers."""
        if not self.entry:
            return []
        command, args = own_command(environment, "mcp")
        if self.anywhere or all_projects:
            args = [*args, "--all-projects"]
        given = {"{command}": command, "{args}": args, "{argv}": [command, *args]}
        return [Addition(
            what="MCP server", file=self.settings_file(environment), form=self.form, path=self.path,
            value=_filled(self.entry, given),
        )]  # fmt: skip

    def additions(
        self, environment: Mapping[str, str], options: Sequence[str] = (), *, shortens: bool = True
    ) -> list[Addition]:
        """Return everything of ours; `options` are those of `foldaway hook`."""
        found = self.server_additions(environment)
        line = shlex.join(_flat(own_command(environment, "hook", self.name, *options)))
        status = shlex.join(_flat(own_command(environment, "statusline")))
        if self.hooks is not None and self.hooks.file:
            found += self._hook_additions(
                self.hooks, line, environment, shortens=shortens, redacts="--redact" in options
            )
        for one in self.settings:
            found.append(Addition(
                what=one.what, file=one.settings_file(environment), form=one.form, path=one.path,
                value=_filled(one.value, {"{hook}": line, "{statusline}": status}),
                instead=one.instead, is_item=one.is_item, is_optional=True,
                is_program=one.is_program,
            ))  # fmt: skip
        if self.plugin is not None:
            command = _flat(own_command(environment, "follow", self.name))
            found += self.plugin.additions(environment, command)
        return found

    def _hook_additions(
        self, hooks: AgentHooks, line: str, environment: Mapping[str, str], *, shortens: bool,
        redacts: bool,
    ) -> list[Addition]:  # fmt: skip
        """Return a list element for each event, or the whole of a file of ours."""
        file, values = hooks.settings_file(environment), dict[str, Any]()
        for event, hook in hooks.events.items():
            if hook.does == "shorten" and not shortens:
                continue
            if hook.says == "file" and not self.message_file(environment):
                continue
            value = _filled(hooks.entry, {"{hook}": line, "{event}": event})
            matcher = "" if redacts and hook.does == "shorten" else hook.matcher
            group = {"matcher": matcher} if matcher else {}
            values[event] = {**group, "hooks": [value]} if hooks.grouped else value
        if hooks.own is None:
            return [
                Addition(
                    what=f"hook {event}", file=file, form="json", path=("hooks", event),
                    value=value, is_item=True,
                )
                for event, value in values.items()
            ]  # fmt: skip
        table = {**hooks.own, "hooks": {event: [value] for event, value in values.items()}}
        text = json.dumps(table, indent=2, ensure_ascii=False)
        return [Addition(what="hooks", file=file, form="whole", value=f"{text}\n")]


def package_file(name: str) -> Path:
    """Return where a file of the npm package is: with the wheel, or in a checkout."""
    installed = Path(__file__).with_name(PACKAGE)
    checkout = Path(__file__).parents[4] / "packages" / PACKAGE
    return (installed if installed.is_dir() else checkout) / name


def _flat(command: tuple[str, list[str]]) -> list[str]:
    return [command[0], *command[1]]


def _filled(value: Any, given: Mapping[str, Any]) -> Any:
    """Return a value of the table with what it names in braces replaced."""
    if isinstance(value, dict):
        table = cast("Mapping[str, Any]", value)
        return {key: _filled(one, given) for key, one in table.items()}
    if isinstance(value, list):
        return [_filled(one, given) for one in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    if value in given:
        return given[value]
    for name, text in given.items():
        if isinstance(text, str):
            value = value.replace(name, text)
    return value


@cache
def clients() -> Mapping[str, Client]:
    """Return the table, by name."""
    # importlib.resources takes longer to import than a hook has for its whole table
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return {name: convert({"name": name, **row}, Client) for name, row in table.items()}


def client_named(name: str) -> Client:
    """Return a client; raises `UnknownName`."""
    known = clients()
    if name not in known:
        raise UnknownName("client", name, list(known))
    return known[name]


def opening_clients() -> Mapping[str, Client]:
    """Return the clients that open a session with a prompt, by their command and by their name."""
    able = [client for client in clients().values() if client.prompt is not None]
    return {name: client for client in able for name in (client.program, client.name)}


def own_command(environment: Mapping[str, str], *called: str) -> tuple[str, list[str]]:
    """Return how a program that knows nothing of our environment starts a command of ours.

    A copy in the cache of uvx is gone some day, so uvx is asked for a new one.
    """
    command, first = _own_program(environment)
    given = [
        part
        for name, option in _GIVEN_ON.items()
        if environment.get(name)
        for part in (option, environment[name])
    ]
    return command, [*first, *called, *([] if called[0] == "statusline" else given)]


def _own_program(environment: Mapping[str, str]) -> tuple[str, list[str]]:
    uvx = shutil.which("uvx", path=environment.get("PATH", ""))
    if uvx and f"{os.sep}uv{os.sep}archive-v" in sys.prefix:
        return uvx, ["--from", "foldaway[mcp]", "foldaway"]
    places = [Path(sys.executable).parent]
    user = sysconfig.get_preferred_scheme("user")
    if Path(__file__).is_relative_to(sysconfig.get_path("purelib", user)):
        places.append(Path(sysconfig.get_path("scripts", user)))
    for script in (place / "foldaway" for place in places):
        if script.exists():
            return str(script), []
    # without -P a file of the folder that an agent works in could take the place of a package
    return sys.executable, ["-P", "-m", "foldaway"]


def _place(text: str, environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME") or os.path.expanduser("~")
    config = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    support = f"{home}/Library/Application Support" if sys.platform == "darwin" else config
    data = environment.get("XDG_DATA_HOME") or f"{home}/.local/share"
    found = text.replace("{config}", config).replace("{support}", support).replace("{data}", data)
    if "{documents}" in found:
        found = found.replace("{documents}", _documents(home, config, environment))
    return Path(home + found[1:]) if found.startswith("~/") else Path(found)


def _documents(home: str, config: str, environment: Mapping[str, str]) -> str:
    """Return the folder for documents: what `xdg-user-dir DOCUMENTS` prints if that is here."""
    if not shutil.which("xdg-user-dir", path=environment.get("PATH", "")):
        return f"{home}/Documents"
    with suppress(OSError, UnicodeDecodeError):
        text = Path(config, "user-dirs.dirs").read_text("utf-8")
        for line in text.splitlines():
            name, _, value = line.strip().partition("=")
            if name == "XDG_DOCUMENTS_DIR":
                return value.strip('"').replace("$HOME", home)
    return home
