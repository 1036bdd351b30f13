"""The agents that can be started, and how each is told to ask its providers through us."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct, convert

from foldaway.agents.installing import NotEditable, entry
from foldaway.errors import FoldawayError, UnknownName

PORT = 8_787
"""Where a gateway listens by default. Chosen; no agent or model server that we know listens
there."""
OUTER = "_FOLDAWAY_RUN"
"""The variable that says to programs inside an agent where its listener is."""
_USUAL = ("api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com")
"""Hosts that a gateway knows by the wire, unless its settings name others."""
_FOLDERS = {"{config}": ("XDG_CONFIG_HOME", ".config"), "{data}": ("XDG_DATA_HOME", ".local/share")}


class AddressFile(Struct, frozen=True, kw_only=True):
    """A settings file of an agent; `agents.toml` says what the fields of this module mean."""

    file: str
    variable: str = ""
    keys: tuple[str, ...] = ()
    pattern: str = ""
    name: str = ""
    url: str = ""


class JsonVariable(Struct, frozen=True):
    """A variable whose value is JSON."""

    variable: str
    keys: tuple[str, ...]


class RecallServer(Struct, frozen=True):
    """How an agent is told to start a server of MCP."""

    options: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


class Agent(Struct, frozen=True, kw_only=True):
    """One agent."""

    name: str
    title: str
    program: str
    install: str
    addresses: dict[str, str] = {}
    own: tuple[AddressFile, ...] = ()
    project: tuple[AddressFile, ...] = ()
    settings_win: bool = False
    past: dict[str, str] = {}
    login: AddressFile | None = None
    environment: dict[str, str] = {}
    tell: dict[str, tuple[str, ...]] = {}
    once: tuple[str, ...] = ()
    json: JsonVariable | None = None
    keys: dict[str, str] = {}
    recall: RecallServer | None = None
    serve: tuple[str, ...] = ()
    fixed: bool = False
    needs: str = ""


class Start(Struct, frozen=True, kw_only=True):
    """What an agent is started with, beside what the user gives it."""

    options: tuple[str, ...]
    environment: dict[str, str]
    serve: tuple[str, ...]
    """Options of the gateway: the user's own addresses, each for the paths that begin with it, and
    what the agent needs."""
    notes: tuple[str, ...] = ()
    """What the user should know: addresses of their settings, and what goes past us."""


class NoAddress(FoldawayError):
    """An agent that can only be asked to use an address that the user has not set."""

    def __init__(self, title: str, needs: str) -> None:
        self.title, self.needs = title, needs
        super().__init__(f"{title}: {needs}")


@cache
def known_agents() -> dict[str, Agent]:
    """Return the agents by name."""
    table = tomllib.loads(
        files("foldaway.agents.running").joinpath("agents.toml").read_text("utf-8")
    )
    return {name: convert({"name": name, **row}, Agent) for name, row in table.items()}


def agent_named(name: str) -> Agent:
    """Return the agent with this name or command, or raise `UnknownName`."""
    found = (one for one in known_agents().values() if name in (one.name, one.program))
    agent = next(found, None)
    if agent is None:
        raise UnknownName("agent", name, tuple(known_agents()))
    return agent


def start_for(
    agent: Agent, front: str, variables: Mapping[str, str], home: Path, *,
    trusts_project: bool = False, recall: Sequence[str] = (),
) -> Start:  # fmt: skip
    """Return how to start an agent so that it asks `front` in place of its providers.

    An address that only the folder of the project names is used if that is trusted. `recall` is
    the command of a server of MCP that the agent gets. Raises `NoAddress` if the agent would not
    ask us.
    """
    own = _in_files(agent, agent.own, variables, home)
    named = _in_files(agent, agent.project, variables, home)
    asked = _addresses(agent, own | named if trusts_project else own, variables, home)
    used = [f"{name} is {url}" for name, url in own.items() if asked.get(name) == url]
    which = "that address" if len(used) == 1 else "these addresses"
    said = f"{', '.join(used)} in the settings of {agent.title}; the gateway asks {which}"
    notes = [said] if used else []
    notes += [f"{name} is {url} in the settings of this project; "
              + ("the gateway asks that address" if trusts_project else
                 "it is not used without --project-address")
              for name, url in named.items()]  # fmt: skip
    notes += [f"{agent.title} asks {place} ({name} is set): its requests go past the gateway"
              for name, place in agent.past.items()
              if _is_set(agent, name, variables, home)]  # fmt: skip
    told: dict[str, str] = {}
    serve = list(agent.serve)
    outer = variables.get(OUTER)
    for name, url in asked.items():
        if outer and url.startswith(outer):  # an agent inside an agent: it is asked there already
            told[name] = url
            continue
        parts = urlsplit(url)
        prefix = ""
        if parts.hostname not in _USUAL or url != agent.addresses.get(name):
            prefix = f"/to-{re.sub('[^a-z0-9]+', '-', name.lower())}"
            serve += ["--upstream", f"{prefix}={parts.scheme}://{parts.netloc}"]
        told[name] = f"{front}{prefix}{parts.path.rstrip('/')}"
    if agent.needs and not told:
        raise NoAddress(agent.title, agent.needs)
    environment = {name: value for name, value in agent.environment.items()
                   if name not in variables}  # fmt: skip
    environment |= {name: url for name, url in told.items() if name.isupper()} | {OUTER: front}
    if agent.json is not None:
        whole = _as_json(agent.json, told, variables)
        if recall and agent.recall is not None and agent.recall.keys:
            server = {"type": "local", "command": list(recall), "enabled": True}
            _put(whole, agent.recall.keys, server)
        environment[agent.json.variable] = json.dumps(whole)
    if any(name.lower().endswith("_proxy") for name in variables):
        besides = variables.get("NO_PROXY") or variables.get("no_proxy") or ""
        environment |= dict.fromkeys(("NO_PROXY", "no_proxy"), f"127.0.0.1,{besides}".rstrip(","))
    folder = str(files("foldaway.agents.running"))
    options = [one.replace("{folder}", folder) for one in agent.once]
    if recall and agent.recall is not None:
        command, args = recall[0], json.dumps(recall[1:])
        options += [one.replace("{command}", command).replace("{args}", args)
                    for one in agent.recall.options]  # fmt: skip
    for name, url in told.items():
        if agent.settings_win and name not in own and name not in named:
            continue  # the variable is enough
        rows = agent.tell.get(name) or agent.tell.get("*", ())
        options += [one.replace("{name}", name).replace("{url}", url) for one in rows]
    return Start(options=tuple(options), environment=environment, serve=tuple(serve),
                 notes=tuple(notes))  # fmt: skip


def _in_files(
    agent: Agent, places: Sequence[AddressFile], variables: Mapping[str, str], home: Path
) -> dict[str, str]:
    """Return the addresses in settings files, by name."""
    (first,) = tuple(agent.addresses)[:1] or ("",)
    return {name or first: url for place in places for name, url in _own(place, variables, home)}


def _is_set(agent: Agent, name: str, variables: Mapping[str, str], home: Path) -> bool:
    """Return whether a switch is on in the environment or in a settings file."""
    on = re.compile(rf'"{name}"\s*:\s*"?(?:1|true)\b')
    texts = (_text(place, variables, home) for place in (*agent.own, *agent.project))
    return variables.get(name, "") in ("1", "true") or any(on.search(text) for text in texts)


def _addresses(
    agent: Agent, named: Mapping[str, str], variables: Mapping[str, str], home: Path
) -> dict[str, str]:
    """Return the addresses that the agent would ask, by name: the user's own come first."""
    found = {name: url for name, url in agent.addresses.items()
             if url and _has_key(agent, name, variables, home)}  # fmt: skip
    login = agent.login
    if login is not None and any(_values(_read(login, variables, home), login.keys)):
        found[login.name] = login.url
    given = {name: variables[name] for name in agent.addresses if variables.get(name)}
    own = given | {**named} if agent.settings_win else {**named} | given
    known = agent.tell or agent.json  # others can only be told what they name
    found |= {name: url for name, url in own.items() if known or name in agent.addresses}
    return {name: agent.addresses.get(name, "") if _is_gateway(url) else url
            for name, url in found.items()
            if not (_is_gateway(url) and not agent.addresses.get(name))}  # fmt: skip


def _is_gateway(url: str) -> bool:
    """Return whether an address is that of a gateway of ours that the user has set by hand."""
    parts = urlsplit(url)
    return parts.hostname in ("127.0.0.1", "localhost") and parts.port == PORT


def _has_key(agent: Agent, name: str, variables: Mapping[str, str], home: Path) -> bool:
    if not agent.keys or variables.get(agent.keys.get(name, "")):
        return True
    stored = _read(AddressFile(file=agent.keys["file"]), variables, home)
    if isinstance(stored, dict) and name in stored:
        return True
    for place in agent.own:
        before = place.keys[: place.keys.index("*")]
        if any(name in names for names in _values(_read(place, variables, home), before)):
            return True
    return False


def _own(place: AddressFile, variables: Mapping[str, str], home: Path) -> Iterator[tuple[str, str]]:
    """Yield names and addresses in a settings file; what cannot be read has none."""
    if place.pattern:
        text = _text(place, variables, home)
        for match in re.finditer(place.pattern, text, re.MULTILINE):
            yield match.groupdict().get("name") or "", match["url"]
        return
    at = place.keys.index("*")
    for named in _values(_read(place, variables, home), place.keys[:at]):
        for name, inside in (
            cast("dict[str, Any]", named).items() if isinstance(named, dict) else ()
        ):
            for url in _values(inside, place.keys[at + 1 :]):
                if isinstance(url, str) and url.startswith(("http://", "https://")):
                    yield name, url


def _values(value: Any, keys: Sequence[str]) -> Iterator[Any]:
    """Yield what is under keys, if there is something."""
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    if value is not None:
        yield value


def _read(place: AddressFile, variables: Mapping[str, str], home: Path) -> Any:
    text = _text(place, variables, home)
    try:
        return tomllib.loads(text) if place.file.endswith(".toml") else entry(text, ())
    except (tomllib.TOMLDecodeError, NotEditable):
        return None


def _text(place: AddressFile, variables: Mapping[str, str], home: Path) -> str:
    path = place.file
    for name, (variable, folder) in _FOLDERS.items():
        path = path.replace(name, variables.get(variable) or str(home / folder))
    found = Path(path.replace("~", str(home), 1))
    if variables.get(place.variable):
        found = Path(variables[place.variable]) / found.name
    try:
        return found.read_text("utf-8")
    except (OSError, UnicodeError):
        return ""


def _as_json(
    told: JsonVariable, addresses: Mapping[str, str], variables: Mapping[str, str]
) -> dict[str, Any]:
    """Return what a variable says with addresses put in."""
    try:
        whole: dict[str, Any] = json.loads(variables.get(told.variable) or "{}")
    except ValueError:
        whole = {}
    for name, url in addresses.items():
        _put(whole, [key.replace("{name}", name) for key in told.keys], url)
    return whole


def _put(whole: dict[str, Any], keys: Sequence[str], value: object) -> None:
    """Put a value under keys."""
    *path, last = keys
    for key in path:
        whole = whole.setdefault(key, {})
    whole[last] = value
