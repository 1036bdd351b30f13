"""Codex rollouts: a line an event; the response items among them are the conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from foldaway.agents.importers.files import FileEntry, elements, fields, seconds, text
from foldaway.agents.importers.imported import ImportedSession, Lineage, SessionDraft
from foldaway.agents.importers.usage import usage_of
from foldaway.transcript import Payload

_KINDS = frozenset({"session_meta", "response_item", "turn_context", "event_msg", "compacted"})
_NO_MESSAGES = frozenset({"ghost_snapshot", "other", ""})
_COMPACTIONS = frozenset({"compaction", "compaction_summary", "context_compaction"})


def is_line(value: Payload) -> bool:
    """Return whether an object is a line of a rollout; the first ones of 2025 had no payload."""
    kind = value.get("type")
    if type(kind) is str:
        return kind in _KINDS and type(value.get("payload")) is dict
    return "instructions" in value and "timestamp" in value and "id" in value


def read(lines: Iterable[FileEntry], path: str) -> Iterator[ImportedSession]:
    """Yield the one session of a rollout; each response item is a message.

    Events repeat what the items say; of them only the counts of tokens are taken, each once: one
    comes again if only a limit of the account changed. What a compaction wrote is one message
    more: the log goes on, and nothing before it is taken away.
    """
    draft, instructions = SessionDraft(), ""
    for entry in lines:
        value = entry.value
        kind, payload = value.get("type"), fields(value.get("payload"))
        if kind == "session_meta" or (kind is None and "instructions" in value):
            if not draft.source_id and not draft.rows:
                instructions = _begin(draft, payload or value)
        elif kind == "turn_context":
            draft.model = text(payload.get("model")) or draft.model
            draft.cwd = draft.cwd or text(payload.get("cwd"))
        elif kind == "compacted":
            _add(draft, entry, _summary(payload), summary=True)
        elif kind == "response_item":
            _add(draft, entry, payload)
        elif payload.get("type") == "token_count":
            counted = fields(payload.get("info"))
            window = counted.get("model_context_window")
            draft.window_tokens = window if type(window) is int and window > 0 else 0
            used = usage_of(
                counted.get("last_token_usage"), model=draft.model, time=value.get("timestamp")
            )
            draft.add_usage(used, str(counted.get("total_token_usage")))
        elif kind != "event_msg" and type(kind) is str and not payload:
            _add(draft, entry, value)
    system = {"instructions": instructions} if instructions else None
    yield from draft.finish("codex", "openai-responses", path, system=system)


def _begin(draft: SessionDraft, meta: Payload) -> str:
    """Take the facts of the session and return its instructions."""
    draft.source_id = text(meta.get("id"))
    draft.cwd = text(meta.get("cwd"))
    draft.lineage = _lineage(meta)
    given = meta.get("base_instructions")
    return text(fields(given).get("text")) or text(given) or text(meta.get("instructions"))


def _lineage(meta: Payload) -> Lineage | None:
    subagent = fields(meta.get("source")).get("subagent")
    spawned = fields(fields(subagent).get("thread_spawn"))
    parent = text(meta.get("parent_thread_id")) or text(spawned.get("parent_thread_id"))
    if parent:
        return Lineage(parent, "subagent")
    forked = text(meta.get("forked_from_id"))
    return Lineage(forked, "branch") if forked else None


def _add(draft: SessionDraft, entry: FileEntry, item: Payload, *, summary: bool = False) -> None:
    if text(item.get("type")) in _NO_MESSAGES:
        return
    when = seconds(entry.value.get("timestamp"))
    draft.add(item, text(item.get("id")), when, entry.place, summary=summary)


def _summary(payload: Payload) -> Payload:
    """Return what a compaction wrote: the provider's own item, otherwise its text."""
    history: list[Any] = elements(payload.get("replacement_history"))
    last = fields(history[-1]) if history else {}
    if text(last.get("type")) in _COMPACTIONS:
        return last
    said = text(payload.get("message"))
    if said:
        block = {"type": "input_text", "text": said}
        return {"type": "message", "role": "user", "content": [block]}
    return last
