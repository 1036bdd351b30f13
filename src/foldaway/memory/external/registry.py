"""External memories by name: ours, and what other packages register."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from foldaway._core import PluginKind
from foldaway.memory.external import mcp, mem0
from foldaway.memory.provider import MemoryProvider

GROUP = "foldaway.memory"


class MakeMemory(Protocol):
    """What an entry point names: makes a provider from its options, quickly and without a network.

    The folder is where it may keep things; it need not exist.
    """

    def __call__(self, options: Mapping[str, object], folder: Path) -> MemoryProvider:
        """Return the provider; raise `InvalidSetting` for options that it does not take."""
        ...


OURS: Mapping[str, MakeMemory] = {"mcp": mcp.make, "mem0": mem0.make}
_MEMORIES = PluginKind(group=GROUP, word="memory", setting="memory.external", ours=OURS)


def external_named(name: str, options: Mapping[str, object], folder: Path) -> MemoryProvider:
    """Return a new provider by its name, with the table `[memory.NAME]` as its options.

    Raises `UnknownName` with the ones there are, `InvalidSetting` for options that it does not
    take and for a package that fails, and `MissingExtra` if its package is not installed.
    """
    return _MEMORIES.make(name, MemoryProvider, options, folder)
