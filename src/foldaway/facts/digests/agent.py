"""The agent's own work: tasks, questions to the user, memories, subagents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from foldaway.facts.digests.fields import digest_other, fields_of, object_in, result_of
from foldaway.facts.digests.line import (
    clip,
    failure_in,
    first_line,
    first_of,
    last_line,
    plural,
    size_of,
    strip_tags,
    words_of,
)
from foldaway.facts.tools import ARGUMENTS
from foldaway.regex import Regex

_LISTS = ARGUMENTS["task_lists"]
_TEXTS = ARGUMENTS["task_texts"]
_STATES = ARGUMENTS["task_states"]
_DONE = frozenset({"completed", "complete", "done", "finished", "closed", "x"})
_DOING = frozenset({"in_progress", "doing", "active", "started", "current", "-", "~", "/"})
_DROPPED = frozenset({"cancelled", "canceled", "deleted", "skipped", "dropped"})
_BOX = Regex(r"[ \t]{0,40}(?:[-*+] |\d{1,4}[.)] )?\[([ xX~/-])\] ([^\n]{1,400})")
_NUMBERED = Regex(r"#(\d{1,6}) \[(\w{1,20})\] ([^\n]{1,400})")
_MOST_ITEMS = 500
"""Of a list of tasks that are counted; chosen, it bounds the time."""


def digest_todo(name: str, arguments: Mapping[str, Any], output: str) -> str:
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
    return digest_other(name, arguments, output)


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


_QUESTIONS = ARGUMENTS["questions"]
_ROOM_CHARS = 230
"""For questions and answers; what a digest of `LIMIT_CHARS` leaves beside its lead."""
_LOOKED_AT_CHARS = 20_000
"""Of a result, where the answer to a question is looked for; chosen."""


def digest_question(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "AskUserQuestion 'Which version?': '0.6.0'"."""
    asked = _asked(arguments)
    pairs = [(question, _user_answer(question, output)) for question in asked]
    if pairs and all(answer is not None for _, answer in pairs):
        room = _ROOM_CHARS // len(pairs) // 2
        told = [f"{clip(question, room)!r}: {clip(answer or '', room)!r}"
                for question, answer in pairs]  # fmt: skip
        return f"{name} {'; '.join(told)}"
    question = clip(asked[0], 100) if asked else "a question"
    said = failure_in(output) or fields_of(output, arguments) or clip(strip_tags(output), 150)
    return f"{name} {question!r}: {said}"


def _asked(arguments: Mapping[str, Any]) -> list[str]:
    found = arguments.get("questions")
    if isinstance(found, list):
        entries = cast("list[Any]", found)
        words = [entry if isinstance(entry, str) else _words(entry) for entry in entries[:4]]
        return [word for word in words if word]
    question = first_of(arguments, *_QUESTIONS)
    return [question] if question else []


def _words(entry: Any) -> str:
    return first_of(cast("dict[str, Any]", entry), *_QUESTIONS) if isinstance(entry, dict) else ""


def _user_answer(question: str, output: str) -> str | None:
    """Return what stands as `"question"="answer"`, None where the question is not quoted so."""
    sign = f'"{question}"="'
    at = output.find(sign, 0, _LOOKED_AT_CHARS)
    if at < 0:
        return None
    start = at + len(sign)
    ends = [end for mark in ('", "', '". ') if (end := output.find(mark, start)) >= 0]
    return output[start : min(ends) if ends else None].rstrip('"')


_ACTIONS = ARGUMENTS["memory_actions"]
_ABOUT = ARGUMENTS["memory_about"]


def digest_memory(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "memory add 'prefers tabs': success=true"."""
    action = clip(first_of(arguments, *_ACTIONS), 30)
    about = clip(first_of(arguments, *_ABOUT), 100)
    done = f"{name}{f' {action}' if action else ''}{f' {about!r}' if about else ''}"
    return f"{done}: {result_of(output, arguments)}"


_ASKED = ARGUMENTS["asked"]
_WHO = ARGUMENTS["agents"]
_TRAILER = Regex(r"\n(?:agentId: |<usage>|<task_metadata>|</task_result>|task_id: )")
_IDS = ("agentId: ", "task_id: ", "session_id: ")
_ID = Regex(r"[\w-]{4,64}")
_LAUNCHED = ("launched", "running in the background", "started in the background")
_TAIL_CHARS = 3_000
"""Of a subagent's report, where its id and its last line are; chosen."""


def digest_subagent(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Task asked 'Find slow tests' of Explore: 120 lines; last: …"."""
    asked = clip(first_of(arguments, *_ASKED), 90)
    who = clip(first_of(arguments, *_WHO), 50)
    what = f" asked {asked!r}" if asked else ""
    whom = f" of {who}" if who else ""
    return f"{name}{what}{whom}: {_agent_answer(output)}"


def _agent_answer(output: str) -> str:
    failed = failure_in(output)
    if failed:
        return f"failed: {failed}"
    said = _finished(output) or fields_of(output)
    if said:
        return said
    tail = output[-_TAIL_CHARS:]
    known = _agent_id(tail)
    if any(word in output[:200] for word in _LAUNCHED):
        return f"{known}launched in the background"
    trailer = _TRAILER.search(tail)
    report = tail[: trailer.start()] if trailer else tail
    return f"{known}{size_of(output)}; last: {last_line(report, 110)}"


def _agent_id(tail: str) -> str:
    for sign in _IDS:
        at = tail.rfind(sign)
        found = _ID.match(tail, at + len(sign)) if at >= 0 else None
        if found:
            return f"agent {found[0]}, "
    return ""


def _finished(output: str) -> str:
    """Return the end of each report in a list of agents by state, as a wait gives it."""
    if 'status"' not in output[:200]:
        return ""
    found = object_in(output) or {}
    states = found.get("status", found.get("previous_status"))
    if not isinstance(states, dict):
        return ""
    told: list[str] = []
    for agent, state in cast("dict[str, Any]", states).items():
        if isinstance(state, dict):
            pairs = cast("dict[str, Any]", state).items()
            told.extend(f"{clip(agent, 40)} {how}: {last_line(words, 90)}" for how, words in pairs
                        if isinstance(words, str))  # fmt: skip
        elif isinstance(state, str):
            told.append(f"{clip(agent, 40)}: {last_line(state, 110)}")
    return "; ".join(told)
