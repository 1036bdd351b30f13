"""What the files beside this one say of agents; README.md says what their fields mean."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct, ValidationError, convert

from foldaway.errors import NotReadable, UnknownName

Form: TypeAlias = Literal["json", "toml", "yaml", "whole"]
"""How a settings file is written; `whole` is a file of ours alone."""
Deed: TypeAlias = Literal["facts", "dropped", "shorten", "import"]
"""What a hook does: give a compaction the facts of the session, give the agent those that a summary
dropped, shorten a result, or only import the session."""
Answering: TypeAlias = Literal["text", "context", "output", "file", "nothing"]
"""How a hook answers: with plain text, with JSON that has a context or a result, or by writing the
file of messages that the user named to the agent; the last are installed only if there is one."""


class _Section(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of an agent's file."""


class AgentPlace(_Section, frozen=True, kw_only=True):
    """A file or folder of an agent."""

    file: str
    variable: str = ""
    depth: int = 1

    def path(self, environment: Mapping[str, str]) -> Path:
        """Return the path, whether or not it exists."""
        named = environment.get(self.variable, "") if self.variable else ""
        if not named:
            return _expand(self.file, environment)
        return Path(named, *Path(self.file.removeprefix("~/")).parts[self.depth :])


class FilesSection(_Section, frozen=True, kw_only=True):
    """The sessions that it writes; what a file is, importers tell from its content."""

    places: tuple[AgentPlace, ...] = ()
    in_project: str = ""
    prompt: str = ""
    beside: tuple[str, ...] = ()
    has_unique_ids: bool = False
    last_may_grow: bool = False


class AddressFile(AgentPlace, frozen=True, kw_only=True):
    """A settings file with addresses: under keys, or by a pattern with the groups url and name."""

    keys: tuple[str, ...] = ()
    pattern: str = ""
    name: str = ""
    url: str = ""


class JsonVariable(_Section, frozen=True):
    """A variable whose value is JSON."""

    variable: str
    keys: tuple[str, ...]


class StartSection(_Section, frozen=True, kw_only=True):
    """How `foldaway run` starts it, and tells it where its provider is."""

    install: str = ""
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
    serve: tuple[str, ...] = ()
    fixed: bool = False
    needs: str = ""


class RecallSection(_Section, frozen=True):
    """How it takes our MCP server at its start."""

    options: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


class OtherSetting(AgentPlace, frozen=True, kw_only=True):
    """A setting that only one agent has; left out if the user has something else there."""

    what: str
    form: Form
    keys: tuple[str, ...] = ()
    value: Any
    instead: Any = None
    is_item: bool = False
    is_program: bool = False


class AgentPlugin(AgentPlace, frozen=True, kw_only=True):
    """A folder for files of packages/foldaway-agents."""

    files: tuple[str, ...]


class InstallSection(AgentPlace, frozen=True, kw_only=True):
    """Its settings file, and what of ours is there and elsewhere."""

    file: str = ""
    form: Form = "json"
    mark: str = ""
    prompt: tuple[str, ...] | None = None
    section: tuple[str, ...] = ()
    entry: dict[str, Any] = {}
    mcp: bool = True
    anywhere: bool = False
    settings: tuple[OtherSetting, ...] = ()
    plugin: AgentPlugin | None = None
    gains: tuple[str, ...] = ()
    note: str = ""


class AgentHook(_Section, frozen=True, kw_only=True):
    """What is done at an event of an agent, and how it is answered."""

    does: Deed
    says: Answering = "nothing"
    matcher: str = ""
    late: bool = False

    @property
    def imports(self) -> bool:
        """Whether the session is imported too."""
        return self.does in ("facts", "import")


class HooksSection(AgentPlace, frozen=True, kw_only=True):
    """Its hooks."""

    file: str = ""
    entry: dict[str, Any] = {}
    grouped: bool = True
    own: dict[str, Any] | None = None
    transcript: str = ""
    message: str = ""
    sign: str = ""
    boundary: str = ""
    window: str = ""
    keys: dict[str, str] = {}
    trust: tuple[str, ...] = ()
    events: dict[str, AgentHook] = {}

    def transcript_file(self, session: str, environment: Mapping[str, str]) -> str:
        """Return the path of the file of a session, "" if it is not known."""
        if not self.transcript or session != os.path.basename(session):
            return ""
        file = self.transcript.replace("{session}", session)
        return str(AgentPlace(file=file, variable=self.variable).path(environment))

    def message_file(self, environment: Mapping[str, str]) -> str:
        """Return the file that it reads before each request; "" if the user named none."""
        return environment.get(self.message, "") if self.message else ""


class IdentitySection(_Section, frozen=True, kw_only=True):
    """How a gateway knows its requests."""

    words: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    name: str = ""


class CompactionSign(_Section, frozen=True):
    """How it asks for a summary of its own conversation: all that is given must be there."""

    agent: str = ""
    wire: str = ""
    header: tuple[str, str] | None = None
    item: str = ""
    operation: str = "turn"
    has: str = ""
    system: str = ""
    drops: int = 0
    gives: str = "{}"


class CompactionSection(_Section, frozen=True, kw_only=True):
    """When and how it compacts by itself, as its source and issues say; users may change it."""

    share: float = 0.8
    reserve_tokens: int = 0
    window_tokens: int = 0
    keeps_summary_alone: bool = False
    signs: tuple[CompactionSign, ...] = ()


class KnownAgent(_Section, frozen=True, kw_only=True):
    """One agent, or another program that we install ourselves into; a section that its file does
    not have is empty.
    """

    name: str
    title: str
    program: str = ""
    order: int = 100
    files: FilesSection = FilesSection()
    start: StartSection = StartSection()
    recall: RecallSection = RecallSection()
    install: InstallSection = InstallSection()
    hooks: HooksSection = HooksSection()
    identity: IdentitySection = IdentitySection()
    compaction: CompactionSection = CompactionSection()

    @property
    def leaves_sessions(self) -> bool:
        """Whether its sessions are read."""
        return bool(self.files.places or self.files.in_project)

    @property
    def compacts_itself(self) -> bool:
        """Whether its file says when it compacts by itself."""
        return self.compaction != CompactionSection()

    def is_here(self, environment: Mapping[str, str]) -> bool:
        """Return whether it seems to be on this machine."""
        mark = self.install.mark
        file = self.install.path(environment)
        sign = AgentPlace(file=mark).path(environment) if mark else file.parent
        named = bool(self.install.variable and environment.get(self.install.variable))
        on_path = self.program and shutil.which(self.program, path=environment.get("PATH", ""))
        return file.exists() or sign.exists() or named or bool(on_path)


def known_agents() -> Mapping[str, KnownAgent]:
    """Return all agents, by name and in the order of their names."""
    return {name: agent_named(name) for name in _names()}


@cache
def agent_named(name: str) -> KnownAgent:
    """Return an agent; raises `UnknownName`."""
    if name not in _names():
        raise UnknownName("agent", name, _names())
    return read_agent(Path(__file__).with_name(f"{name}.toml"))


def find_agent(name: str) -> KnownAgent:
    """Return an agent, or one of which nothing is known: formats of files are no agents."""
    return agent_named(name) if name in _names() else KnownAgent(name=name, title=name)


@cache
def _names() -> tuple[str, ...]:
    # importlib.resources takes longer to import than a hook has for all of its data
    files = sorted(os.listdir(os.path.dirname(__file__)))
    return tuple(file.removesuffix(".toml") for file in files if file.endswith(".toml"))


def read_agent(file: Path) -> KnownAgent:
    """Return what a file says of an agent; raises `NotReadable` for a key that is not known."""
    try:
        return convert({"name": file.stem, **tomllib.loads(file.read_text("utf-8"))}, KnownAgent)
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise NotReadable(str(error), where=str(file)) from None


def _expand(text: str, environment: Mapping[str, str]) -> Path:
    """Return a path with what it names in braces, and the home folder, replaced."""
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
