"""OpenCode: one document a session, `{"info", "messages": [{"info", "parts"}]}`.

Its own stores are a folder of many small files, or the database that replaced it; their sessions
are put together as an export would be.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from foldaway.agents.importers import blocks
from foldaway.agents.importers.files import (
    AgentDatabase,
    decode,
    elements,
    fields,
    is_outside,
    read_object,
    seconds,
    text,
)
from foldaway.agents.importers.imported import (
    ImportedSession,
    Lineage,
    Note,
    SessionDraft,
    with_notes,
)
from foldaway.agents.importers.usage import convert_usage, usage_of
from foldaway.dialects import Limits
from foldaway.transcript import Payload

_SAID = {
    "compaction": "What did we do so far?",
    "subtask": "The following tool was executed by the user",
}
"""What OpenCode says for parts that have no words."""
_OWN_ID = "foldaway"
_OPEN = frozenset({"pending", "running"})
TABLES = {
    "session": {"id", "title"},
    "message": {"id", "session_id", "data"},
    "part": {"id", "message_id", "session_id", "data"},
}


def is_export(value: Payload) -> bool:
    """Return whether an object is what `opencode export` writes."""
    found = elements(value.get("messages"))
    return (
        type(value.get("info")) is dict
        and bool(found)
        and all("info" in fields(message) and "parts" in fields(message) for message in found[:8])
    )


def read(export: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield the session of an export.

    A tool part holds call and result, so each step of an answer gives a message with its words
    and calls, and one with the results. A call that is still running has no result.
    """
    info = fields(export.get("info"))
    draft = SessionDraft(text(info.get("id")))
    draft.title, draft.cwd = text(info.get("title")), text(info.get("directory"))
    parent = text(info.get("parentID"))
    draft.lineage = Lineage(parent, "subagent") if parent else None
    for index, message in enumerate(elements(export.get("messages"))):
        about, parts = fields(fields(message).get("info")), elements(fields(message).get("parts"))
        place = f"messages[{index}]"
        before = len(draft.rows)
        if about.get("role") == "assistant":
            _answer(draft, about, parts, place)
        else:
            _prompt(draft, about, parts, place)
        if len(draft.rows) == before:
            draft.note("left out", place, "a message without words, calls or results")
    yield from draft.finish("opencode", "anthropic", path)


def _prompt(draft: SessionDraft, about: Payload, parts: list[Any], place: str) -> None:
    content = _prompt_blocks(parts)
    if content:
        when = seconds(fields(about.get("time")).get("created"))
        draft.add(blocks.message("user", content), text(about.get("id")), when, place)


def _answer(draft: SessionDraft, about: Payload, parts: list[Any], place: str) -> None:
    draft.model = text(about.get("modelID")) or draft.model
    when = seconds(fields(about.get("time")).get("created"))
    own = text(about.get("id"))
    for step in _steps_in(parts):
        said, results = _step_blocks(step)
        if said:
            entry_id = own or text(step[0].get("id"))
            item, summary = blocks.message("assistant", said), about.get("summary") is True
            draft.add(item, entry_id, when, place, summary=summary)
            own = ""
        for part in step:
            if part.get("type") == "step-finish":
                draft.add_usage(
                    usage_of(
                        part.get("tokens"),
                        model=draft.model,
                        cost=part.get("cost"),
                        time=when,
                        cached_apart=True,
                    )
                )
        if results:
            item = blocks.message("user", [result for _, result in results])
            draft.add(item, results[0][0], when, place)


def _prompt_blocks(parts: list[Any]) -> list[Payload]:
    """Return the blocks of a message of the user."""
    return [block for part in parts for block in _words(fields(part))]


def _steps_in(parts: list[Any]) -> list[list[Payload]]:
    """Return the parts of an answer, those of each step in a list of its own."""
    steps: list[list[Payload]] = [[]]
    for part in parts:
        if fields(part).get("type") == "step-start":
            steps.append([])
        steps[-1].append(fields(part))
    return steps


def _step_blocks(step: list[Payload]) -> tuple[list[Payload], list[tuple[str, Payload]]]:
    """Return what a step says and calls, and the results with the ids of their parts."""
    said: list[Payload] = []
    results: list[tuple[str, Payload]] = []
    for part in step:
        if part.get("type") == "tool":
            _tool(part, said, results)
        else:
            said.extend(_words(part))
    return said, results


def _tool(part: Payload, said: list[Payload], results: list[tuple[str, Payload]]) -> None:
    call_id, state = text(part.get("callID")), fields(part.get("state"))
    said.append(blocks.call(call_id, text(part.get("tool")), state.get("input")))
    if text(state.get("status")) in _OPEN:
        return
    failed = state.get("status") == "error"
    answer = blocks.words(text(state.get("error" if failed else "output")))
    for file in elements(state.get("attachments")):
        answer.extend(_words(fields(file)))
    results.append((text(part.get("id")), blocks.result(call_id, answer, failed=failed)))


def _words(part: Payload) -> list[Payload]:
    match part.get("type"):
        case "text" if part.get("ignored") is not True:
            return blocks.words(text(part.get("text")))
        case "reasoning":
            return blocks.thought(text(part.get("text")))
        case "file":
            mime = text(part.get("mime"))
            return blocks.media_at(text(part.get("url")), mime) if _is_shown(mime) else []
        case _:
            return []


def _is_shown(mime: str) -> bool:
    return mime.startswith("image/") or mime == "application/pdf"


def is_folder(folder: Path) -> bool:
    """Return whether this is OpenCode's `storage`."""
    return (folder / "session").is_dir() and (folder / "message").is_dir()


def read_folder(
    folder: Path, limits: Limits = Limits(), *, follow_links: bool = False
) -> Iterator[ImportedSession]:
    """Yield the sessions of a `storage` folder, each put together as an export would be.

    What a link or an id puts outside the folder is not read.
    """
    notes: list[Note] = []
    root = "" if follow_links else os.path.realpath(folder)

    def load(path: Path) -> Payload:
        return read_object(path, root, limits, notes)

    def files(kind: str, name: str) -> list[Path]:
        inside = folder / kind / name
        is_ours = Path(name).name == name and not (root and is_outside(inside, root))
        return sorted(inside.glob("*.json")) if is_ours else []

    for path in sorted((folder / "session").rglob("*.json")):
        info = load(path)
        own = text(info.get("id")) or path.stem
        messages: list[Payload] = []
        for each in files("message", own):
            parts = [load(part) for part in files("part", each.stem)]
            messages.append({"info": load(each), "parts": parts})
        found = read({"info": {**info, "id": own}, "messages": messages}, str(path))
        yield from with_notes(found, notes)


def read_database(database: AgentDatabase, path: str) -> Iterator[ImportedSession]:
    """Yield the sessions of an `opencode.db`, each put together as an export would be."""
    for session in database.rows("session", order="id"):
        own = session["id"]
        parts: dict[Any, list[Payload]] = {}
        for row in database.rows("part", where="session_id", value=own, order="id"):
            parts.setdefault(row["message_id"], []).append({**_object(row), "id": row["id"]})
        messages = [
            {"info": {**_object(row), "id": row["id"]}, "parts": parts.get(row["id"], [])}
            for row in database.rows("message", where="session_id", value=own, order="id")
        ]
        info = {**session, "parentID": session.get("parent_id")}
        yield from read({"info": info, "messages": messages}, path)


def _object(row: Payload) -> Payload:
    return fields(decode(row.get("data")))


# Its list of messages while it runs, as its plug-in hands it over


class OpenCodeForm:
    """An answer of one step is a message with its words and calls, and one with the results."""

    def messages_of(self, own: Payload) -> list[Payload]:
        """Return a message in Anthropic's form; none if OpenCode does not send it."""
        info, parts = fields(own.get("info")), elements(own.get("parts"))
        if info.get("role") != "assistant":
            content = _prompt_blocks(parts)
            for part in parts:
                content += blocks.words(_SAID.get(text(fields(part).get("type")), ""))
            return [blocks.message("user", content)] if content else []
        error = text(fields(info.get("error")).get("name"))
        if error and error != "MessageAbortedError":
            return []
        found: list[Payload] = []
        for step in _steps_in(parts):
            said, results = _step_blocks(step)
            if said:
                found.append(blocks.message("assistant", said))
            if results:
                found.append(blocks.message("user", [result for _, result in results]))
        return found

    def built(
        self, messages: Sequence[Payload], own: Payload | None, listed: Sequence[Payload]
    ) -> list[Payload]:
        """Return messages as OpenCode writes them."""
        found: list[Payload] = []
        held = [fields(part) for part in elements(fields(own).get("parts"))]
        for message in messages:
            content, role = blocks.content_of(message), text(message.get("role"))
            results = {
                text(block.get("tool_use_id")): block
                for block in content
                if block.get("type") == "tool_result"
            }
            words = [block for block in content if block.get("type") != "tool_result"]
            if results and found:
                found[-1] = {**found[-1], "parts": _set_results(found[-1]["parts"], results)}
            if words:
                found.append(_write_message(role, words, own, held, listed))
        return found

    def usage_of(self, own: Payload) -> Payload | None:
        """Return what the provider counted for an answer."""
        info = fields(own.get("info"))
        return convert_usage(info.get("tokens")) if info.get("role") == "assistant" else None


def _write_message(
    role: str,
    content: Sequence[Payload],
    own: Payload | None,
    held: Sequence[Payload],
    listed: Sequence[Payload],
) -> Payload:
    info = fields(fields(own).get("info"))
    if info.get("role") != role:
        others = (fields(one.get("info")) for one in reversed(listed))
        like = fields(next((one for one in others if one.get("role") == role), None))
        info = {**like, "id": f"{text(info.get('id')) or text(like.get('id'))}-{_OWN_ID}"}
    start = [{"type": "step-start"}] if role == "assistant" else []
    made = [*start, *(part for block in content for part in _write_parts(block, held))]
    ids = {"sessionID": info.get("sessionID"), "messageID": info.get("id")}
    parts = [{"id": f"prt_{_OWN_ID}_{at}", **ids, **part} for at, part in enumerate(made)]
    return {"info": info, "parts": parts}


def _write_parts(block: Payload, held: Sequence[Payload]) -> list[Payload]:
    """Return a block as parts; those that the agent's own message has are its own."""
    kind = block.get("type")
    if kind == "tool_use":
        own = [one for one in held if one.get("callID") == block.get("id")]
        return [
            {**one, "state": {**fields(one.get("state")), "input": block.get("input")}}
            for one in own
        ]
    for one in held:
        if one.get("type") != "tool" and _prompt_blocks([one]) == [block]:
            return [one]
    if kind == "text":
        return [{"type": "text", "text": block.get("text"), "synthetic": True}]
    return []  # thinking and media are never written by us


def _set_results(parts: list[Any], results: dict[str, Payload]) -> list[Any]:
    """Return parts whose calls have other results."""
    return [
        {**part, "state": _write_state(fields(part.get("state")), results[part["callID"]])}
        if part.get("callID") in results
        else part
        for part in parts
    ]


def _write_state(state: Payload, result: Payload) -> Payload:
    content = blocks.content_of(result)
    said = "\n".join(text(one.get("text")) for one in content if one.get("type") == "text")
    if state.get("status") == "error":
        return {**state, "error": said}
    files = [one for one in elements(state.get("attachments")) if _is_in(one, content)]
    rest = {key: value for key, value in state.items() if key != "attachments"}
    return {**rest, "output": said, **({"attachments": files} if files else {})}


def _is_in(file: Any, content: Sequence[Payload]) -> bool:
    made = _prompt_blocks([file])
    return bool(made) and all(one in content for one in made)
