"""Continue: one document a session, in its CLI as in editors (`sessions/ID.json`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foldaway.agents.importers.blocks import chat_call
from foldaway.agents.importers.files import decode, elements, fields, read_beside, seconds, text
from foldaway.agents.importers.imported import ImportedSession, SessionDraft
from foldaway.agents.importers.usage import usage_of
from foldaway.transcript import Payload

_NO_TITLE = "Untitled Session"
_CENTS = 100
_INDEX = "sessions.json"


def is_session(value: Payload) -> bool:
    """Return whether an object is a session of Continue."""
    history = elements(value.get("history"))
    is_one = "sessionId" in value and bool(history)
    return is_one and all("message" in fields(item) for item in history[:8])


def read(session: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield the session of a document as chat messages.

    The result of a call is with the answer that made it; it is a message of its own here.
    """
    draft = SessionDraft(text(session.get("sessionId")))
    title = text(session.get("title"))
    draft.title = "" if title == _NO_TITLE else title
    draft.cwd = text(session.get("workspaceDirectory")).removeprefix("file://")
    when = _find_start(path, draft.source_id)
    for index, item in enumerate(map(fields, elements(session.get("history")))):
        _take(draft, item, when, f"history[{index}]")
    yield from draft.finish("continue", "openai-chat", path)


def _find_start(path: str, own: str) -> float | None:
    """Return when a session began; only the list of all sessions beside it says so."""
    for row in map(fields, elements(decode(read_beside(Path(path).with_name(_INDEX))))):
        if row.get("sessionId") == own:
            given = text(row.get("dateCreated"))
            return seconds(int(given) if given.isdecimal() else given)
    return None


def _take(draft: SessionDraft, item: Payload, when: float | None, place: str) -> None:
    message = fields(item.get("message"))
    role, content = text(message.get("role")), message.get("content")
    made: Payload = {"role": role, "content": content if type(content) in (str, list) else ""}
    calls = [fields(call) for call in elements(message.get("toolCalls"))]
    if role == "tool":
        made["tool_call_id"] = text(message.get("toolCallId"))
    if calls:
        made["tool_calls"] = [_call(call) for call in calls]
    if not calls and not made["content"]:
        draft.note("left out", place, "a message without words, calls or results")
        return
    summary = text(item.get("conversationSummary"))
    draft.add(made, text(message.get("id")), when, place)
    report = fields(message.get("usage"))
    cents = report.get("cost_cents")
    cost = cents / _CENTS if isinstance(cents, (int, float)) else None
    draft.model = text(report.get("model")) or draft.model
    draft.add_usage(usage_of(report, cost=cost))
    for state in map(fields, elements(item.get("toolCallStates"))):
        _result(draft, state, when, place)
    if summary:
        draft.add({"role": "user", "content": summary}, "", when, place, summary=True)


def _call(call: Payload) -> Payload:
    function = fields(call.get("function"))
    return chat_call(text(call.get("id")), text(function.get("name")), function.get("arguments"))


def _result(draft: SessionDraft, state: Payload, when: float | None, place: str) -> None:
    """Add what a call gave; one that still runs has nothing."""
    output = elements(state.get("output"))
    if not output:
        return
    said = "\n\n".join(text(fields(part).get("content")) for part in output)
    answered = text(state.get("toolCallId"))
    draft.add({"role": "tool", "tool_call_id": answered, "content": said}, "", when, place)
