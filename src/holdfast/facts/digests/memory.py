"""Memories: what was done with which one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.facts.digests.line import clip, first_of
from holdfast.facts.digests.other import result_of

_ACTIONS = ("action", "command", "operation", "mode")
_ABOUT = ("query", "content", "fact", "text", "memory", "memory_name", "key", "title", "name",
          "new_text", "path", "knowledge_to_store", "memory_file_name", "names", "id")  # fmt: skip


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "memory add 'prefers tabs': success=true"."""
    action = clip(first_of(arguments, *_ACTIONS), 30)
    about = clip(first_of(arguments, *_ABOUT), 100)
    done = f"{name}{f' {action}' if action else ''}{f' {about!r}' if about else ''}"
    return f"{done}: {result_of(output, arguments)}"
