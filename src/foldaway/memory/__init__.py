"""Persistent memory: what outlives every compaction and every session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foldaway._core import import_later

if TYPE_CHECKING:
    from foldaway.memory.external.mcp import result_text
    from foldaway.memory.external.mcp_session import McpOptions, McpSession
    from foldaway.memory.external.registry import external_named
    from foldaway.memory.files.entries import MemoryEntry
    from foldaway.memory.files.history import to_bytes, to_text
    from foldaway.memory.files.memory_file import Change, MemoryFile
    from foldaway.memory.files.provider import Bounds, FilesProvider, memory_files, memory_folder
    from foldaway.memory.manager import MemoryManager, Recalled
    from foldaway.memory.messages import extract_user_words, inject
    from foldaway.memory.provider import MemoryProvider, MemoryTurn, Switch

__all__ = ["FilesProvider", "MemoryManager", "MemoryProvider", "MemoryTurn", "memory_folder"]


__getattr__ = import_later(
    __name__,
    {
        "external.registry": "external_named",
        "external.mcp": "result_text",
        "external.mcp_session": "McpOptions McpSession",
        "files.entries": "MemoryEntry",
        "files.history": "to_bytes to_text",
        "files.memory_file": "Change MemoryFile",
        "files.provider": "Bounds FilesProvider memory_files memory_folder",
        "manager": "MemoryManager Recalled",
        "messages": "extract_user_words inject",
        "provider": "MemoryProvider MemoryTurn Switch",
    },
)
