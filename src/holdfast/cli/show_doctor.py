"""The picture of `doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.cli.config.draw import STATES, WHOSE
from holdfast.cli.doctor import Diagnosis, StoreState
from holdfast.cli.draw import console_for, counted, indented, print_line, shortened
from holdfast.config import Settings
from holdfast.policy import Policy

_MB = 1_000_000


def show_diagnosis(found: Diagnosis) -> None:
    """Print what was found, what is broken first."""
    console = console_for()
    utf = console.encoding.startswith("utf")
    good, bad = ("✓", "✗") if utf else ("ok", "BROKEN")
    if found.healthy:
        print_line(console, Text(f"{good} nothing is broken", "bold green"))
    for problem in found.problems:
        print_line(console, Text(f"{bad} ", "bold red").append(shortened(problem)))
    if found.store is not None:
        _store(console, found.store)
    if found.memory is not None:
        kept = {
            name: counted(many, "entry", "entries") for name, many in found.memory.entries.items()
        }
        external = {"external": found.memory.external or "none"}
        _rows(console, "memory", {"folder": found.memory.folder, **kept, **external})
    _rows(console, "home", {"folder": found.home})
    files = {
        WHOSE[file.whose]: f"{file.name}, {STATES[file.state]}" for file in found.settings_files
    }
    _rows(console, "settings files", files or {"none": ""})
    if found.settings is not None:
        _rows(console, "settings that differ from the defaults", _changed(found.settings))
    if found.window is not None:
        model = found.window.model or "no model is configured"
        _rows(console, "model", {
            "name": model, "window": f"{found.window.tokens:,} tokens ({found.window.source})",
        })  # fmt: skip
    _rows(console, "versions", found.versions)
    _rows(console, "optional packages", {
        extra.name: f"{extra.package} {extra.version}".strip() if extra.installed
        else f"missing: {extra.remedy}   ({extra.purpose})"
        for extra in found.extras
    })  # fmt: skip
    _rows(console, "agents with sessions here", {path: agent for agent, path in found.agents})
    for hint in (*found.hints, found.window.note if found.window else ""):
        if hint:
            print_line(console, Text("  note: ", "yellow").append(shortened(hint)))


def _store(console: Console, state: StoreState) -> None:
    rows: dict[str, Any] = {"place": state.place, "profile": state.profile}
    health = state.health
    if health is not None:
        share = health.stored_bytes / health.text_bytes if health.text_bytes else 0.0
        rows |= {
            "at": health.where,
            "database": f"{health.backend} {health.version}, schema {health.schema}",
            "holds": f"{counted(health.sessions, 'session')}, "
                     f"{counted(health.messages, 'message')}",
            "size": f"{health.stored_bytes / _MB:,.1f} MB for {health.text_bytes / _MB:,.1f} MB "
                    f"of messages (×{share:.2f})",
            "not indexed": f"{health.unindexed:,}",
        }  # fmt: skip
    _rows(console, "store", rows)


def _changed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that somebody gave."""
    usual: dict[str, Any] = {name: getattr(Settings(), name) for name in settings}
    found = {
        name: value
        for name, value in settings.items()
        if name not in ("policy", "warnings") and value != usual[name]
    }
    policy = cast("dict[str, Any]", settings["policy"])
    found |= {name: value for name, value in policy.items() if value != getattr(Policy(), name)}
    return found or {"none": ""}


def _rows(console: Console, title: str, rows: Mapping[str, Any]) -> None:
    console.print(Text(f"\n  {title}", "bold"))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(shortened(name), shortened(str(value)))
    console.print(indented(grid, 4))
