"""Gemini CLI: a line a record, or (until 2026) one document a session.

A message is written again under its id when its calls have run. Each line gives what is new in
it, so that a line that comes later changes no message that is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from foldaway.agents.importers.files import FileEntry, elements, fields, read_beside, seconds, text
from foldaway.agents.importers.imported import ImportedSession, Lineage, SessionDraft, file_stem
from foldaway.agents.importers.usage import usage_of
from foldaway.transcript import Payload

_SPEAKERS = frozenset({"user", "gemini"})
_ROOT = ".project_root"
"""The file above the folder of the chats that names the folder of the project."""
_SNAPSHOT = "<state_snapshot>"
"""What the words of a compaction begin with."""


def is_line(value: Payload) -> bool:
    """Return whether an object is the head of a session, a change to it, or a message."""
    if "$set" in value or "$rewindTo" in value:
        return True
    if "sessionId" in value and "projectHash" in value:
        return "messages" not in value
    kind = value.get("type")
    return type(kind) is str and kind in _SPEAKERS and "content" in value and "id" in value


def is_session(value: Payload) -> bool:
    """Return whether an object is a session in one document."""
    return "projectHash" in value and type(value.get("messages")) is list


def read_document(value: Payload, path: str) -> Iterator[ImportedSession]:
    """Yield the session of a document."""
    recording = _Recording(path)
    recording.about(value)
    recording.replay(value.get("messages"), "messages")
    yield from recording.finish()


def read(lines: Iterable[FileEntry], path: str) -> Iterator[ImportedSession]:
    """Yield the session of a file, then what followed each time that the user went back."""
    recording = _Recording(path)
    for entry in lines:
        value, changed = entry.value, fields(entry.value.get("$set"))
        if "$rewindTo" in value:
            recording.rewind(text(value.get("$rewindTo")))
        elif changed:
            recording.about(changed)
            recording.replay(changed.get("messages"), entry.place)
        elif "sessionId" in value:
            recording.about(value)
        else:
            recording.take(value, entry.place)
    yield from recording.finish()


class _Recording:
    """The drafts of a file, and what of each message is in them already."""

    __slots__ = ("_drafts", "_given", "_homes", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._drafts = [SessionDraft()]
        self._given: set[str] = set()
        self._homes: dict[str, str] = {}
        """The messages in order, without those that were taken back; each with its session."""

    def about(self, value: Payload) -> None:
        """Take the facts of the session; its id only while it has no messages."""
        main = self._drafts[0]
        if not main.rows:
            main.source_id = main.source_id or text(value.get("sessionId"))
        main.title = text(value.get("summary")) or main.title
        folders = elements(value.get("directories"))
        main.cwd = main.cwd or (text(folders[0]) if folders else "")
        if not main.cwd:
            main.cwd = read_beside(Path(self._path).parent.parent / _ROOT).decode().strip()

    def replay(self, messages: Any, place: str) -> None:
        """Take the messages of a list that are not known."""
        for message in elements(messages):
            self.take(fields(message), place)

    def rewind(self, own: str) -> None:
        """Go on in a branch before this message; the whole session begins again without it."""
        order = list(self._homes)
        for gone in order[order.index(own) if own in self._homes else 0 :]:
            del self._homes[gone]
        main = self._drafts[0]
        name = main.source_id or file_stem(self._path)
        before = next(reversed(self._homes), "")
        lineage = Lineage(self._homes.get(before) or name, "branch", before)
        branch = SessionDraft(f"{name}/{len(self._drafts)}", lineage)
        branch.cwd, branch.model = main.cwd, main.model
        self._drafts.append(branch)

    def take(self, message: Payload, place: str) -> None:
        """Add what is new of a message: its words, its calls, their results."""
        own, kind, draft = text(message.get("id")), text(message.get("type")), self._drafts[-1]
        if kind not in _SPEAKERS:
            return
        self._homes.setdefault(own, draft.source_id)
        draft.model = text(message.get("model")) or draft.model
        when = seconds(message.get("timestamp"))
        role = "user" if kind == "user" else "model"
        said = self._new(own, [*_thoughts(message), *_parts(message.get("content"))])
        calls = [fields(call) for call in elements(message.get("toolCalls"))]
        called = self._new(own, [_call(call) for call in calls])
        if said or called:
            is_summary = any(_SNAPSHOT in text(part.get("text")) for part in said)
            item: Payload = {"role": role, "parts": [*said, *called]}
            name = _names(own, item["parts"])[0]
            draft.add(item, name if own else "", when, place, summary=is_summary)
        draft.add_usage(usage_of(message.get("tokens"), model=draft.model), own)
        answered = [part for call in calls for part in _parts(call.get("result"))]
        answers = self._new(own, answered)
        if answers:
            item = {"role": "user", "parts": answers}
            draft.add(item, _names(own, answers)[0], when, place)

    def _new(self, own: str, parts: list[Payload]) -> list[Payload]:
        """Return the parts that are in no message yet; results come again under other ids."""
        found: list[Payload] = []
        for name, part in zip(_names(own, parts), parts, strict=True):
            if name not in self._given or not own:
                self._given.add(name)
                found.append(part)
        return found

    def finish(self) -> Iterator[ImportedSession]:
        """Yield the sessions."""
        for draft in self._drafts:
            yield from draft.finish("gemini-cli", "gemini", self._path)


def _names(own: str, parts: list[Payload]) -> list[str]:
    """Return a name for each part of a message: the message's own for what it begins with."""
    names: list[str] = []
    for at, part in enumerate(parts):
        name = f"{own} {at}" if at else own
        for key in ("functionCall", "functionResponse"):
            called = text(fields(part.get(key)).get("id"))
            if key in part:
                name = f"{key} {called or name}"
        names.append(name)
    return names


def _parts(content: Any) -> list[Payload]:
    if type(content) is str:
        return [{"text": content}] if content.strip() else []
    found = [fields(content)] if type(content) is dict else elements(content)
    return [{"text": part} if type(part) is str else fields(part) for part in found if part]


def _thoughts(message: Payload) -> list[Payload]:
    thoughts = [fields(thought) for thought in elements(message.get("thoughts"))]
    said = "\n\n".join(
        f"{text(thought.get('subject'))}: {text(thought.get('description'))}"
        for thought in thoughts
    )
    return [{"text": said, "thought": True}] if said else []


def _call(call: Payload) -> Payload:
    found = {"id": text(call.get("id")), "name": text(call.get("name"))}
    return {"functionCall": {**found, "args": fields(call.get("args"))}}
