"""Engines and text reducers by name: ours, and what other packages register."""

from __future__ import annotations

from typing import Any

from holdfast.engine.compressor import Compressor
from holdfast.adapters.contract import ContextEngine
from holdfast.plugins import PluginKind
from holdfast.reduction import TextReducer

GROUP = "holdfast.engines"
REDUCERS_GROUP = "holdfast.reducers"

_ENGINES = PluginKind(
    group=GROUP, word="engine", setting="engine.name", ours={"compressor": Compressor}
)
_REDUCERS = PluginKind(group=REDUCERS_GROUP, word="reducer", setting="reducer")


def engine_named(name: str, **settings: Any) -> ContextEngine:
    """Return a new engine by its name.

    Raises `UnknownName` with the ones there are, and `InvalidSetting` for a package that fails or
    makes something else.
    """
    if name == "compressor":
        return Compressor(**settings)
    return _ENGINES.make(name, ContextEngine, **settings)


def engine_names() -> tuple[str, ...]:
    """Return the names of the engines there are, ours first; none is loaded."""
    return _ENGINES.names()


def reducer_named(name: str) -> TextReducer:
    """Return a text reducer that another package brings, or raise `UnknownName`."""
    return _REDUCERS.load(name)
