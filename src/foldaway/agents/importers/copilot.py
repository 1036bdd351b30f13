"""GitHub Copilot CLI: the events of a session, a line each (`session-state/ID/events.jsonl`).

A report on tokens comes before the answer that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from foldaway.agents.importers import blocks
from foldaway.agents.importers.files import FileEntry, elements, fields, read_beside, seconds, text
from foldaway.agents.importers.imported import AnswerUsage, ImportedSession, Lineage, SessionDraft
from foldaway.agents.importers.usage import usage_of
from foldaway.transcript import Payload

_FACTS = "workspace.yaml"
_NAME = re.compile(r"^name: (.{1,300})$", re.MULTILINE)
"""The title, in the file beside the events."""
_REPORTS = frozenset({"session.usage_record", "assistant.usage"})
_SUBJECTS = ("session.", "user.", "assistant.", "tool.", "system.", "model.", "subagent.")


def is_line(value: Payload) -> bool:
    """Return whether an object is an event of Copilot CLI."""
    kind = value.get("type")
    return (
        type(kind) is str
        and kind.startswith(_SUBJECTS)
        and type(value.get("data")) is dict
        and "parentId" in value
    )


def read(lines: Iterable[FileEntry], path: str) -> Iterator[ImportedSession]:
    """Yield the session of a file, then those of its subagents.

    What the user took back stays in the log, as all that was said.
    """
    main, prompt, waiting = SessionDraft(), "", list[AnswerUsage]()
    named = _NAME.search(read_beside(Path(path).with_name(_FACTS)).decode("utf-8", "replace"))
    main.title = named[1] if named else ""
    drafts: dict[str, SessionDraft] = {"": main}
    for entry in lines:
        kind, data = text(entry.value.get("type")), fields(entry.value.get("data"))
        agent = text(data.get("parentToolCallId")) or text(entry.value.get("agentId"))
        if agent not in drafts:
            drafts[agent] = SessionDraft(f"{main.source_id}/{agent}")
            drafts[agent].lineage = Lineage(main.source_id, "sidechain")
            drafts[agent].cwd = main.cwd
        if kind == "system.message" and not agent:
            prompt = prompt or text(data.get("content"))
        elif kind == "session.start":
            _begin(main, data)
        elif kind in _REPORTS:
            waiting += _reports(entry, data)
        else:
            _take(drafts[agent], entry, kind, data)
            if kind == "assistant.message":
                for usage in waiting:
                    drafts[agent].add_usage(usage)
                waiting.clear()
    for usage in waiting:
        main.add_usage(usage)
    for draft in drafts.values():
        system = {"system": prompt} if prompt and draft is main else None
        yield from draft.finish("copilot-cli", "anthropic", path, system=system)


def _begin(draft: SessionDraft, data: Payload) -> None:
    if not draft.rows:
        draft.source_id = draft.source_id or text(data.get("sessionId"))
    draft.model = draft.model or text(data.get("selectedModel"))
    draft.cwd = draft.cwd or text(fields(data.get("context")).get("cwd"))


def _take(draft: SessionDraft, entry: FileEntry, kind: str, data: Payload) -> None:
    """Take what an event says: a message, a report, or a fact about the session."""
    own, when = text(entry.value.get("id")), seconds(entry.value.get("timestamp"))
    match kind:
        case "session.title_changed":
            draft.title = text(data.get("title")) or draft.title
        case "session.model_change":
            draft.model = text(data.get("newModel")) or draft.model
        case "user.message":
            words = blocks.words(text(data.get("content")))
            _add(draft, entry, blocks.message("user", words), own, when)
        case "assistant.message":
            draft.model = text(data.get("model")) or draft.model
            _add(draft, entry, blocks.message("assistant", _answer(data)), own, when)
        case "tool.execution_complete":
            _add(draft, entry, blocks.message("user", [_result(data)]), own, when)
        case "session.compaction_complete":
            words = blocks.words(text(data.get("summaryContent")))
            _add(draft, entry, blocks.message("user", words), own, when, summary=True)
        case _:
            return


def _add(
    draft: SessionDraft,
    entry: FileEntry,
    item: Payload,
    own: str,
    when: float | None,
    *,
    summary: bool = False,
) -> None:
    if item["content"]:
        draft.add(item, own, when, entry.place, summary=summary)


def _answer(data: Payload) -> list[Payload]:
    calls = [fields(call) for call in elements(data.get("toolRequests"))]
    return [
        *blocks.thought(text(data.get("reasoningText"))),
        *blocks.words(text(data.get("content"))),
        *(
            blocks.call(text(call.get("toolCallId")), text(call.get("name")), call.get("arguments"))
            for call in calls
        ),
    ]


def _result(data: Payload) -> Payload:
    failed = data.get("success") is False
    said = text(fields(data.get("result")).get("content"))
    if failed:
        said = text(fields(data.get("error")).get("message")) or said
    return blocks.result(text(data.get("toolCallId")), blocks.words(said), failed=failed)


def _reports(entry: FileEntry, data: Payload) -> Iterator[AnswerUsage]:
    """Yield what a report says; its cost is a number of requests, not of dollars."""
    given = fields(data.get("usage")) or data
    report = {key: value for key, value in given.items() if key != "cost"}
    found = usage_of(report, time=entry.value.get("timestamp"))
    if found is not None:
        yield found
