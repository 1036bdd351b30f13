"""Todo lists and plans: how many items in which state, which one is being worked on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from holdfast.facts.digests import other
from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.line import clip, first_line, first_of, plural, words_of

_LISTS = ("todos", "plan", "tasks", "items", "todo_list", "todoList", "task_list", "steps")
_TEXTS = ("content", "subject", "step", "title", "text", "description", "task", "name", "label")
_STATES = ("status", "state")
_DONE = frozenset({"completed", "complete", "done", "finished", "closed", "x"})
_DOING = frozenset({"in_progress", "doing", "active", "started", "current", "-", "~", "/"})
_DROPPED = frozenset({"cancelled", "canceled", "deleted", "skipped", "dropped"})
_BOX = re.compile(r"[ \t]{0,40}(?:[-*+] |\d{1,4}[.)] )?\[([ xX~/-])\] ([^\n]{1,400})")
_NUMBERED = re.compile(r"#(\d{1,6}) \[(\w{1,20})\] ([^\n]{1,400})")
_MOST_ITEMS = 500


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "TodoWrite: 5 items, 2 done, 1 in progress: 'Add tests', 2 pending"."""
    failed = failure_in(output)
    if failed:
        return f"{name} failed: {failed}"
    items = _given(arguments) or _listed(output)
    if items:
        return f"{name}: {_counted(items)}"
    one = _one(arguments)
    if one:
        return f"{name} {one}: {first_line(output, 100)}"
    plan = first_of(arguments, "plan", "response", "explanation")
    if plan:
        return f"{name} {first_line(plan, 100)!r}: {first_line(output, 120)}"
    return other.digest(name, arguments, output)


def _counted(items: list[tuple[str, str]]) -> str:
    """Return the counts by state and the items that matter now."""
    states = [state for state, _ in items]
    counts = {
        "done": sum(state in _DONE for state in states),
        "in progress": sum(state in _DOING for state in states),
        "cancelled": sum(state in _DROPPED for state in states),
    }
    counts["pending"] = len(items) - sum(counts.values())
    told = [f"{count} {state}" for state, count in counts.items() if count]
    now = next((text for state, text in items if state in _DOING), "")
    later = next((text for state, text in items
                  if state not in _DONE | _DOING | _DROPPED), "")  # fmt: skip
    focus = f"; in progress: {clip(now, 90)!r}" if now else ""
    focus += f"; next: {clip(later, 70)!r}" if later else ""
    return f"{plural(len(items), 'item')}: {', '.join(told)}{focus}"


def _given(arguments: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the state and the words of each item of a list, or of a text with boxes."""
    for key in _LISTS:
        found = arguments.get(key)
        if isinstance(found, list):
            return [_item(entry) for entry in cast("list[Any]", found)[:_MOST_ITEMS]]
        if isinstance(found, str) and "[" in found:
            return _listed(found)
    return []


def _item(entry: Any) -> tuple[str, str]:
    if not isinstance(entry, dict):
        return "pending", words_of(entry)
    fields = cast("dict[str, Any]", entry)
    state = first_of(fields, *_STATES).lower().replace("-", "_").replace(" ", "_")
    if fields.get("done") is True or fields.get("completed") is True:
        state = "done"
    return state, first_of(fields, *_TEXTS)


def _listed(text: str) -> list[tuple[str, str]]:
    boxes = [(box[1].lower(), box[2]) for line in text[:20_000].split("\n")
             if (box := _BOX.match(line))]  # fmt: skip
    return boxes or [(state.lower(), words) for _, state, words in
                     _NUMBERED.findall(text[:20_000])]  # fmt: skip


def _one(arguments: Mapping[str, Any]) -> str:
    """Return what happens to a single task, where the tool keeps them one by one."""
    number = words_of(arguments.get("taskId", arguments.get("task_id", arguments.get("id"))), 40)
    words = clip(first_of(arguments, "subject", "title", "activeForm"), 80)
    state = words_of(arguments.get("status"), 30)
    pieces = (f"task {number}" if number else "", f"{words!r}" if words else "",
              f"-> {state}" if state else "")  # fmt: skip
    return " ".join(piece for piece in pieces if piece)
