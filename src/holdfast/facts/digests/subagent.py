"""Subagents: what was asked, of whom, how it ended, what they said last."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from holdfast.facts.digests.failure import failure_in
from holdfast.facts.digests.fields import fields_of, object_in
from holdfast.facts.digests.line import clip, first_of, last_line, size_of

_ASKED = ("description", "goal", "task", "task_description", "message", "prompt", "query",
          "objective", "instructions", "input", "tasks")  # fmt: skip
_WHO = ("subagent_type", "agent_type", "agent_name", "agent", "mode", "recipient", "target",
        "targets", "to")  # fmt: skip
_TRAILER = re.compile(r"\n(?:agentId: |<usage>|<task_metadata>|</task_result>|task_id: )")
_IDS = ("agentId: ", "task_id: ", "session_id: ")
_ID = re.compile(r"[\w-]{4,64}")
_LAUNCHED = ("launched", "running in the background", "started in the background")
_TAIL_CHARS = 3_000


def digest(name: str, arguments: Mapping[str, Any], output: str) -> str:
    """Return e.g. "Task asked 'Find slow tests' of Explore: 120 lines; last: …"."""
    asked = clip(first_of(arguments, *_ASKED), 90)
    who = clip(first_of(arguments, *_WHO), 50)
    what = f" asked {asked!r}" if asked else ""
    whom = f" of {who}" if who else ""
    return f"{name}{what}{whom}: {_answer(output)}"


def _answer(output: str) -> str:
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
