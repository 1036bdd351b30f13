"""Engines by name: ours, and what other packages register."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from holdfast.engine.compressor import Compressor
from holdfast.engine.contract import ContextEngine
from holdfast.errors import UnknownName
from holdfast.reduction import TextReducer

GROUP = "holdfast.engines"
REDUCERS_GROUP = "holdfast.reducers"


def engine_named(name: str, **settings: Any) -> ContextEngine:
    """Return a new engine by its name, or raise `UnknownName` with the ones there are."""
    if name == "compressor":
        return Compressor(**settings)
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        raise UnknownName("engine", name, engine_names())
    return found[name].load()(**settings)


def engine_names() -> tuple[str, ...]:
    """Return the names of the engines there are, ours first; none is loaded."""
    return ("compressor", *sorted(entry.name for entry in entry_points(group=GROUP)))


def reducer_named(name: str) -> TextReducer:
    """Return a text reducer that another package brings, or raise `UnknownName`."""
    found = {entry.name: entry for entry in entry_points(group=REDUCERS_GROUP)}
    if name not in found:
        raise UnknownName("reducer", name, tuple(sorted(found)))
    return found[name].load()
