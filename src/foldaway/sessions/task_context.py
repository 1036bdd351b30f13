"""What a subagent is given of its parent's conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from foldaway._core import Reference, TokenCounter
from foldaway.compaction import reference_of
from foldaway.engine import BRIEF_TOKENS
from foldaway.facts import (
    ARGUMENTS,
    SUMMARY_CLOSE,
    SUMMARY_OPEN,
    arguments_given,
    effects_of_call,
    first_of,
    normalize,
)
from foldaway.sessions.briefs import brief_session
from foldaway.sessions.delegations import fence
from foldaway.sessions.hiding import Show, reveal_text
from foldaway.sessions.rows import decode_rows
from foldaway.stores import SessionInfo, Store
from foldaway.transcript import Message, ToolCall, ToolResult

CONTEXT_SHARE = 4
"""At most a quarter of a subagent's window is context of its parent: the rest is for its own work;
chosen."""
_TAG = "system-reminder"
"""Hosts put what is not said by the user into it, before what is."""
_BACKGROUND = (
    "Record of the session that gives this task, made from its log: background, not a request."
)


class Handed(Struct, frozen=True, kw_only=True):
    """What a subagent gets of its parent's conversation beside the task."""

    brief_tokens: int = BRIEF_TOKENS
    """Of the record of the conversation, what is about the task first; 0 for none."""
    pins: bool = True
    """Whether the pinned messages are quoted."""
    files: tuple[str, ...] = ()
    """Paths whose newest contents in the log are quoted; by reference if they are too long."""


class TaskContext(Struct, frozen=True):
    """The first message of a subagent, and the references to the parent's log that it names."""

    text: str
    references: tuple[Reference, ...] = ()


def task_with_context(
    store: Store, info: SessionInfo, task: str, handed: Handed, *, window: int,
    counter: TokenCounter, show: Show,
) -> TaskContext:  # fmt: skip
    """Return a task with what it needs of the conversation that gives it, without secrets.

    It takes at most a quarter of the window of the subagent; what is longer is named by a
    reference.
    """
    room = window // CONTEXT_SHARE
    record = ""
    if handed.brief_tokens and info.length:
        brief = brief_session(
            store, info, show=show, tokens=min(handed.brief_tokens, room), focus=task
        )
        room -= brief.tokens
        record = f"{SUMMARY_OPEN}\n{_BACKGROUND}\n\n{brief.text}\n{SUMMARY_CLOSE}\n\n"
    log = decode_rows(store.read(info.id), info.dialect) if handed.pins or handed.files else ()
    quotes: list[str] = []
    references: list[Reference] = []
    pinned = [pin.position for pin in store.pins(info.id)] if handed.pins else []
    for title, at, text in (*_pins(log, pinned, show), *_files(log, handed.files, show)):
        tokens = counter.count(text)
        if tokens <= room:
            room -= tokens
            quotes.append(f"## {title}\n{text}")
            continue
        if at is not None:
            references.append(Reference(reference_of(log[at]), (at, at + 1), "other"))
            quotes.append(f"## {title}\ntoo long to quote: recall {references[-1].ref}")
    quoted = "\n\n".join(quotes)
    around = f"{fence(_TAG, quoted)}\n\n" if quoted else ""
    return TaskContext(f"{record}{around}{task}", tuple(references))


def _pins(
    log: Sequence[Message], pinned: Sequence[int], show: Show
) -> Iterator[tuple[str, int | None, str]]:
    for at in pinned:
        yield f"Pinned message m{at} ({log[at].role})", at, reveal_text(log[at], show)


def _files(
    log: Sequence[Message], paths: Sequence[str], show: Show
) -> Iterator[tuple[str, int | None, str]]:
    for path in paths:
        found = newest_contents(log, path)
        if found is None:
            yield f"File {path}", None, "not in the log of the parent; read it yourself"
        else:
            since = f", changed since by m{found.changed}" if found.changed is not None else ""
            yield f"File {path} (as of m{found.position}{since})", found.position, show(found.text)


class SeenFile(Struct, frozen=True):
    """The newest whole contents of a file in a log, and the newest change after them."""

    position: int
    text: str
    changed: int | None = None


def newest_contents(log: Sequence[Message], path: str) -> SeenFile | None:
    """Return what a log shows last of a file; None if it was neither read nor written whole."""
    results = {
        part.call_id: at
        for at, message in enumerate(log)
        for part in message.parts
        if isinstance(part, ToolResult) and not part.is_error
    }
    changed: int | None = None
    for at in range(len(log) - 1, -1, -1):
        for part in log[at].parts:
            if not isinstance(part, ToolCall):
                continue
            given = arguments_given(part)
            for effect in effects_of_call(part.name, given):
                if not _is_path(effect.path, path):
                    continue
                if effect.action == "read" and part.id in results:
                    told = results[part.id]
                    return SeenFile(told, _result(log[told], part.id), changed)
                text = first_of(given, *ARGUMENTS["contents"])
                if effect.action in ("create", "write") and text:
                    return SeenFile(at, text, changed)
                changed = at if changed is None else changed
    return None


def _result(message: Message, call_id: str) -> str:
    parts = (
        part for part in message.parts if isinstance(part, ToolResult) and part.call_id == call_id
    )
    return reveal_text(Message("tool", tuple(parts)), lambda text: text)


def _is_path(found: str, wanted: str) -> bool:
    found, wanted = normalize(found), normalize(wanted)
    return bool(found) and (found == wanted or found.endswith(f"/{wanted}"))
