"""SWE-agent: one document a run, with a `history` of chat messages beside the `trajectory`."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator

from holdfast.importers.draft import SessionDraft
from holdfast.importers.imported import ImportedSession
from holdfast.importers.loose import elements, fields, parsed, text
from holdfast.transcript import Payload

_KEPT = ("role", "content", "tool_calls", "reasoning_content", "thinking_blocks")


def is_trajectory(value: Payload) -> bool:
    """Return whether an object is a run of SWE-agent."""
    history = elements(value.get("history")) or elements(value.get("trajectory"))
    return bool(history) and any(
        mark in fields(history[0]) for mark in ("role", "response", "observation")
    )


def read(run: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield the history of a run; where there is none, what was answered and seen step by step."""
    draft = SessionDraft(text(run.get("instance_id")))
    draft.model = text(fields(fields(_config(run).get("agent")).get("model")).get("name"))
    for index, message in enumerate(elements(run.get("history"))):
        draft.add(_item(fields(message)), "", None, f"history[{index}]")
    if not draft.rows:
        for index, step in enumerate(elements(run.get("trajectory"))):
            _take(draft, fields(step), f"trajectory[{index}]")
    if draft.rows:
        yield draft.finish("swe-agent", "openai-chat", path)


def _item(message: Payload) -> Payload:
    """Return a message of the history as a chat message; the notes of the agent stay behind."""
    item = {key: message[key] for key in _KEPT if message.get(key) is not None}
    answered = elements(message.get("tool_call_ids"))
    if message.get("role") == "tool" and answered:
        item["tool_call_id"] = text(answered[0])
    return item


def _take(draft: SessionDraft, step: Payload, place: str) -> None:
    for role, key in (("assistant", "response"), ("user", "observation")):
        said = text(step.get(key))
        if said:
            draft.add({"role": role, "content": said}, "", None, place)


def _config(run: Payload) -> Payload:
    given = run.get("replay_config")
    return fields(parsed(given) if type(given) is str else given)
