"""Claude Code and Qwen Code: a line an entry, a tree by `uuid` and `parentUuid`.

Qwen Code took over the form of the lines; its messages are Gemini's, with `parts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from foldaway.agents.importers.files import FileEntry, elements, fields, seconds, text
from foldaway.agents.importers.imported import ImportedSession, Lineage, Relation, SessionDraft
from foldaway.agents.importers.usage import usage_of
from foldaway.transcript import Payload

_OTHER_LINES = frozenset(
    {
        "summary",
        "file-history-snapshot",
        "queue-operation",
        "custom-title",
        "ai-title",
        "last-prompt",
        "attachment",
        "progress",
        "agent-name",
    }
)
_MESSAGES = frozenset({"user", "assistant", "tool_result"})
"""Types of lines that are messages; the last one is Qwen Code's."""
_COMPACTION = "chat_compression"
_TITLE = "custom_title"
"""What Qwen Code calls lines of the type `system`."""


def is_qwen_line(value: Payload) -> bool:
    """Return whether an object is a line of Qwen Code."""
    if "uuid" not in value or "sessionId" not in value:
        return False
    return "systemPayload" in value or type(fields(value.get("message")).get("parts")) is list


def is_line(value: Payload) -> bool:
    """Return whether an object is a line of Claude Code."""
    kind = value.get("type")
    if type(kind) is not str:
        return False
    if kind in ("user", "assistant"):
        known = value.get("uuid") or value.get("sessionId") or value.get("session_id")
        return bool(known) and "message" in value
    if kind == "system":
        return "subtype" in value
    return kind in _OTHER_LINES and "role" not in value and "payload" not in value


def read(lines: Iterable[FileEntry], path: str) -> Iterator[ImportedSession]:
    """Yield the sessions of a file: each session id, then its branches and sidechains.

    Every line with words is one message, in the order of the file: an answer that is spread over
    many lines stays spread, so that a line that comes later changes no message that is there.
    Where a line belongs is decided by the lines before it. A prompt below an entry that another
    prompt follows already starts a branch; a line of a subagent goes to its sidechain.
    """
    yield from _read(lines, path, "claude-code", "anthropic")


def read_qwen(lines: Iterable[FileEntry], path: str) -> Iterator[ImportedSession]:
    """Yield the sessions of a file of Qwen Code, in the same way."""
    yield from _read(lines, path, "qwen-code", "gemini")


def _read(
    lines: Iterable[FileEntry], path: str, agent: str, dialect: str
) -> Iterator[ImportedSession]:
    tree = _Tree()
    for entry in lines:
        tree.take(entry)
    for draft in tree.finish():
        yield from draft.finish(agent, dialect, path)


class _Tree:
    """Which draft each entry belongs to.

    `_homes` has for each uuid its draft and the nearest entry at or above it that is a message;
    `_current` has for each session the draft of its latest line, where lines go whose parent is
    not there: it was torn, or there is none.
    """

    __slots__ = ("_current", "_drafts", "_homes", "_prompted", "_sidechains", "_titles")

    def __init__(self) -> None:
        self._current: dict[str, str] = {}
        self._drafts: dict[str, SessionDraft] = {}
        self._homes: dict[str, tuple[str, str]] = {}
        self._prompted: set[str] = set()
        self._sidechains: set[str] = set()
        self._titles: dict[str, str] = {}

    def take(self, entry: FileEntry) -> None:
        """Put a line where it belongs."""
        value = entry.value
        kind = value.get("type")
        told = fields(value.get("systemPayload"))
        if kind == "summary":
            self._titles[text(value.get("leafUuid"))] = text(value.get("summary"))
            return
        if kind in ("custom-title", "ai-title"):
            title = text(value.get("customTitle")) or text(value.get("aiTitle"))
            self._titles[text(value.get("sessionId"))] = title
            return
        if value.get("subtype") == _TITLE:
            self._titles[text(value.get("sessionId"))] = text(told.get("customTitle"))
        own = text(value.get("uuid"))
        parent = text(value.get("parentUuid")) or text(value.get("logicalParentUuid"))
        home = self._homes.get(parent)
        key = self._place(value, own, home)
        if value.get("subtype") == _COMPACTION:
            is_message = self._add(entry, own, key, _summary(told))
        else:
            is_message = text(kind) in _MESSAGES and self._add(entry, own, key)
        if own:
            self._homes[own] = (key, own if is_message or home is None else home[1])

    def _place(self, value: Payload, own: str, home: tuple[str, str] | None) -> str:
        session = text(value.get("sessionId")) or text(value.get("session_id"))
        caller = text(value.get("parent_tool_use_id"))
        if value.get("isSidechain") is True or caller:
            return self._sidechain(session, text(value.get("agentId")) or caller, own, home)
        key = self._line(session, value, own, home)
        self._current[session] = key
        return key

    def _sidechain(self, session: str, caller: str, own: str, home: tuple[str, str] | None) -> str:
        if not caller and home is not None and home[0] in self._sidechains:
            return home[0]
        key = f"{session}/{caller or own}"
        self._sidechains.add(key)
        parent = self._current.get(session, session)
        return self._open(key, parent, "sidechain", "" if home is None else home[1])

    def _line(self, session: str, value: Payload, own: str, home: tuple[str, str] | None) -> str:
        if home is None or home[0] in self._sidechains:
            return self._current.get(session) or self._open(session)
        above, anchor = home
        if above != session and not above.startswith(f"{session}/"):
            return self._current.get(session) or self._open(session, above, "resumed", anchor)
        if not _is_prompt(value):
            return above
        if anchor not in self._prompted:
            self._prompted.add(anchor)
            return above
        return self._open(f"{session}/{own}", above, "branch", anchor)

    def _open(self, key: str, parent: str = "", relation: Relation = "branch", at: str = "") -> str:
        if key not in self._drafts:
            lineage = Lineage(parent, relation, at) if parent else None
            self._drafts[key] = SessionDraft(key, lineage)
        return key

    def _add(self, entry: FileEntry, own: str, key: str, summary: Payload | None = None) -> bool:
        value, draft = entry.value, self._drafts[self._open(key)]
        forked = fields(value.get("forkedFrom"))
        if forked and draft.lineage is None:
            at = text(forked.get("messageUuid"))
            draft.lineage = Lineage(text(forked.get("sessionId")), "branch", at)
        draft.cwd = draft.cwd or text(value.get("cwd"))
        payload = fields(value.get("message")) if summary is None else summary
        is_message = bool(payload.get("content") or payload.get("parts"))
        model = text(payload.get("model")) or text(value.get("model"))
        if model and not model.startswith("<"):
            draft.model = model
        when = seconds(value.get("timestamp"))
        if is_message:
            is_summary = summary is not None or value.get("isCompactSummary") is True
            draft.add(payload, own, when, entry.place, summary=is_summary)
        else:
            draft.note("left out", entry.place, "a line without a message or without content")
        draft.add_usage(
            usage_of(payload.get("usage"), model=model, time=when, cached_apart=True)
            or usage_of(value.get("usageMetadata"), model=model, time=when),
            text(payload.get("id")) or own,
        )
        return is_message

    def finish(self) -> Iterator[SessionDraft]:
        """Yield the drafts with their titles."""
        titles = self._titles
        for key, draft in self._drafts.items():
            known = [titles[row.entry_id] for row in draft.rows if row.entry_id in titles]
            draft.title = titles.get(key, "") or (known[-1] if known else "")
            yield draft


def _is_prompt(value: Payload) -> bool:
    """Return whether a person wrote this line: a user's words, not results or inserted ones."""
    if value.get("type") != "user" or value.get("isMeta") or value.get("isCompactSummary"):
        return False
    message = fields(value.get("message"))
    content: Any = message.get("content")
    if type(content) is str:
        return bool(content)
    if elements(message.get("parts")):
        return True
    kinds = [fields(block).get("type") for block in elements(content)]
    return bool(kinds) and "tool_result" not in kinds


def _summary(told: Payload) -> Payload:
    """Return what a compaction of Qwen Code wrote: the first message of its history."""
    return fields(next(iter(elements(told.get("compressedHistory"))), None))
