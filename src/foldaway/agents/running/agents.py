"""How an agent that is started is told to ask its providers through us."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct

from foldaway.agents.installing import read_json
from foldaway.agents.known import AddressFile, JsonVariable, KnownAgent, StartSection, known_agents
from foldaway.errors import FoldawayError, UnknownName

PORT = 8_787
"""Where a gateway listens by default. Chosen; no agent or model server that we know listens
there."""
OUTER = "_FOLDAWAY_RUN"
"""The variable that says to programs inside an agent where its listener is."""
_USUAL = ("api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com")
"""Hosts that a gateway knows by the wire, unless its settings name others."""


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


def startable_agents() -> Mapping[str, KnownAgent]:
    """Return the agents that can be started, by their name, those of most users first."""
    found = [agent for agent in known_agents().values() if agent.start.install]
    return {agent.name: agent for agent in sorted(found, key=lambda one: one.order)}


def startable_agent(name: str) -> KnownAgent:
    """Return the agent with this name or command, or raise `UnknownName`."""
    for agent in startable_agents().values():
        if name in (agent.name, agent.program):
            return agent
    raise UnknownName("agent", name, tuple(startable_agents()))


def start_for(
    agent: KnownAgent,
    front: str,
    variables: Mapping[str, str],
    home: Path,
    *,
    trusts_project: bool = False,
    recall: Sequence[str] = (),
) -> Start:
    """Return how to start an agent so that it asks `front` in place of its providers.

    An address that only the folder of the project names is used if that is trusted. `recall` is
    the command of a server of MCP that the agent gets. Raises `NoAddress` if the agent would not
    ask us.
    """
    how, environment = agent.start, {**variables, "HOME": str(home)}
    own = _in_files(how, how.own, environment)
    named = _in_files(how, how.project, environment)
    asked = _addresses(how, own | named if trusts_project else own, environment)
    used = [f"{name} is {url}" for name, url in own.items() if asked.get(name) == url]
    which = "that address" if len(used) == 1 else "these addresses"
    said = f"{', '.join(used)} in the settings of {agent.title}; the gateway asks {which}"
    notes = [said] if used else []
    notes += [
        f"{name} is {url} in the settings of this project; "
        + (
            "the gateway asks that address"
            if trusts_project
            else "it is not used without --project-address"
        )
        for name, url in named.items()
    ]
    notes += [
        f"{agent.title} asks {place} ({name} is set): its requests go past the gateway"
        for name, place in how.past.items()
        if _is_set(how, name, environment)
    ]
    told: dict[str, str] = {}
    serve = list(how.serve)
    outer = variables.get(OUTER)
    for name, url in asked.items():
        if outer and url.startswith(outer):  # an agent inside an agent: it is asked there already
            told[name] = url
            continue
        parts = urlsplit(url)
        prefix = ""
        if parts.hostname not in _USUAL or url != how.addresses.get(name):
            prefix = f"/to-{re.sub('[^a-z0-9]+', '-', name.lower())}"
            serve += ["--upstream", f"{prefix}={parts.scheme}://{parts.netloc}"]
        told[name] = f"{front}{prefix}{parts.path.rstrip('/')}"
    if how.needs and not told:
        raise NoAddress(agent.title, how.needs)
    given = {name: value for name, value in how.environment.items() if name not in variables}
    given |= {name: url for name, url in told.items() if name.isupper()} | {OUTER: front}
    if how.json is not None:
        whole = _as_json(how.json, told, variables)
        if recall and agent.recall.keys:
            server = {"type": "local", "command": list(recall), "enabled": True}
            _put(whole, agent.recall.keys, server)
        given[how.json.variable] = json.dumps(whole)
    if any(name.lower().endswith("_proxy") for name in variables):
        besides = variables.get("NO_PROXY") or variables.get("no_proxy") or ""
        given |= dict.fromkeys(("NO_PROXY", "no_proxy"), f"127.0.0.1,{besides}".rstrip(","))
    folder = str(files("foldaway.agents.running"))
    options = [one.replace("{folder}", folder) for one in how.once]
    if recall:
        command, args = recall[0], json.dumps(recall[1:])
        options += [
            one.replace("{command}", command).replace("{args}", args)
            for one in agent.recall.options
        ]
    for name, url in told.items():
        if how.settings_win and name not in own and name not in named:
            continue  # the variable is enough
        rows = how.tell.get(name) or how.tell.get("*", ())
        options += [one.replace("{name}", name).replace("{url}", url) for one in rows]
    return Start(options=tuple(options), environment=given, serve=tuple(serve), notes=tuple(notes))


def _in_files(
    how: StartSection, places: Sequence[AddressFile], environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the addresses in settings files, by name."""
    (first,) = tuple(how.addresses)[:1] or ("",)
    return {name or first: url for place in places for name, url in _own(place, environment)}


def _is_set(how: StartSection, name: str, environment: Mapping[str, str]) -> bool:
    """Return whether a switch is on in the environment or in a settings file."""
    on = re.compile(rf'"{name}"\s*:\s*"?(?:1|true)\b')
    texts = (_text(place, environment) for place in (*how.own, *how.project))
    return environment.get(name, "") in ("1", "true") or any(on.search(text) for text in texts)


def _addresses(
    how: StartSection, named: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the addresses that the agent would ask, by name: the user's own come first."""
    found = {
        name: url for name, url in how.addresses.items() if url and _has_key(how, name, environment)
    }
    login = how.login
    if login is not None and any(_values(_read(login, environment), login.keys)):
        found[login.name] = login.url
    given = {name: environment[name] for name in how.addresses if environment.get(name)}
    own = given | {**named} if how.settings_win else {**named} | given
    known = how.tell or how.json  # others can only be told what they name
    found |= {name: url for name, url in own.items() if known or name in how.addresses}
    return {
        name: how.addresses.get(name, "") if _is_gateway(url) else url
        for name, url in found.items()
        if not (_is_gateway(url) and not how.addresses.get(name))
    }


def _is_gateway(url: str) -> bool:
    """Return whether an address is that of a gateway of ours that the user has set by hand."""
    parts = urlsplit(url)
    return parts.hostname in ("127.0.0.1", "localhost") and parts.port == PORT


def _has_key(how: StartSection, name: str, environment: Mapping[str, str]) -> bool:
    if not how.keys or environment.get(how.keys.get(name, "")):
        return True
    stored = _read(AddressFile(file=how.keys["file"]), environment)
    if isinstance(stored, dict) and name in stored:
        return True
    for place in how.own:
        before = place.keys[: place.keys.index("*")]
        if any(name in names for names in _values(_read(place, environment), before)):
            return True
    return False


def _own(place: AddressFile, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield names and addresses in a settings file; what cannot be read has none."""
    if place.pattern:
        text = _text(place, environment)
        for match in re.finditer(place.pattern, text, re.MULTILINE):
            yield match.groupdict().get("name") or "", match["url"]
        return
    at = place.keys.index("*")
    for named in _values(_read(place, environment), place.keys[:at]):
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


def _read(place: AddressFile, environment: Mapping[str, str]) -> Any:
    text = _text(place, environment)
    try:
        return tomllib.loads(text) if place.file.endswith(".toml") else read_json(text)
    except tomllib.TOMLDecodeError:
        return None


def _text(place: AddressFile, environment: Mapping[str, str]) -> str:
    try:
        return place.path(environment).read_text("utf-8")
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
