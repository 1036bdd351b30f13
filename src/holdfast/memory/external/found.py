"""External memories by name: ours, and what other packages register."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from holdfast.errors import HoldfastError, InvalidSetting, UnknownName
from holdfast.memory.external import mcp, mem0
from holdfast.memory.provider import MemoryProvider

GROUP = "holdfast.memory"


class Make(Protocol):
    """What an entry point names: makes a provider from its options, quickly and without a network.

    The folder is where it may keep things; it need not exist.
    """

    def __call__(self, options: Mapping[str, Any], folder: Path) -> MemoryProvider:
        """Return the provider; raise `InvalidSetting` for options that it does not take."""
        ...


OURS: Mapping[str, Make] = {"mcp": mcp.make, "mem0": mem0.make}


def external_named(name: str, options: Mapping[str, Any], folder: Path) -> MemoryProvider:
    """Return a new provider by its name, with the table `[memory.NAME]` as its options.

    Raises `UnknownName` with the ones there are, `InvalidSetting` for options that it does not
    take and for a package that fails, and `MissingExtra` where its package is not installed.
    """
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in OURS and name not in found:
        raise UnknownName("memory", name, tuple(sorted({*OURS, *found})))
    try:
        make: Any = OURS.get(name) or found[name].load()
        made: Any = make(options, folder)
    except HoldfastError:
        raise
    except Exception as error:  # another package may raise anything
        raise InvalidSetting(
            "memory.external", name,
            f"a memory that can be made; its package raises {type(error).__name__}",
        ) from error  # fmt: skip
    if not isinstance(made, MemoryProvider):
        raise InvalidSetting(
            "memory.external", name, f"a memory; its package makes {type(made).__name__}"
        )
    return made
