"""Pi and OpenClaw: a line an entry; from version 2 on a tree by `id` and `parentId`.

OpenClaw is built on Pi. It keeps the same entries in a database, long ones packed by zstd.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from foldaway.agents.importers.imported import (
    ImportedSession,
    Lineage,
    SessionDraft,
    file_stem,
)
from foldaway.agents.importers.usage import usage_of
from foldaway.transcript import Payload

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
            path, "openclaw",
        )  # fmt: skip


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
    item = message_of(found)
    if item["content"]:
        draft.add(item, own, when, entry.place)
    else:
        draft.note("left out", entry.place, "a message without words, calls or results")
    model = text(found.get("model"))
    draft.add_usage(usage_of(found.get("usage"), model=model, time=when, cached_apart=True), own)
    return model


def message_of(found: Payload) -> Payload:
    """Return a message of Pi as Anthropic writes it; without content if no model sees it."""
    role, content = found.get("role"), found.get("content")
    if role == "assistant":
        return blocks.message("assistant", _blocks(content))
    if role == "toolResult":
        call_id = text(found.get("toolCallId"))
        failed = found.get("isError") is True
        return blocks.message("user", [blocks.result(call_id, _blocks(content), failed=failed)])
    if frame := _SUMMARY_ROLES.get(text(role)):
        said = frame.replace("{summary}", text(found.get("summary")))
        return blocks.message("user", blocks.words(said))
    if role == "bashExecution":
        if found.get("excludeFromContext") is True:
            return blocks.message("user", [])
        ran = f"Ran `{text(found.get('command'))}`\n```\n{text(found.get('output'))}\n```"
        return blocks.message("user", blocks.words(ran))
    return blocks.message("user", _blocks(content))


def _blocks(content: Any) -> list[Payload]:
    if type(content) is str:
        return blocks.words(content)
    return [made for block in elements(content) for made in block_of(fields(block))]


def block_of(block: Payload) -> list[Payload]:
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
