"""An agent's own list of tasks, from the calls that keep it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import replace

from foldaway._core import Regex
from foldaway.facts.ledger.fact import Fact
from foldaway.facts.ledger.lines import cut
from foldaway.facts.tools import ARGUMENTS

_LISTS = ARGUMENTS["todo_lists"]
_WORDS = ARGUMENTS["todo_words"]
_STATES = ARGUMENTS["task_states"]
_DONE = ("completed", "done", "complete", "finished", "cancelled")
_MOST_ITEMS = 60
"""Of one list of tasks."""
_ITEM_CHARS = 200
"""Of one task."""
_NUMBER = Regex(r"#(\d{1,9})\b")
_NUMBER_CHARS = 200
"""Of a result, where the number of a new task is told."""
_GONE = "deleted"


def todo_text(arguments: Mapping[str, Any]) -> str:
    """Return the list as lines "state: words"; "" where the arguments hold none."""
    for name in _LISTS:
        rows = arguments.get(name)
        if isinstance(rows, list):
            lines = [line for row in cast("list[Any]", rows)[:_MOST_ITEMS] if (line := _line(row))]
            return "\n".join(lines)
    return ""


def task_told(arguments: Mapping[str, Any], output: str) -> tuple[str, str]:
    """Return the number of one task and its line; ("", "") where a call is about none.

    Some agents keep their list a task at a time: the call that makes one tells its words and the
    result its number, a later call the number and what is new.
    """
    number = arguments.get("taskId", arguments.get("task_id", ""))
    words = next((arguments[key] for key in _WORDS if isinstance(arguments.get(key), str)), "")
    if not number and words:
        found = _NUMBER.search(output[:_NUMBER_CHARS])
        return (found[1], f"pending: {_flat(words)}") if found else ("", "")
    state = next((arguments[key] for key in _STATES if isinstance(arguments.get(key), str)), "")
    if not isinstance(number, (str, int)) or not (state or words):
        return "", ""
    return _flat(str(number)), f"{_flat(state)}: {_flat(words)}"


def merge_tasks(held: Fact | None, fact: Fact) -> Fact:
    """Return the list with what a fact says of one task (`key`), or the new list as it is.

    The numbers of the tasks stand in `was`, a line each.
    """
    if not fact.key:
        return fact
    rows: dict[str, str] = {}
    if held is not None and held.was:
        rows = dict(zip(held.was.split("\n"), held.text.split("\n"), strict=False))
    state, _, words = fact.text.partition(": ")
    was_state, _, was_words = rows.get(fact.key, "pending: ").partition(": ")
    rows[fact.key] = f"{state or was_state}: {words or was_words}"
    if state == _GONE or not (words or was_words):
        del rows[fact.key]
    while len(rows) > _MOST_ITEMS:
        del rows[next(iter(rows))]
    return replace(fact, text="\n".join(rows.values()), key="", was="\n".join(rows))


def split_tasks(text: str) -> tuple[list[str], list[str], list[str]]:
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
