"""What is known of an agent, as its file beside this one says; each is read when it is needed."""

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
    """`~/` is the home folder, `{config}` $XDG_CONFIG_HOME or ~/.config, `{data}` $XDG_DATA_HOME or
    ~/.local/share, `{documents}` the folder for documents, and `{support}` the same as `{config}`,
    on macOS ~/Library/Application Support."""
    variable: str = ""
    """An environment variable that names another folder."""
    depth: int = 1
    """How many of the first parts of the path the variable stands for."""

    def path(self, environment: Mapping[str, str]) -> Path:
        """Return where it is; it need not exist."""
        named = environment.get(self.variable, "") if self.variable else ""
        if not named:
            return expanded(self.file, environment)
        return Path(named, *Path(self.file.removeprefix("~/")).parts[self.depth :])


class FilesSection(_Section, frozen=True, kw_only=True):
    """The sessions that it writes; what a file is, importers tell from its content."""

    places: tuple[AgentPlace, ...] = ()
    in_project: str = ""
    """What it leaves in the folder of a project."""
    prompt: str = ""
    """Words in its prompts, by which a file with nothing but messages is known."""
    beside: tuple[str, ...] = ()
    """Names of files beside its sessions that are none."""
    has_unique_ids: bool = False
    """Whether its ids are unique in the world; others number their runs, or name them by file."""
    last_may_grow: bool = False
    """Whether its files have no end of a message: the last one may not be whole."""


class AddressFile(AgentPlace, frozen=True, kw_only=True):
    """A settings file with addresses: under keys, or by a pattern with the groups url and name."""

    keys: tuple[str, ...] = ()
    """`*` is the name of a provider."""
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
    """How to get it."""
    addresses: dict[str, str] = {}
    """Name and address of each provider that it asks by itself. A name in capitals is a variable:
    the user's own value is read from it, and ours is set in it. An empty address counts only if the
    user has set one."""
    own: tuple[AddressFile, ...] = ()
    """Where else the user's own addresses are."""
    project: tuple[AddressFile, ...] = ()
    """The same in the folder of a project: such an address is told to the user, and used only with
    --project-address."""
    settings_win: bool = False
    """Whether what settings say counts more than the environment."""
    past: dict[str, str] = {}
    """Variables, in the environment or in a file of own or project, by which its requests go past
    any address, and where they go."""
    login: AddressFile | None = None
    """An address that is used instead if a file has a value under these keys."""
    environment: dict[str, str] = {}
    """Variables that are set unless the user has set them: what another address would change."""
    tell: dict[str, tuple[str, ...]] = {}
    """Options before the user's arguments for each address: `{name}`, `{url}`."""
    once: tuple[str, ...] = ()
    """Options before them in any case; `{folder}` is that of `agents/running`."""
    json: JsonVariable | None = None
    """A variable that holds addresses as JSON, and the keys of each."""
    keys: dict[str, str] = {}
    """For each provider the variable with the user's key, and a file of keys: a provider that has
    neither is left out, because naming it would add it to the agent's list."""
    serve: tuple[str, ...] = ()
    """Options of its gateway."""
    fixed: bool = False
    """Whether it reads its address from its settings alone: the listener has the default port."""
    needs: str = ""
    """What to do if no address is known."""


class RecallSection(_Section, frozen=True):
    """How it takes our MCP server at its start."""

    options: tuple[str, ...] = ()
    """Before the user's arguments: `{command}`, `{args}`."""
    keys: tuple[str, ...] = ()
    """Of an entry in the variable of `start.json`."""


class OtherSetting(AgentPlace, frozen=True, kw_only=True):
    """A setting that only one agent has; left out if the user has something else there."""

    what: str
    form: Form
    keys: tuple[str, ...] = ()
    value: Any
    """`{hook}` and `{statusline}` are replaced by the command lines."""
    instead: Any = None
    """The program's own default, which ours replaces."""
    is_item: bool = False
    """Whether it is one more element of a list."""
    is_program: bool = False


class AgentPlugin(AgentPlace, frozen=True, kw_only=True):
    """A folder for files of packages/foldaway-agents."""

    files: tuple[str, ...]


class InstallSection(AgentPlace, frozen=True, kw_only=True):
    """Its settings file, and what of ours is there and elsewhere."""

    file: str = ""
    form: Form = "json"
    mark: str = ""
    """What shows that the program is here, if not the folder of the file."""
    prompt: tuple[str, ...] | None = None
    """How it opens a new session with a first prompt, which comes after these arguments."""
    section: tuple[str, ...] = ()
    """The keys under which MCP servers are."""
    entry: dict[str, Any] = {}
    """One of them: `{command}`, `{args}` and `{argv}` are replaced by the command, its arguments,
    and both."""
    mcp: bool = True
    """Whether `foldaway install` puts our MCP server in; `foldaway mcp install` always does."""
    anywhere: bool = False
    """Whether servers are started outside of a project: all sessions are offered then."""
    settings: tuple[OtherSetting, ...] = ()
    plugin: AgentPlugin | None = None
    gains: tuple[str, ...] = ()
    """What the user gets, for `foldaway install --list`."""
    note: str = ""
    """What is left to do by hand, said unless `hooks.message` is set."""


class AgentHook(_Section, frozen=True, kw_only=True):
    """What is done at an event of an agent, and how it is answered."""

    does: Deed
    says: Answering = "nothing"
    matcher: str = ""
    """For which sources or tools; with --redact, results of all tools."""
    late: bool = False
    """Whether the agent has written its summary when it asks for facts, and adds them to it."""

    @property
    def imports(self) -> bool:
        """Whether the session is imported too."""
        return self.does in ("facts", "import")


class HooksSection(AgentPlace, frozen=True, kw_only=True):
    """Its hooks."""

    file: str = ""
    """Empty if each hook is a program in a folder; those are among the settings."""
    entry: dict[str, Any] = {}
    """One of them; `{hook}` and `{event}` are replaced."""
    grouped: bool = True
    """Whether an event has groups of a matcher and "hooks", as in Claude Code, or entries."""
    own: dict[str, Any] | None = None
    """What else is in the file, if it is ours alone."""
    transcript: str = ""
    """Where a session is, if an event does not say it."""
    message: str = ""
    """A variable in which the user names a file that the agent reads before each request."""
    sign: str = ""
    """What a session's file has once for each compaction; facts are told with the next result then,
    because the agent has no event after one."""
    keys: dict[str, str] = {}
    """Of answers by what they have, "context" or "output"; without them an answer is in
    "hookSpecificOutput", as additionalContext or updatedToolOutput."""
    trust: tuple[str, ...] = ()
    """The keys in its settings under which it notes the hooks that the user trusts, by their file,
    a colon and their place in it."""
    events: dict[str, AgentHook] = {}

    def transcript_file(self, session: str, environment: Mapping[str, str]) -> str:
        """Return the file of a session, "" if it is not known where that is."""
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
    """In what it calls itself."""
    headers: tuple[str, ...] = ()
    """Those that name a conversation, the most telling first."""
    name: str = ""
    """What a gateway calls it, if not by its name."""


class CompactionSign(_Section, frozen=True):
    """How it asks for a summary of its own conversation: all that is given must be there."""

    agent: str = ""
    """Filled in for a gateway."""
    wire: str = ""
    """On which wire; any if it is not given."""
    header: tuple[str, str] | None = None
    """A header of the request, and words in it."""
    item: str = ""
    """The type of the newest item of the list."""
    operation: str = "turn"
    """The kind of request that its path names."""
    has: str = ""
    """Words in the newest message of the user."""
    system: str = ""
    """Words of the system prompt of a request without tools."""
    drops: int = 0
    """Messages before the newest that also belong to the question."""
    gives: str = "{}"
    """The answer, with `{}` for the record; `sealed` is an item of the wire that holds it."""


class CompactionSection(_Section, frozen=True, kw_only=True):
    """When and how it compacts by itself, as its source and issues say; users may change it."""

    share: float = 0.8
    """Of the window."""
    reserve_tokens: int = 0
    """How much less than that."""
    window_tokens: int = 0
    """Its window if it uses the whole window of a model only if it is told to, and does not record
    which; 0 if it is the model's."""
    keeps_summary_alone: bool = False
    """Whether it keeps no earlier messages beside a summary, which would have what that does not
    name."""
    signs: tuple[CompactionSign, ...] = ()
    """The most telling first."""


class KnownAgent(_Section, frozen=True, kw_only=True):
    """One agent, or another program that we install ourselves into; a section that its file does
    not have is empty.
    """

    name: str
    """That of its file."""
    title: str
    program: str = ""
    """Its command; the program is also here if this is on the PATH."""
    order: int = 100
    """Where it comes in the list of `foldaway run`."""
    files: FilesSection = FilesSection()
    start: StartSection = StartSection()
    recall: RecallSection = RecallSection()
    install: InstallSection = InstallSection()
    hooks: HooksSection = HooksSection()
    identity: IdentitySection = IdentitySection()
    compaction: CompactionSection = CompactionSection()


def known_agents() -> Mapping[str, KnownAgent]:
    """Return all agents, by name and in the order of their names."""
    return {name: agent_named(name) for name in _names()}


@cache
def agent_named(name: str) -> KnownAgent:
    """Return an agent; raises `UnknownName`."""
    if name not in _names():
        raise UnknownName("agent", name, _names())
    return read_agent(Path(__file__).with_name(f"{name}.toml"))


def compaction_of(name: str) -> CompactionSection:
    """Return how an agent compacts; the usual if it is not known."""
    return agent_named(name).compaction if name in _names() else CompactionSection()


def files_of(name: str) -> FilesSection:
    """Return where and how an agent, or a format of files, keeps sessions."""
    return agent_named(name).files if name in _names() else FilesSection()


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


def expanded(text: str, environment: Mapping[str, str]) -> Path:
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
