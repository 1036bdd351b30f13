"""Pi and OpenClaw: a line an entry; from version 2 on a tree by `id` and `parentId`.

OpenClaw is built on Pi. It keeps the same entries in a database, long ones packed by zstd.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import zstandard

from foldaway.agents.importers import blocks
from foldaway.agents.importers.files import (
    AgentDatabase,
    FileEntry,
    decode,
    elements,
    fields,
    seconds,
    text,
)
from foldaway.agents.importers.imported import ImportedSession, Lineage, SessionDraft, file_stem
from foldaway.agents.importers.usage import convert_usage, usage_of
from foldaway.transcript import Payload

_NOT_SENT = frozenset({"error", "aborted"})
"""How answers end that Pi does not send again."""
_ROLES = frozenset({"user", "assistant", "toolResult", "bashExecution", "custom"})
_SUMMARIES = frozenset({"compaction", "branch_summary"})
_SUMMARY_ROLES = {
    "compactionSummary": (
        "The conversation history before this point was compacted into the following summary:"
        "\n\n<summary>\n{summary}\n</summary>"
    ),
    "branchSummary": (
        "The following is a summary of a branch that this conversation came back from:"
        "\n\n<summary>\n{summary}</summary>"
    ),
}
"""The same two in the list that Pi sends, and its words around them."""
TABLES = {
    "transcript_events": {"session_id", "seq", "event_json"},
    "session_windows": {"session_id"},
}
"""The tables and columns that make a database one of OpenClaw."""
_LONGEST_EVENT = 1 << 22
"""Bytes of an unpacked entry, as OpenClaw limits them itself."""


def is_line(value: Payload) -> bool:
    """Return whether an object is a line of Pi."""
    kind = value.get("type")
    if kind == "session":
        return "id" in value and "timestamp" in value
    if kind != "message" or "uuid" in value or "sessionId" in value:
        return False
    role = fields(value.get("message")).get("role")
    return type(role) is str and role in _ROLES


def read_database(database: AgentDatabase, path: str) -> Iterator[ImportedSession]:
    """Yield the sessions of an agent of OpenClaw, each with its branches."""
    for window in database.rows("session_windows", order="rowid"):
        own = text(window.get("session_id"))
        rows = database.rows("transcript_events", where="session_id", value=own, order="seq")
        yield from read(
            (FileEntry(at, fields(decode(_event(row)))) for at, row in enumerate(rows, 1)),
            path,
            "openclaw",
        )


def _event(row: Payload) -> Any:
    packed = row.get("event_zstd")
    if type(packed) is not bytes:
        return row.get("event_json")
    try:
        found = zstandard.ZstdDecompressor().decompress(packed, max_output_size=_LONGEST_EVENT)
    except zstandard.ZstdError:
        return None
    return found.decode("utf-8", "replace")


def read(lines: Iterable[FileEntry], path: str, agent: str = "pi") -> Iterator[ImportedSession]:
    """Yield the session of a file, then its branches, each with its own messages only.

    An entry whose parent has a child already starts a branch. Turns that were aborted before
    they said anything are left out, and noted.
    """
    main = SessionDraft()
    drafts: list[SessionDraft] = [main]
    homes: dict[str, SessionDraft] = {}
    parents: set[str] = set()
    model = ""
    for entry in lines:
        value, kind = entry.value, text(entry.value.get("type"))
        if kind == "session":
            if not main.source_id and not main.rows:
                model = _begin(main, value)
            continue
        if kind == "session_info":
            main.title = text(value.get("name")) or main.title
        model = text(value.get("modelId")) or model
        own, parent = text(value.get("id")), text(value.get("parentId"))
        draft = homes.get(parent, main)
        if parent in parents:
            stem = main.source_id or file_stem(path)
            draft = SessionDraft(
                f"{stem}/{own}", Lineage(draft.source_id or stem, "branch", parent)
            )
            draft.cwd = main.cwd
            drafts.append(draft)
        if parent:
            parents.add(parent)
        if own:
            homes[own] = draft
        draft.model = _take(draft, entry, own) or model or draft.model
    for draft in drafts:
        yield from draft.finish(agent, "anthropic", path)


def _begin(draft: SessionDraft, value: Payload) -> str:
    """Take the facts of the session and return its model."""
    draft.source_id = text(value.get("id"))
    draft.cwd = text(value.get("cwd"))
    parent = text(value.get("parentSession"))
    if parent:
        draft.lineage = Lineage(file_stem(parent).rpartition("_")[2], "branch")
    return text(value.get("modelId"))


def _take(draft: SessionDraft, entry: FileEntry, own: str) -> str:
    """Add the message of an entry, if it is one, and return the model that wrote it."""
    value, kind = entry.value, text(entry.value.get("type"))
    when = seconds(value.get("timestamp"))
    if kind in _SUMMARIES:
        said = blocks.words(text(value.get("summary")))
        if said:
            draft.add(blocks.message("user", said), own, when, entry.place, summary=True)
        return ""
    if kind not in ("message", "custom_message"):
        return ""
    found = fields(value.get("message")) if kind == "message" else value
    item = _read_message(found)
    if item["content"]:
        draft.add(item, own, when, entry.place)
    else:
        draft.note("left out", entry.place, "a message without words, calls or results")
    model = text(found.get("model"))
    draft.add_usage(usage_of(found.get("usage"), model=model, time=when, cached_apart=True), own)
    return model


def _read_message(found: Payload) -> Payload:
    """Return a message of Pi as Anthropic writes it; without content if no model sees it."""
    role, content = found.get("role"), found.get("content")
    if role == "assistant":
        return blocks.message("assistant", _read_blocks(content))
    if role == "toolResult":
        call_id = text(found.get("toolCallId"))
        failed = found.get("isError") is True
        return blocks.message(
            "user", [blocks.result(call_id, _read_blocks(content), failed=failed)]
        )
    if frame := _SUMMARY_ROLES.get(text(role)):
        said = frame.replace("{summary}", text(found.get("summary")))
        return blocks.message("user", blocks.words(said))
    if role == "bashExecution":
        if found.get("excludeFromContext") is True:
            return blocks.message("user", [])
        ran = f"Ran `{text(found.get('command'))}`\n```\n{text(found.get('output'))}\n```"
        return blocks.message("user", blocks.words(ran))
    return blocks.message("user", _read_blocks(content))


def _read_blocks(content: Any) -> list[Payload]:
    if type(content) is str:
        return blocks.words(content)
    return [made for block in elements(content) for made in _read_block(fields(block))]


def _read_block(block: Payload) -> list[Payload]:
    """Return a block of Pi as Anthropic writes it; none if it says nothing."""
    match block.get("type"):
        case "text":
            return blocks.words(text(block.get("text")))
        case "thinking":
            signature = text(block.get("thinkingSignature"))
            return blocks.thought(text(block.get("thinking")), signature)
        case "image":
            return blocks.media(text(block.get("data")), text(block.get("mimeType")))
        case "toolCall":
            name = text(block.get("name"))
            return [blocks.call(text(block.get("id")), name, block.get("arguments"))]
        case _:
            return []


# Its list of messages while it runs, as its plug-in hands it over


class PiForm:
    """A role and content; a result is a message of its own."""

    def messages_of(self, own: Payload) -> list[Payload]:
        """Return a message in Anthropic's form; none if Pi does not send it."""
        if own.get("role") == "assistant" and text(own.get("stopReason")) in _NOT_SENT:
            return []
        found = _read_message(own)
        return [found] if found["content"] else []

    def built(
        self, messages: Sequence[Payload], own: Payload | None, listed: Sequence[Payload]
    ) -> list[Payload]:
        """Return messages as Pi writes them."""
        return [made for one in messages for made in _write_message(one, own or {}, listed)]

    def usage_of(self, own: Payload) -> Payload | None:
        """Return what the provider counted for an answer."""
        return convert_usage(own.get("usage")) if own.get("role") == "assistant" else None


def _write_message(message: Payload, own: Payload, listed: Sequence[Payload]) -> list[Payload]:
    found = blocks.content_of(message)
    time = own.get("timestamp", 0)
    if message.get("role") == "assistant":
        like = own if own.get("role") == "assistant" else _last_answer(listed)
        return [{**like, "role": "assistant", "content": _write_blocks(found, own)}]
    made = [_write_result(one, own, listed) for one in found if one.get("type") == "tool_result"]
    rest = [one for one in found if one.get("type") != "tool_result"]
    if rest:
        made.append({"role": "user", "content": _write_blocks(rest, own), "timestamp": time})
    return made


def _last_answer(listed: Sequence[Payload]) -> Payload:
    return fields(next((one for one in reversed(listed) if one.get("role") == "assistant"), None))


def _write_result(block: Payload, own: Payload, listed: Sequence[Payload]) -> Payload:
    call_id, content = text(block.get("tool_use_id")), _write_blocks(blocks.content_of(block), own)
    if text(own.get("toolCallId")) == call_id:
        return {**own, "content": content}
    return {
        "role": "toolResult",
        "toolCallId": call_id,
        "toolName": _name_of(call_id, listed),
        "content": content,
        "isError": block.get("is_error") is True,
        "timestamp": own.get("timestamp", 0),
    }


def _name_of(call_id: str, listed: Sequence[Payload]) -> str:
    for message in reversed(listed):
        if text(message.get("toolCallId")) == call_id:
            return text(message.get("toolName"))
    return ""


def _write_blocks(given: Sequence[Payload], own: Payload) -> list[Any]:
    """Return blocks as Pi writes them; those that its own message has are its own."""
    held = [fields(block) for block in elements(own.get("content"))]
    return [made for block in given for made in _write_block(block, held)]


def _write_block(block: Payload, held: Sequence[Payload]) -> list[Payload]:
    for one in held:
        if _read_block(one) == [block]:
            return [one]
    match block.get("type"):
        case "text":
            return [{"type": "text", "text": block.get("text")}]
        case "thinking":
            return [
                {
                    "type": "thinking",
                    "thinking": block.get("thinking"),
                    "thinkingSignature": block.get("signature"),
                }
            ]
        case "image":
            source = fields(block.get("source"))
            return [
                {"type": "image", "data": source.get("data"), "mimeType": source.get("media_type")}
            ]
        case "tool_use":
            own = fields(next((one for one in held if one.get("id") == block.get("id")), None))
            return [
                {
                    **own,
                    "type": "toolCall",
                    "id": block.get("id"),
                    "name": block.get("name"),
                    "arguments": block.get("input"),
                }
            ]
        case _:
            return []
