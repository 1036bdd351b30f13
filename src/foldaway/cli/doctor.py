"""`foldaway doctor`: whether the store, the memory, the settings and the packages are in order."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from importlib.util import find_spec
from typing import Any, cast
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import click
from msgspec import Struct, to_builtins

from foldaway._core import Policy, __version__
from foldaway.agents.engines import engine_names
from foldaway.agents.installing import clients, list_additions, problems_of
from foldaway.cli import version_of
from foldaway.cli.config import STATES, WHOSE, without_password
from foldaway.cli.draw import Picture
from foldaway.cli.files import count_of, shorten
from foldaway.cli.inputs import json_option, options, print_json, usage_error
from foldaway.cli.install import AgentState, state_of_agent
from foldaway.cli.settings import Window, home_of, settings_from, window_of
from foldaway.cli.stores import is_missing, store_options, store_place
from foldaway.config import Settings, SettingsFile, agent_places, external_memory, open_store
from foldaway.engine import unpack_view
from foldaway.errors import FoldawayError, StoreUnavailable, UnknownName
from foldaway.memory import Bounds, memory_files, memory_folder
from foldaway.stores import Health, clear_drafts
from foldaway.stores import salvage as salvage_store

_MB = 1_000_000
_GATEWAY_SECONDS = 30.0
_WAITED = f"nothing came in {_GATEWAY_SECONDS:.0f} s; is this machine busy?"
_SLOW = -1
"""In place of a status: nothing came in that time."""
_PACKAGES = ("msgspec", "apsw", "zstandard", "platformdirs", "click", "rich")
_EXTRAS = (
    ("prices", "genai-prices", "genai_prices", "newer prices, and of more models"),
    ("openai", "openai", "openai", "summaries by OpenAI and what speaks its protocol"),
    ("anthropic", "anthropic", "anthropic", "summaries by Anthropic"),
    ("litellm", "litellm", "litellm", "summaries by other providers"),
    ("exact", "tiktoken", "tiktoken", "exact token counts"),
    ("postgres", "psycopg", "psycopg", "sessions on a PostgreSQL server"),
    ("chat", "prompt_toolkit", "prompt_toolkit", "`foldaway chat`"),
    ("mcp", "mcp", "mcp", "past sessions for agents, `foldaway mcp`"),
    ("gateway", "aiohttp", "aiohttp", "the gateway, `foldaway serve`"),
    ("otel", "opentelemetry-sdk", "opentelemetry", "spans of the gateway"),
    ("lab", "tree-sitter-bash", "tree_sitter_bash", "scores and report of `foldaway lab run`"),
    ("trajectories", "pyarrow", "pyarrow", "Parquet and tokenizer files of trajectories"),
    ("code", "tree-sitter-python", "tree_sitter_python", "source code reduced by its syntax"),
)
"""Extra, package, module, purpose."""


class Extra(Struct, frozen=True, kw_only=True):
    """An extra of the package, and whether it is installed."""

    name: str
    package: str
    installed: bool
    version: str = ""
    purpose: str
    remedy: str = ""


class StoreState(Struct, frozen=True, kw_only=True):
    """The store, as far as it can be opened."""

    place: str
    profile: str
    exists: bool
    health: Health | None = None


class MemoryState(Struct, frozen=True, kw_only=True):
    """What is remembered, and the external memory as far as it can be made."""

    folder: str
    entries: dict[str, int]
    """By file; of one that cannot be read, nothing."""
    external: str


class GatewayState(Struct, frozen=True, kw_only=True):
    """A gateway, as far as it answers, and the provider behind it."""

    address: str
    answers: bool
    ready: bool = False
    provider_status: int = 0
    """Of a list of models that was asked for through it, without a key; 0 if nothing came back."""
    note: str = ""
    """What the gateway says of that request."""


class Diagnosis(Struct, frozen=True, kw_only=True):
    """All that `doctor` found; `problems` is empty if nothing is broken."""

    healthy: bool
    problems: tuple[str, ...]
    hints: tuple[str, ...]
    """What could be better."""
    versions: dict[str, str]
    home: str
    settings_files: tuple[SettingsFile, ...]
    settings: dict[str, object] | None
    window: Window | None
    store: StoreState | None
    memory: MemoryState | None
    gateway: GatewayState | None = None
    extras: tuple[Extra, ...]
    agents: tuple[tuple[str, str], ...]
    """Folders and files in which agents keep sessions."""
    installed: tuple[AgentState, ...] = ()
    """Programs that `foldaway install` or `foldaway mcp install` wrote something into."""


@click.command()
@options(
    ("--deep", bool, "Read every page and every message of the store."),
    ("--gateway URL", str, "Send a request through this gateway, without a key."),
    ("--verbose", bool, "Show all details, as when something is broken."),
)
@click.option(
    "--salvage",
    is_flag=False,
    flag_value="",
    metavar="[OUT]",
    help="Copy what can be read of a damaged store to a new file, by default beside it.",
)
@store_options
@json_option
def doctor(deep: bool, verbose: bool, salvage: str | None, as_json: bool, **given: Any) -> int:
    """Check the store, memory, settings and installed packages.

    A line for each of them, and all details with --verbose or if something is broken: the health
    of the store, the memory files, versions, the settings in effect, the window of the configured
    model, missing optional packages and how to install them, and the folders that `foldaway
    import` would read. What is installed into agents is called as they do. Nothing
    is changed, only what killed backups left beside the store is deleted, and no server is called
    but the gateway that is named. The exit code is 1 if something is broken.

    \b
    foldaway doctor
    foldaway doctor --deep --json
    foldaway doctor --salvage saved.db
    """
    if salvage is not None:
        return _salvage(given, salvage, as_json=as_json)
    found = _diagnose(given, deep=deep)
    if as_json:
        print_json(found)
    else:
        show_diagnosis(found, verbose=verbose)
    return 0 if found.healthy else 1


def _salvage(given: dict[str, Any], target: str, *, as_json: bool) -> int:
    """Copy what can be read of a damaged store, and say what is lost; 1 if something is."""
    settings = settings_from(given)
    path = str(store_place(given, settings))
    if "://" in path:
        raise usage_error("--salvage is for a store in a file; restore a server from its backups")
    path = os.path.join(path, f"{settings.profile}.db") if os.path.isdir(path) else path
    target = target or f"{os.path.splitext(path)[0]}-salvaged.db"
    found = salvage_store(path, target, check_view=unpack_view)
    if as_json:
        print_json(found)
    else:
        picture = Picture()
        sessions = count_of(found.sessions, "session")
        messages = count_of(found.messages, "message")
        picture.line((f"{found.path}: {sessions}, {messages}", "bold"))
        for one in found.lost:
            parts = [f"m{at}" for at in one.positions]
            parts += ["its title, model and compactions"] if one.is_nameless else []
            name = shorten(f"{one.session_id} {one.title}".rstrip())
            picture.line(("  lost: ", "yellow"), f"{name}: {', '.join(parts)}")
    return 1 if found.lost else 0


def _diagnose(given: dict[str, Any], *, deep: bool) -> Diagnosis:
    problems: list[str] = []
    hints: list[str] = []
    settings: Settings | None = None
    window: Window | None = None
    store: StoreState | None = None
    memory: MemoryState | None = None
    try:
        settings = settings_from(given)
    except FoldawayError as error:
        problems.append(str(error))
    if settings is not None:
        known = window_of(settings, settings.model)
        window = known if settings.model else Window(known.model, known.tokens, known.source)
        if settings.engine not in engine_names():
            problems.append(
                f"[engine] name: {UnknownName('engine', settings.engine, engine_names())}"
            )
        store = _check_store(given, settings, problems, hints, deep=deep)
        memory = _check_memory(given, settings, problems)
    gateway = _check_gateway(given["gateway"], problems) if given["gateway"] else None
    installed = _check_agents(problems)
    versions = {"python": platform.python_version(), "system": platform.platform(terse=True)}
    versions |= {"foldaway": __version__} | {name: version_of(name) for name in _PACKAGES}
    return Diagnosis(
        healthy=not problems,
        problems=tuple(problems),
        hints=tuple(hints),
        versions=versions,
        home=str(home_of(given)),
        settings_files=settings.files if settings else (),
        settings=None if settings is None else _settings_row(settings),
        window=window,
        store=store,
        memory=memory,
        gateway=gateway,
        extras=_extras(),
        agents=tuple((agent, str(path)) for agent, path in agent_places()),
        installed=installed,
    )


def _check_store(
    given: dict[str, Any], settings: Settings, problems: list[str], hints: list[str], *, deep: bool
) -> StoreState:
    where = store_place(given, settings)
    place = without_password(str(where))
    try:
        with open_store(where, profile=settings.profile, read_only=True) as store:
            health = store.health(deep)
    except StoreUnavailable as error:
        is_new = is_missing(error)
        if is_new and (folder := _find_closed_folder(error.where)):
            problems.append(
                f"{error.where}: cannot be made, because {folder} may not be changed or is not a "
                "folder; see who owns it, or name another place with --home or FOLDAWAY_HOME"
            )
        elif is_new:
            hints.append("no sessions are kept yet; `foldaway import` takes those of your agents")
        else:
            problems.append(str(error))
        return StoreState(place=place, profile=settings.profile, exists=not is_new)
    except FoldawayError as error:
        problems.append(str(error))
        return StoreState(place=place, profile=settings.profile, exists=False)
    problems.extend(f"{health.where}: {problem}" for problem in health.problems)
    if health.backend == "sqlite" and (gone := clear_drafts(os.path.dirname(health.where))):
        hints.append(f"deleted {count_of(len(gone), 'file')} of a backup that was killed")
    if health.backend == "sqlite" and not _is_writable(health.where):
        problems.append(
            f"{health.where}: nothing can be written, the file or its folder may not be changed; "
            "see who owns them and whether the disk is mounted read-only, or give --home"
        )
    if health.unindexed:
        hints.append(
            f"{health.unindexed:,} messages are not in the substring index yet; the next search "
            f"that needs it completes it"
        )
    return StoreState(place=place, profile=settings.profile, exists=True, health=health)


def _check_memory(
    given: dict[str, Any], settings: Settings, problems: list[str]
) -> MemoryState | None:
    home = home_of(given)
    try:
        folder = memory_folder(home, settings.profile)
        files = memory_files(folder, Bounds()).values()
        entries = {file.name: len(file.entries()) for file in files}
        external_memory(settings, environment={**os.environ, "FOLDAWAY_HOME": str(home)})
    except FoldawayError as error:
        problems.append(str(error))
        return None
    return MemoryState(folder=str(folder), entries=entries, external=settings.memory)


def _check_agents(problems: list[str]) -> tuple[AgentState, ...]:
    """Call what is installed into agents."""
    found: list[AgentState] = []
    for client in clients().values():
        state = state_of_agent(client)
        if state.problem:
            problems.append(f"{client.title}: {state.problem}")
        if state.installed:
            found.append(state)
            additions = list_additions(client, os.environ)
            there = [one for one in additions if one.what in state.installed]
            problems.extend(problems_of(client, there, os.environ))
    return tuple(found)


def _check_gateway(address: str, problems: list[str]) -> GatewayState:
    """Ask a gateway how it is, and its provider through it."""
    base = address.rstrip("/")
    health, _ = _ask_gateway(f"{base}/healthz")
    if health == _SLOW:
        problems.append(f"the gateway at {base} is slow: {_WAITED}")
        return GatewayState(address=base, answers=False)
    if health != HTTPStatus.OK:
        problems.append(f"no gateway answers at {base}; start one with `foldaway serve`")
        return GatewayState(address=base, answers=False)
    stored, _ = _ask_gateway(f"{base}/readyz")
    is_ready = stored == HTTPStatus.OK
    if not is_ready:
        what = f"is slow: {_WAITED}" if stored == _SLOW else "has problems"
        problems.append(f"the store of the gateway at {base} {what}")
    status, note = _ask_gateway(f"{base}/v1/models")
    if status in (0, HTTPStatus.BAD_GATEWAY):
        problems.append(f"the gateway at {base} does not reach its provider; see --upstream")
    if status == _SLOW:
        problems.append(f"the provider behind the gateway at {base} is slow: {_WAITED}")
    return GatewayState(
        address=base, answers=True, ready=is_ready, provider_status=max(status, 0), note=note
    )


def _ask_gateway(address: str) -> tuple[int, str]:
    """Return the status of an answer and what the gateway says of it; 0 if nobody answers."""
    try:
        with urlopen(address, timeout=_GATEWAY_SECONDS) as answer:
            return answer.status, answer.headers.get("x-foldaway", "")
    except HTTPError as error:
        with error:
            return error.code, error.headers.get("x-foldaway", "")
    except (OSError, ValueError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        return (_SLOW if isinstance(reason, TimeoutError) else 0), ""


def _find_closed_folder(file: str) -> str:
    """Return the nearest folder above a missing file, if nothing can be made in it; else ""."""
    folder = os.path.dirname(os.path.abspath(file))
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    is_open = os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)
    return "" if is_open else folder


def _is_writable(file: str) -> bool:
    """Return whether SQLite could write: into the file, and new files beside it."""
    folder = os.path.dirname(os.path.abspath(file))
    return os.access(file, os.W_OK) and os.access(folder, os.W_OK)


def _settings_row(settings: Settings) -> dict[str, Any]:
    found: dict[str, Any] = to_builtins(settings)
    for name in ("files", "origins"):  # `foldaway config show` has them
        del found[name]
    for name in ("store", "summarizer_url"):
        found[name] = without_password(found[name])
    found["gateway_upstreams"] = [without_password(one) for one in found["gateway_upstreams"]]
    found["memory_options"] = {
        name: sorted(table) for name, table in found["memory_options"].items()
    }
    return found


def _extras() -> tuple[Extra, ...]:
    """Return all extras; nothing is imported."""
    found: list[Extra] = []
    for name, package, module, purpose in _EXTRAS:
        installed = find_spec(module) is not None
        found.append(
            Extra(
                name=name,
                package=package,
                installed=installed,
                purpose=purpose,
                version=version_of(package) if installed else "",
                remedy="" if installed else f"pip install 'foldaway[{name}]'",
            )
        )
    return tuple(found)


def show_diagnosis(found: Diagnosis, *, verbose: bool = False) -> None:
    """Print what was found, what is broken first; details if something is."""
    picture = Picture()
    good, bad = ("✓", "✗") if picture.unicode else ("ok", "BROKEN")
    if found.healthy:
        picture.line((f"{good} nothing is broken", "bold green"))
    for problem in found.problems:
        picture.line((f"{bad} ", "bold red"), shorten(problem))
    if verbose or not found.healthy:
        _show_details(picture, found)
    else:
        lines = [((area, "dim"), shorten(said)) for area, said in _areas(found).items()]
        picture.table("lf", lines)
    for hint in (*found.hints, found.window.note if found.window else ""):
        picture.note(hint)
    if found.healthy and not verbose:
        picture.paragraph(("details: foldaway doctor --verbose", "dim"), indent=2)


def _areas(found: Diagnosis) -> dict[str, str]:
    """Return how each area stands, in a line."""
    areas = {"home": found.home}
    if found.store:
        rows = _store_rows(found.store)
        areas["store"] = f"{rows.get('holds', 'nothing yet')}, at {rows.get('at', rows['place'])}"
    if found.memory:
        entries = count_of(sum(found.memory.entries.values()), "entry", "entries")
        areas["memory"] = f"{entries}; external: {found.memory.external or 'none'}"
    if found.gateway:
        areas["gateway"] = _gateway_rows(found.gateway)["provider"]
    changed = _collect_settings(found.settings) if found.settings else {}
    changed.pop("none", None)
    files = [f"{whose} {file}" for whose, file in _file_rows(found).items()]
    files.append(f"{len(changed) or 'none'} differ from the defaults")
    areas["settings"] = "; ".join(files)
    if found.window:
        areas["model"] = "; ".join(_model_rows(found.window).values())
    areas["versions"] = f"foldaway {found.versions['foldaway']}, Python {found.versions['python']}"
    missing = [one.name for one in found.extras if not one.installed]
    how = f"{', '.join(missing)} (pip install 'foldaway[{missing[0]}]')" if missing else ""
    areas["extras"] = f"not installed: {how}" if missing else "all installed"
    agents = dict.fromkeys(name for name, _ in found.agents)
    areas["agents"] = f"sessions of {', '.join(agents)}" if agents else "no sessions found"
    if found.installed:
        areas["installed"] = f"into {', '.join(one.title for one in found.installed)}"
    return areas


def _show_details(picture: Picture, found: Diagnosis) -> None:
    if found.store is not None:
        _show_rows(picture, "store", _store_rows(found.store))
    if found.memory is not None:
        kept = {
            name: count_of(many, "entry", "entries") for name, many in found.memory.entries.items()
        }
        external = {"external": found.memory.external or "none"}
        _show_rows(picture, "memory", {"folder": found.memory.folder, **kept, **external})
    if (gateway := found.gateway) is not None and gateway.answers:
        _show_rows(picture, "gateway", _gateway_rows(gateway))
    _show_rows(picture, "home", {"folder": found.home})
    _show_rows(picture, "settings files", _file_rows(found) or {"none": ""})
    if found.settings is not None:
        changed = _collect_settings(found.settings)
        _show_rows(picture, "settings that differ from the defaults", changed)
    if found.window is not None:
        _show_rows(picture, "model", _model_rows(found.window))
    _show_rows(picture, "versions", found.versions)
    _show_rows(
        picture,
        "optional packages",
        {
            extra.name: f"{extra.package} {extra.version}".strip()
            if extra.installed
            else f"not installed: {extra.remedy}   ({extra.purpose})"
            for extra in found.extras
        },
    )
    _show_rows(picture, "agents with sessions here", {path: name for name, path in found.agents})
    if found.installed:
        rows = {one.title: ", ".join(one.installed) for one in found.installed}
        _show_rows(picture, "installed into agents", rows)


def _gateway_rows(state: GatewayState) -> dict[str, str]:
    answered = f"answers with HTTP {state.provider_status} ({state.note})"
    provider = answered if state.provider_status else "does not answer"
    return {"address": state.address, "provider": provider}


def _file_rows(found: Diagnosis) -> dict[str, str]:
    return {
        WHOSE[file.whose]: f"{file.name}, {STATES[file.state]}" for file in found.settings_files
    }


def _model_rows(window: Window) -> dict[str, str]:
    tokens = f"{window.tokens:,} tokens ({window.source})"
    return {"name": window.model or "no model is configured", "window": tokens}


def _store_rows(state: StoreState) -> dict[str, str]:
    rows = {"place": state.place, "profile": state.profile}
    health = state.health
    if health is None:
        return rows
    share = health.stored_bytes / health.text_bytes if health.text_bytes else 0.0
    return rows | {
        "at": health.where,
        "database": f"{health.backend} {health.version}, schema {health.schema}",
        "written": health.written_by,
        "holds": f"{count_of(health.sessions, 'session')}, {count_of(health.messages, 'message')}",
        "size": f"{health.stored_bytes / _MB:,.1f} MB for {health.text_bytes / _MB:,.1f} MB of "
        f"messages (×{share:.2f})",
        "not indexed": f"{health.unindexed:,}",
    }


def _collect_settings(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings that somebody gave."""
    usual, policy = _settings_row(Settings()), cast("dict[str, Any]", settings["policy"])
    found = {
        name: value
        for name, value in settings.items()
        if name not in ("policy", "warnings") and value != usual[name]
    }
    found |= {name: value for name, value in policy.items() if value != getattr(Policy(), name)}
    return found or {"none": ""}


def _show_rows(picture: Picture, title: str, rows: Mapping[str, object]) -> None:
    picture.paragraph((f"\n  {title}", "bold"))
    lines = [((shorten(name), "dim"), shorten(str(value))) for name, value in rows.items()]
    picture.table("lf", lines, indent=4)
