"""What is ours in the settings of other programs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from foldaway.agents.known import AgentPlugin, Form, HooksSection, KnownAgent, known_agents

_GIVEN_ON = {
    "FOLDAWAY_CONFIG": "--config",
    "FOLDAWAY_HOME": "--home",
    "FOLDAWAY_PROFILE": "--profile",
}
"""Variables that a program may not hand on to its servers, and the options that say the same."""
NAME = "foldaway"
"""The key of our entry."""
PACKAGE = "foldaway-agents"
"""The npm package with the plug-ins; every file of it names it."""
COMMAND_FILE = "foldaway.json"
"""Next to the files of a plug-in: the command that it starts."""


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


def list_server_additions(
    agent: KnownAgent, environment: Mapping[str, str], *, all_projects: bool = False
) -> list[Addition]:
    """Return the entry of our MCP server; none if the program takes no servers."""
    install = agent.install
    if not install.entry:
        return []
    command, *args = own_command(environment, "mcp")
    if install.anywhere or all_projects:
        args = [*args, "--all-projects"]
    given = {"{command}": command, "{args}": args, "{argv}": [command, *args]}
    return [
        Addition(
            what="MCP server",
            file=install.path(environment),
            form=install.form,
            path=(*install.section, NAME),
            value=_fill(install.entry, given),
        )
    ]


def list_additions(
    agent: KnownAgent,
    environment: Mapping[str, str],
    options: Sequence[str] = (),
    *,
    shortens: bool = True,
) -> list[Addition]:
    """Return everything of ours in a program; `options` are those of `foldaway hook`."""
    found = list_server_additions(agent, environment)
    line = shlex.join(own_command(environment, "hook", agent.name, *options))
    status = shlex.join(own_command(environment, "statusline"))
    if agent.hooks.file:
        found += _hook_additions(
            agent.hooks, line, environment, shortens=shortens, redacts="--redact" in options
        )
    for one in agent.install.settings:
        found.append(
            Addition(
                what=one.what,
                file=one.path(environment),
                form=one.form,
                path=one.keys,
                value=_fill(one.value, {"{hook}": line, "{statusline}": status}),
                instead=one.instead,
                is_item=one.is_item,
                is_optional=True,
                is_program=one.is_program,
            )
        )
    plugin = agent.install.plugin
    if plugin is not None:
        command = own_command(environment, "follow", agent.name)
        found += _plugin_additions(plugin, command, environment)
    return found


def _hook_additions(
    hooks: HooksSection, line: str, environment: Mapping[str, str], *, shortens: bool, redacts: bool
) -> list[Addition]:
    """Return a list element for each event, or the whole of a file of ours."""
    file, values = hooks.path(environment), dict[str, Any]()
    for event, hook in hooks.events.items():
        if hook.does == "shorten" and not shortens:
            continue
        if hook.says == "file" and not hooks.message_file(environment):
            continue
        value = _fill(hooks.entry, {"{hook}": line, "{event}": event})
        matcher = "" if redacts and hook.does == "shorten" else hook.matcher
        group = {"matcher": matcher} if matcher else {}
        values[event] = {**group, "hooks": [value]} if hooks.grouped else value
    if hooks.own is None:
        return [
            Addition(
                what=f"hook {event}",
                file=file,
                form="json",
                path=("hooks", event),
                value=value,
                is_item=True,
            )
            for event, value in values.items()
        ]
    table = {**hooks.own, "hooks": {event: [value] for event, value in values.items()}}
    text = json.dumps(table, indent=2, ensure_ascii=False)
    return [Addition(what="hooks", file=file, form="whole", value=f"{text}\n")]


def _plugin_additions(
    plugin: AgentPlugin, command: Sequence[str], environment: Mapping[str, str]
) -> list[Addition]:
    """Return the files of a plug-in, and the one that says how it starts us."""
    folder = plugin.path(environment)
    told = json.dumps({"package": PACKAGE, "command": list(command)}, indent=2)
    texts = {name: package_file(name).read_text("utf-8") for name in plugin.files}
    return [
        Addition(
            what="plug-in",
            file=folder / name,
            form="whole",
            value=text,
            is_optional=True,
            is_copy=name in plugin.files,
        )
        for name, text in {**texts, COMMAND_FILE: f"{told}\n"}.items()
    ]


def package_file(name: str) -> Path:
    """Return where a file of the npm package is: with the wheel, or in a checkout."""
    installed = Path(__file__).with_name(PACKAGE)
    checkout = Path(__file__).parents[4] / "packages" / PACKAGE
    return (installed if installed.is_dir() else checkout) / name


def _fill(value: Any, given: Mapping[str, Any]) -> Any:
    """Return a value of the table with what it names in braces replaced."""
    if isinstance(value, dict):
        table = cast("Mapping[str, Any]", value)
        return {key: _fill(one, given) for key, one in table.items()}
    if isinstance(value, list):
        return [_fill(one, given) for one in cast("list[Any]", value)]
    if not isinstance(value, str):
        return value
    if value in given:
        return given[value]
    for name, text in given.items():
        if isinstance(text, str):
            value = value.replace(name, text)
    return value


def clients() -> Mapping[str, KnownAgent]:
    """Return the programs that we install ourselves into, by name."""
    return {name: agent for name, agent in known_agents().items() if agent.install.file}


def own_command(environment: Mapping[str, str], *called: str) -> list[str]:
    """Return how a program that knows nothing of our environment starts a command of ours.

    A copy in the cache of uvx is gone some day, so uvx is asked for a new one.
    """
    given = [
        part
        for name, option in _GIVEN_ON.items()
        if environment.get(name)
        for part in (option, environment[name])
    ]
    return [*_own_program(environment), *called, *([] if called[0] == "statusline" else given)]


def _own_program(environment: Mapping[str, str]) -> list[str]:
    uvx = shutil.which("uvx", path=environment.get("PATH", ""))
    if uvx and f"{os.sep}uv{os.sep}archive-v" in sys.prefix:
        return [uvx, "--from", "foldaway[mcp]", "foldaway"]
    places = [Path(sys.executable).parent]
    user = sysconfig.get_preferred_scheme("user")
    if Path(__file__).is_relative_to(sysconfig.get_path("purelib", user)):
        places.append(Path(sysconfig.get_path("scripts", user)))
    for script in (place / "foldaway" for place in places):
        if script.exists():
            return [str(script)]
    # without -P a file of the folder that an agent works in could take the place of a package
    return [sys.executable, "-P", "-m", "foldaway"]
