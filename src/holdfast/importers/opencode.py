"""OpenCode: one document a session, `{"info", "messages": [{"info", "parts"}]}`."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.importers import blocks
from holdfast.importers.draft import SessionDraft
from holdfast.importers.imported import ImportedSession, Lineage
from holdfast.importers.loose import elements, fields, seconds, text
from holdfast.transcript import Payload

_OPEN = frozenset({"pending", "running"})


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
    if draft.rows:
        yield draft.finish("opencode", "anthropic", path)


def _prompt(draft: SessionDraft, about: Payload, parts: list[Any], place: str) -> None:
    content = [block for part in parts for block in _words(fields(part))]
    if content:
        when = seconds(fields(about.get("time")).get("created"))
        draft.add(blocks.message("user", content), text(about.get("id")), when, place)


def _answer(draft: SessionDraft, about: Payload, parts: list[Any], place: str) -> None:
    draft.model = text(about.get("modelID")) or draft.model
    when = seconds(fields(about.get("time")).get("created"))
    own = text(about.get("id"))
    for step in _steps(parts):
        said: list[Payload] = []
        results: list[tuple[str, Payload]] = []
        for part in step:
            if part.get("type") == "tool":
                _tool(part, said, results)
            else:
                said.extend(_words(part))
        if said:
            entry_id = own or text(step[0].get("id"))
            item, summary = blocks.message("assistant", said), about.get("summary") is True
            draft.add(item, entry_id, when, place, summary=summary)
            own = ""
        if results:
            item = blocks.message("user", [result for _, result in results])
            draft.add(item, results[0][0], when, place)


def _steps(parts: list[Any]) -> list[list[Payload]]:
    steps: list[list[Payload]] = [[]]
    for part in parts:
        if fields(part).get("type") == "step-start":
            steps.append([])
        steps[-1].append(fields(part))
    return steps


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
            return blocks.linked(text(part.get("url")), mime) if _is_shown(mime) else []
        case _:
            return []


def _is_shown(mime: str) -> bool:
    return mime.startswith("image/") or mime == "application/pdf"
