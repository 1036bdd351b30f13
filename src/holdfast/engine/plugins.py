"""Engines by name: ours, and what other packages register."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from holdfast.engine.compressor import Compressor
from holdfast.engine.contract import ContextEngine
from holdfast.errors import HoldfastError, InvalidSetting, UnknownName
from holdfast.reduction import TextReducer

GROUP = "holdfast.engines"
REDUCERS_GROUP = "holdfast.reducers"


def engine_named(name: str, **settings: Any) -> ContextEngine:
    """Return a new engine by its name.

    Raises `UnknownName` with the ones there are, and `InvalidSetting` for a package that fails or
    makes something else.
    """
    if name == "compressor":
        return Compressor(**settings)
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        raise UnknownName("engine", name, engine_names())
    try:
        made: Any = found[name].load()(**settings)
    except HoldfastError:
        raise
    except Exception as error:  # another package may raise anything
        raise InvalidSetting(
            "engine.name", name,
            f"an engine that can be made; its package raises {type(error).__name__}",
        ) from error  # fmt: skip
    if not isinstance(made, ContextEngine):
        raise InvalidSetting(
            "engine.name", name, f"an engine; its package makes {type(made).__name__}"
        )
    return made


def engine_names() -> tuple[str, ...]:
    """Return the names of the engines there are, ours first; none is loaded."""
    return ("compressor", *sorted(entry.name for entry in entry_points(group=GROUP)))


def reducer_named(name: str) -> TextReducer:
    """Return a text reducer that another package brings, or raise `UnknownName`."""
    found = {entry.name: entry for entry in entry_points(group=REDUCERS_GROUP)}
    if name not in found:
        raise UnknownName("reducer", name, tuple(sorted(found)))
    return found[name].load()
