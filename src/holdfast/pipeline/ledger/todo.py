"""The agent's own list of tasks, as its tools hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from holdfast.pipeline.ledger.lines import cut

_LISTS = ("todos", "plan", "items", "tasks", "newTodos", "new_todos")
_WORDS = ("content", "step", "text", "title", "task", "description", "subject", "name")
_STATES = ("status", "state")
_DONE = ("completed", "done", "complete", "finished", "cancelled")
_MOST_ITEMS = 60
_ITEM_CHARS = 200


def todo_text(arguments: Mapping[str, Any]) -> str:
    """Return the list as lines "state: words"; "" where the arguments hold none."""
    for name in _LISTS:
        rows = arguments.get(name)
        if isinstance(rows, list):
            lines = [line for row in cast("list[Any]", rows)[:_MOST_ITEMS] if (line := _line(row))]
            return "\n".join(lines)
    return ""


def parted(text: str) -> tuple[list[str], list[str], list[str]]:
    """Return the items of `todo_text` that are done, under way, and still to do."""
    done: list[str] = []
    under_way: list[str] = []
    to_do: list[str] = []
    for line in text.split("\n"):
        state, _, words = line.partition(": ")
        if state.lower().startswith(_DONE):
            done.append(words)
        elif "progress" in state.lower() or state.lower() in ("active", "doing", "current"):
            under_way.append(words)
        elif words:
            to_do.append(words)
    return done, under_way, to_do


def _line(row: Any) -> str:
    if isinstance(row, str):
        return f"pending: {_flat(row)}" if row.strip() else ""
    if not isinstance(row, dict):
        return ""
    item = cast("dict[str, Any]", row)
    words = next((item[name] for name in _WORDS if isinstance(item.get(name), str)), "")
    state = next((item[name] for name in _STATES if isinstance(item.get(name), str)), "pending")
    return f"{_flat(state)}: {_flat(words)}" if words else ""


def _flat(text: str) -> str:
    return cut(text, _ITEM_CHARS)
