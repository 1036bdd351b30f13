"""Persistent memory: what outlives every compaction and every session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway.exports import import_later

if TYPE_CHECKING:
    from foldaway.memory.files.provider import FilesProvider, memory_folder
    from foldaway.memory.manager import MemoryManager
    from foldaway.memory.provider import MemoryProvider, MemoryTurn

__all__ = [
    "FilesProvider",
    "MemoryManager",
    "MemoryProvider",
    "MemoryTurn",
    "memory_folder",
]

_LATER = {
    "FilesProvider": "foldaway.memory.files.provider",
    "MemoryManager": "foldaway.memory.manager",
    "MemoryProvider": "foldaway.memory.provider",
    "MemoryTurn": "foldaway.memory.provider",
    "memory_folder": "foldaway.memory.files.provider",
}

__getattr__ = import_later(__name__, _LATER)
