"""Hermes: the sessions of a `state.db`, and those that it exports as JSON.

A compaction of Hermes sets all rows aside and writes the kept ones again; such copies are left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from foldaway.agents.importers.files import (
    AgentDatabase,
    decode,
    elements,
    fields,
    identifier,
    seconds,
    text,
)
from foldaway.agents.importers.imported import (
    ImportedSession,
    Lineage,
    Note,
    Relation,
    SessionDraft,
)
from foldaway.agents.importers.usage import usage_of
from foldaway.transcript import Payload

TABLES = {"sessions": {"id", "source"}, "messages": {"id", "session_id", "role", "content"}}
"""The tables and columns that make a database one of Hermes, of whatever version."""
_JSON = "\0json:"
_ROLES = frozenset({"system", "user", "assistant", "tool"})
_RELATIONS: dict[str, Relation] = {"compression": "compression", "branched": "branch"}
_SUMMARY_MARKS = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]")
_SAME_WRITE_SECONDS = 0.01
"""A compaction stamps what it writes a microsecond apart, if a message has no older time."""


def is_export(value: Payload) -> bool:
    """Return whether an object is a session that Hermes exported."""
    return "parent_session_id" in value and type(value.get("messages")) is list


def read_database(database: AgentDatabase, path: str) -> Iterator[ImportedSession]:
    """Yield the sessions of a `state.db`, oldest first.

    Rows that a compaction set aside are part of the log, and the copies that it wrote of them are
    not; rows that the user took back are left out.
    """
    ended: dict[str, str] = {}
    for session in database.rows("sessions", order="rowid"):
        ended[identifier(session.get("id"))] = text(session.get("end_reason"))
        rows = list(database.rows("messages", where="session_id", value=session["id"], order="id"))
        yield from _read(session, rows, ended, path)


def read_export(value: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield the session of an export."""
    yield from _read(value, [fields(row) for row in elements(value.get("messages"))], {}, path)


def _read(
    session: Payload, rows: Sequence[Payload], ended: dict[str, str], path: str
) -> Iterator[ImportedSession]:
    draft = SessionDraft(identifier(session.get("id")))
    draft.title, draft.cwd = text(session.get("title")), text(session.get("cwd"))
    draft.model = text(session.get("model"))
    draft.total_usage = usage_of(session, time=session.get("ended_at"), cached_apart=True)
    parent = identifier(session.get("parent_session_id"))
    if parent:
        draft.lineage = Lineage(parent, _RELATIONS.get(ended.get(parent, ""), "subagent"))
    prompt = text(session.get("system_prompt"))
    if prompt:
        item = {"role": "system", "content": prompt}
        draft.add(item, "system", seconds(session.get("started_at")), "system prompt")
    live = [row for row in rows if row.get("active", 1) != 0 or row.get("compacted", 0)]
    if len(live) < len(rows):
        taken = len(rows) - len(live)
        draft.note("taken back", "messages", f"{taken} messages that the user took back")
    before = len(draft.rows)
    for row, summary in without_copies(live, draft.notes):
        _take(draft, row, summary=summary)
    if len(draft.rows) > before:
        yield from draft.finish("hermes", "openai-chat", path)


def _take(draft: SessionDraft, row: Payload, *, summary: bool) -> None:
    place = f"message {identifier(row.get('id'))}".strip()
    role = text(row.get("role"))
    if role not in _ROLES:
        draft.note("left out", place, "a row that is no message")
        return
    item: Payload = {"role": role, "content": _content(row.get("content"))}
    calls = row.get("tool_calls")
    calls = decode(calls) if type(calls) is str else calls
    if role == "assistant" and elements(calls):
        item["tool_calls"] = calls
    if role == "tool":
        item["tool_call_id"] = text(row.get("tool_call_id"))
        item["content"] = "" if item["content"] is None else item["content"]
    reasoning = text(row.get("reasoning_content")) or text(row.get("reasoning"))
    if role == "assistant" and reasoning:
        item["reasoning_content"] = reasoning
    when = seconds(row.get("timestamp"))
    draft.add(item, identifier(row.get("id")), when, place, summary=summary)


def _content(content: Any) -> Any:
    if type(content) is str and content.startswith(_JSON):
        found = decode(content[len(_JSON) :])
        return content if found is None else found
    return content if content is None or type(content) in (str, list) else str(content)


def without_copies(rows: Sequence[Payload], notes: list[Note]) -> Iterator[tuple[Payload, bool]]:
    """Yield each row once, and whether a compaction wrote it.

    A row is a copy if it repeats an earlier one and has the same time, or if it was written
    together with a summary. A user may say the same twice: such a row is not a copy.
    """
    written = sorted(seconds(row.get("timestamp")) or 0.0 for row in rows if _is_summary(row))
    seen: dict[Any, set[float | None]] = {}
    copies = 0
    for row in rows:
        said, stamp = _identify(row), seconds(row.get("timestamp"))
        earlier = seen.setdefault(said, set())
        if stamp is not None and earlier and (stamp in earlier or _is_near(stamp, written)):
            copies += 1
            continue
        earlier.add(stamp)
        yield row, _is_summary(row)
    if copies:
        said = f"{copies} copies of earlier messages, written by a compaction"
        notes.append(Note("duplicate", "messages", said))


def _is_near(stamp: float, written: list[float]) -> bool:
    at = bisect_left(written, stamp - _SAME_WRITE_SECONDS)
    return at < len(written) and written[at] <= stamp + _SAME_WRITE_SECONDS


def _identify(row: Payload) -> Any:
    """Return what makes two rows the same: the answered call, the calls, or the words."""
    role = text(row.get("role"))
    answered = text(row.get("tool_call_id"))
    if answered:
        return role, "result", answered
    calls = row.get("tool_calls")
    if calls:
        ids = [identifier(fields(call).get("id")) for call in elements(calls)]
        return role, "calls", tuple(ids) if ids else str(calls)
    return role, "words", str(row.get("content")).strip()


def _is_summary(row: Payload) -> bool:
    return text(row.get("content")).lstrip().startswith(_SUMMARY_MARKS)
