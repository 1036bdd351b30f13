"""Engines by name: ours, and what other packages register."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from holdfast.adapters.contract import ContextEngine
from holdfast.adapters.hermes import HermesEngine
from holdfast.errors import HoldfastError, InvalidSetting, UnknownName

GROUP = "holdfast.engines"


def engine_named(name: str, **settings: Any) -> ContextEngine:
    """Return a new engine by its name.

    Raises `UnknownName` with the ones there are, and `InvalidSetting` for a package that fails or
    makes something else.
    """
    if name == "compressor":
        return HermesEngine(**settings)
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
