"""Persistent memory: what outlives every compaction and every session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.exports import import_later

if TYPE_CHECKING:
    from holdfast.memory.files.provider import FilesProvider, memory_folder
    from holdfast.memory.manager import MemoryManager
    from holdfast.memory.provider import MemoryProvider, MemoryTurn

__all__ = [
    "FilesProvider",
    "MemoryManager",
    "MemoryProvider",
    "MemoryTurn",
    "memory_folder",
]

_LATER = {
    "FilesProvider": "holdfast.memory.files.provider",
    "MemoryManager": "holdfast.memory.manager",
    "MemoryProvider": "holdfast.memory.provider",
    "MemoryTurn": "holdfast.memory.provider",
    "memory_folder": "holdfast.memory.files.provider",
}

__getattr__ = import_later(__name__, _LATER)
