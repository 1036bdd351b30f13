"""Whether what is installed works: the commands in the settings files, called as agents do."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from foldaway._core import __version__
from foldaway.agents.installing.changes import entry_of, settings_at
from foldaway.agents.installing.programs import COMMAND_FILE, Addition
from foldaway.agents.known import KnownAgent
from foldaway.errors import FoldawayError

_SECONDS = 60.0
"""How long a command may take; a server starts in one or two, on a busy machine in many."""
_RULE = "Never edit production.toml."
"""What a session says that a hook is tried with."""
_SESSION = (
    {
        "type": "user",
        "uuid": "u0",
        "sessionId": "check",
        "cwd": "/",
        "message": {"role": "user", "content": f"Say hello. {_RULE}"},
    },
    {
        "type": "assistant",
        "uuid": "u1",
        "parentUuid": "u0",
        "sessionId": "check",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
    },
)
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "foldaway doctor", "version": __version__},
    },
}


def problems_of(
    client: KnownAgent, installed: Sequence[Addition], environment: Mapping[str, str]
) -> Iterator[str]:
    """Yield what does not work of what is installed; nothing is written anywhere.

    Of the hooks the one is called that only reads; all have the same command.
    """
    for one in installed:
        try:
            yield from _problems_with(client, one, environment)
        except FoldawayError as error:
            yield str(error)
        except subprocess.TimeoutExpired as slow:
            waited = f"it did not answer within {slow.timeout:.0f} s"
            yield f"{client.title}: its {one.what} is slow: {waited}; is this machine busy?"
    yield from _trust_problems(client, installed, environment)


def _problems_with(
    client: KnownAgent, one: Addition, environment: Mapping[str, str]
) -> Iterator[str]:
    there = entry_of(one)
    if _runs_module_of_folder(there if isinstance(there, str) else json.dumps(there)):
        what = f"its {one.what} starts Python with -m and without -P"
        yield _install_again(client, f"{what}, which runs files of the project folder")
    elif one.what == "MCP server":
        yield from _server_problems(client, one, there, environment)
    elif one.what == "hooks":
        for event, groups in json.loads(there)["hooks"].items():
            yield from _hook_problems(client, event, groups, environment)
    elif one.what == "plug-in" and one.file.name == COMMAND_FILE:
        yield from _plugin_problems(client, there, environment)
    elif one.what == "context engine":
        yield from _engine_problems(client, environment)
    elif one.is_item and one.form == "json":
        yield from _hook_problems(client, one.path[-1], there, environment)


def _install_again(client: KnownAgent, what: str) -> str:
    return f"{client.title}: {what}; run `foldaway install {client.name}` again"


def _runs_module_of_folder(text: str) -> bool:
    """Return whether a command of ours looks for packages in the folder that it is called in."""
    words = re.findall(r"[^\s\"',\[\]]+", text)
    return any(
        words[at : at + 2] == ["-m", "foldaway"] and words[at - 1] not in ("-P", "-I")
        for at in range(1, len(words))
    )


def _hook_problems(
    client: KnownAgent, event: str, there: Any, environment: Mapping[str, str]
) -> Iterator[str]:
    hook = client.hooks.events.get(event)
    if hook is None or hook.does != "dropped":
        return
    line = next(_commands(there), "")
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "check.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in _SESSION), encoding="utf-8")
        told = {
            "hook_event_name": event,
            "source": "compact",
            "session_id": "check",
            "transcript_path": str(file),
            "cwd": place,
        }
        said = _output(["sh", "-c", line], json.dumps(told), environment)
    if _RULE not in said:
        yield _install_again(client, f"its hooks do not answer ({line})")


def _trust_problems(
    client: KnownAgent, installed: Sequence[Addition], environment: Mapping[str, str]
) -> Iterator[str]:
    """Yield that nobody told an agent yet that it may run our hooks.

    Whether they are still the same as then only the agent can tell.
    """
    hooks = [one.file for one in installed if one.is_item]
    if not client.hooks.trust or not hooks:
        return
    noted = settings_at(client.install.path(environment), client.install.form, client.hooks.trust)
    trusted = cast("dict[str, Any]", noted) if isinstance(noted, dict) else {}
    if not any(key.startswith(f"{hooks[0]}:") for key in trusted):
        yield (
            f"{client.title}: its hooks do not run before you trust them; start {client.title} "
            "and choose it there"
        )


def _server_problems(
    client: KnownAgent, one: Addition, there: Any, environment: Mapping[str, str]
) -> Iterator[str]:
    entry = cast("dict[str, Any]", there if isinstance(there, dict) else one.value)
    command = _server_command(entry)
    if "serverInfo" not in _output(command, f"{json.dumps(_HELLO)}\n", environment):
        yield _install_again(client, f"its MCP server does not answer ({shlex.join(command)})")


def _plugin_problems(
    client: KnownAgent, there: str, environment: Mapping[str, str]
) -> Iterator[str]:
    try:
        command = [str(part) for part in json.loads(there)["command"]]
    except (ValueError, LookupError, TypeError):
        command = []
    asked = {"id": 1, "do": "facts", "session": "check"}
    with tempfile.TemporaryDirectory() as place:  # it makes a store if it finds none
        line = [*command, "--home", place]
        said = _output(line, f"{json.dumps(asked)}\n", environment) if command else ""
    if '"id":1' not in said:
        what = f"the process behind its plug-in does not answer ({shlex.join(command)})"
        yield _install_again(client, what)


def _engine_problems(client: KnownAgent, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield that a program in Python does not find us: it says so nowhere but in its log."""
    program = shutil.which(client.program, path=environment.get("PATH", ""))
    first = "" if program is None else Path(program).read_bytes()[:1024].decode(errors="replace")
    python = first.partition("\n")[0].removeprefix("#!").strip()
    if "python" not in python or not first.startswith("#!"):
        return
    asked = "import foldaway.agents.hermes_plugin; print('found')"
    if "found" not in _output([*shlex.split(python), "-c", asked], "", environment):
        yield (
            f"{client.title}: Foldaway is not in its Python environment; run `{python} -m pip "
            f"install 'foldaway[{client.name}]'`"
        )


def _commands(groups: Any) -> Iterator[str]:
    """Yield our command lines in a list of groups of hooks."""
    for group in cast("list[dict[str, Any]]", groups):
        for hook in cast("list[dict[str, Any]]", group.get("hooks", [group])):
            line = str(hook.get("command", hook.get("bash", "")))
            if "foldaway" in line:
                yield line


def _server_command(entry: Mapping[str, Any]) -> list[str]:
    first: Any = entry.get("command", entry.get("cmd", ""))
    rest: list[Any] = entry.get("args", [])
    whole = cast("list[Any]", first) if isinstance(first, list) else [first, *rest]
    return [str(part) for part in whole]


def _output(command: Sequence[str], given: str, environment: Mapping[str, str]) -> str:
    """Return what a command prints, "" if it cannot be started; raise `TimeoutExpired`."""
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            env={**os.environ, **environment},
        )
    except (OSError, ValueError):
        return ""
    return done.stdout
