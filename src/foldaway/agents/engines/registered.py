"""Engines by name: ours, and what other packages register."""

from __future__ import annotations

from typing import Any

from foldaway._core import PluginKind
from foldaway.agents.engines.contract import ContextEngine
from foldaway.agents.engines.hermes import HermesEngine

GROUP = "foldaway.engines"

_ENGINES = PluginKind(
    group=GROUP, word="engine", setting="engine.name", ours={"compressor": HermesEngine}
)


def engine_named(name: str, **settings: Any) -> ContextEngine:
    """Return a new engine by its name.

    Raises `UnknownName` with the ones there are, and `InvalidSetting` for a package that fails or
    makes something else.
    """
    if name == "compressor":
        return HermesEngine(**settings)
    return _ENGINES.make(name, ContextEngine, **settings)


def engine_names() -> tuple[str, ...]:
    """Return the names of the engines there are, ours first; none is loaded."""
    return _ENGINES.names()
