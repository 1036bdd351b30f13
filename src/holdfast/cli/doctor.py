"""`holdfast doctor`: how the store, the settings and the packages stand."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import click
from msgspec import Struct, to_builtins

from holdfast.adapters.plugins import engine_names
from holdfast.cli.config.draw import without_password
from holdfast.cli.extras import Extra, extras, version_of
from holdfast.cli.inputs import json_option
from holdfast.cli.settings import settings_from, window_of
from holdfast.cli.store import is_missing, place_of, store_options
from holdfast.config import (
    Settings,
    SettingsFile,
    agent_places,
    external_memory,
    home_folder,
    open_store,
)
from holdfast.dialects.jsontext import dump
from holdfast.errors import HoldfastError, StoreUnavailable, UnknownName
from holdfast.memory.files.provider import Bounds, memory_files, memory_folder
from holdfast.stores.values import Health

_PACKAGES = ("holdfast", "msgspec", "apsw", "zstandard", "platformdirs", "click", "rich")


class Window(Struct, frozen=True):
    """What is known of the configured model."""

    model: str
    tokens: int
    source: str
    note: str = ""


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


class Diagnosis(Struct, frozen=True, kw_only=True):
    """All that `doctor` found; `problems` is empty where nothing is broken."""

    healthy: bool
    problems: tuple[str, ...]
    hints: tuple[str, ...]
    """What could be better."""
    versions: dict[str, str]
    home: str
    settings_files: tuple[SettingsFile, ...]
    settings: dict[str, Any] | None
    window: Window | None
    store: StoreState | None
    memory: MemoryState | None
    extras: tuple[Extra, ...]
    agents: tuple[tuple[str, str], ...]
    """Folders and files in which agents keep sessions."""


@click.command()
@click.option("--deep", is_flag=True, help="Read every page and every message of the store.")
@store_options
@json_option
def doctor(deep: bool, as_json: bool, **options: Any) -> int:
    """Say how the store, the memory, the settings and the packages stand.

    The health of the store, what is remembered, versions, the settings in force, the window of the
    configured model, optional packages that are missing and how to get them, and the folders of
    agents that `holdfast import` would look into. Nothing is changed or asked of a server. Exit
    code 1 where something is broken.

    \b
    holdfast doctor
    holdfast doctor --deep --json
    """
    found = _diagnosed(options, deep=deep)
    if as_json:
        click.echo(dump(to_builtins(found)))
    else:
        from holdfast.cli.show_doctor import show_diagnosis

        show_diagnosis(found)
    return 0 if found.healthy else 1


def _diagnosed(options: dict[str, Any], *, deep: bool) -> Diagnosis:
    problems: list[str] = []
    hints: list[str] = []
    settings: Settings | None = None
    window: Window | None = None
    store: StoreState | None = None
    memory: MemoryState | None = None
    try:
        settings = settings_from(options)
    except HoldfastError as error:
        problems.append(str(error))
    if settings is not None:
        known = window_of(settings, settings.model)
        note = known.note if settings.model else ""
        window = Window(known.model, known.tokens, known.source, note)
        if settings.engine not in engine_names():
            problems.append(
                f"[engine] name: {UnknownName('engine', settings.engine, engine_names())}"
            )
        store = _store(options, settings, problems, hints, deep=deep)
        memory = _memory(options, settings, problems)
    return Diagnosis(
        healthy=not problems, problems=tuple(problems), hints=tuple(hints), versions=_versions(),
        home=str(options["home"] or home_folder()),
        settings_files=settings.files if settings else (),
        settings=None if settings is None else _shown(settings), window=window, store=store,
        memory=memory, extras=extras(),
        agents=tuple((agent, str(path)) for agent, path in agent_places()),
    )  # fmt: skip


def _store(
    options: dict[str, Any],
    settings: Settings,
    problems: list[str],
    hints: list[str],
    *,
    deep: bool,
) -> StoreState:
    place = without_password(str(place_of(options, settings)))
    try:
        with open_store(
            place_of(options, settings), profile=settings.profile, read_only=True
        ) as store:
            health = store.health(deep)
    except StoreUnavailable as error:
        is_new = is_missing(error)
        if is_new:
            hints.append("no sessions are kept yet; `holdfast import` takes those of your agents")
        else:
            problems.append(str(error))
        return StoreState(place=place, profile=settings.profile, exists=not is_new)
    except HoldfastError as error:
        problems.append(str(error))
        return StoreState(place=place, profile=settings.profile, exists=False)
    problems.extend(f"{health.where}: {problem}" for problem in health.problems)
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


def _memory(options: dict[str, Any], settings: Settings, problems: list[str]) -> MemoryState | None:
    home = str(options["home"] or home_folder())
    entries: dict[str, int] = {}
    try:
        folder = memory_folder(Path(home), settings.profile)
        for file in memory_files(folder, Bounds()).values():
            entries[file.name] = len(file.entries())
        external_memory(settings, environment={**os.environ, "HOLDFAST_HOME": home})
    except HoldfastError as error:
        problems.append(str(error))
        return None
    return MemoryState(folder=str(folder), entries=entries, external=settings.memory)


def _is_writable(file: str) -> bool:
    """Return whether SQLite could write: into the file, and new files beside it."""
    folder = os.path.dirname(os.path.abspath(file))
    return os.access(file, os.W_OK) and os.access(folder, os.W_OK)


def _shown(settings: Settings) -> dict[str, Any]:
    found: dict[str, Any] = to_builtins(settings)
    for name in ("files", "origins"):  # `holdfast config show` has them
        del found[name]
    for name in ("store", "summarizer_url"):
        found[name] = without_password(found[name])
    found["memory_options"] = {
        name: sorted(table) for name, table in found["memory_options"].items()
    }
    return found


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "system": platform.platform(terse=True)}
    return found | {name: version_of(name) for name in _PACKAGES}
