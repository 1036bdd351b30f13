"""The sessions that a conversation came from, and those that come from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Reference, TokenCounter
from foldaway.caching import window_of
from foldaway.compaction import reference_of
from foldaway.dialects import profile_for
from foldaway.engine import BRIEF_TOKENS
from foldaway.errors import Conflict, InvalidSetting, UnknownSession
from foldaway.facts import handed_over, normalize, use_of
from foldaway.sessions.conversation import StoredConversation
from foldaway.sessions.delegations import DONE, Delegated, fence, first_line, result_text, whole_log
from foldaway.sessions.hiding import Show, reveal_text
from foldaway.sessions.place import GivenSettings, find_by_key
from foldaway.sessions.rows import decode_rows
from foldaway.stores import Descent, SessionInfo, Store
from foldaway.transcript import Message, Text, ToolCall, ToolResult


class SubagentTask(Struct, frozen=True):
    """A session of its own for a subagent."""

    session: SessionInfo
    settings: GivenSettings
    """Those that it does not share."""
    first: Message | None
    """What it is asked; None if it is empty."""


class Descendants:
    """Makes sessions from one conversation; the rows of the store, not handles."""

    def __init__(self, conversation: StoredConversation) -> None:
        self._of = conversation

    def branch(self, at: int | None, *, of: str, title: str, key: str, hidden: bool) -> SessionInfo:
        """Return a session that shares the first `at` messages, or all; a hidden one is in no
        list.
        """
        store, info = self._of.store, self._of.row
        if of and all(one.id != of for one in store.lineage(info.id)):
            raise UnknownSession(of)
        new = replace(self._of.like(), title=title, source_id=key)
        if hidden:
            named = title or (f"{info.title} (review)" if info.title else "")
            new = replace(new, kind="tool", mode="in-place", title=named)
        return store.create(new, parent_id=of or info.id, descent="branch", at=at)

    def delegate(
        self,
        task: str,
        *,
        budget: float | None,
        context: Handed,
        title: str,
        goal: str,
        model: str,
        key: str,
    ) -> SubagentTask:
        """Return a session of its own for a subagent."""
        changed = GivenSettings()
        settings = self._of.engine.settings
        window = window_of(model, None)[0] if model else settings.context_length
        if budget is not None:
            window = round(budget * settings.context_length if budget <= 1 else budget)
        if window < 1:
            raise InvalidSetting("budget", budget, "tokens, or a share of the window up to 1")
        if model:
            changed = GivenSettings(model=model, context_length=None)
        if budget is not None:
            changed["context_length"] = window
        store, info = self._of.store, self._of.row
        new = replace(
            self._of.like(),
            kind="subagent",
            title=title or first_line(task),
            goal=goal or task,
            source_id=key,
            model=model or info.model,
        )
        self._of.fresh()
        first = None
        if task:
            first = task_with_context(
                store,
                store.session(info.id),
                task,
                context,
                window=window,
                counter=settings.counter,
                show=settings.redact,
            )
        made = store.create(new, parent_id=info.id, descent="delegation")
        if first is None:
            return SubagentTask(made, changed, None)
        store.append(info.id, (), references=first.references)
        return SubagentTask(made, changed, Message("user", (Text(first.text),)))

    def result_of(self, child: SessionInfo, text: str, call_id: str) -> tuple[Message, str]:
        """Return the result of a subagent as a message, and the reference of its whole log."""
        store = self._of.store
        whole = whole_log(store.session(child.id))
        store.append(child.id, (), references=(whole,))
        said = Text(result_text(Delegated(child.id, child.goal, DONE, whole.ref), text))
        if not call_id:
            return Message("user", (said,)), whole.ref
        role = profile_for(self._of.place.dialect or "openai-chat").result_role
        name = self._of.loaded.names.get(call_id, "")
        return Message(role, (ToolResult(call_id, (said,), name=name),)), whole.ref

    def continue_as(self, key: str) -> None:
        """Go on under another key."""
        if not key:
            raise InvalidSetting("key", key, "the name that the conversation has from now on")
        place = self._of.place
        known = find_by_key(place.store, key, place.source)
        if known is None and place.known is not None:
            self._of.catch_up()
            was = self._of.row.id
            new = replace(self._of.like(), source=place.source, source_id=key)
            self._of.place.known = place.store.create(new, parent_id=was, descent="compression")
            place.store.end(was, "compression")
            self._of.save()
            self._of.announce(was, "compression")
        elif known:
            here = place.known and place.store.newest_leaf(place.known.id).id
            if here != known.id:
                raise Conflict(known.id, f"{key!r} is the key of another conversation")
        place.key = key

    def begin_again(self) -> SessionInfo:
        """Return an empty session to which the key leads from now on."""
        new = replace(self._of.like(), goal="")
        made = self._of.store.create(new, parent_id=self._of.row.id, descent="reset")
        self._of.note(replaced_by=made.id)
        return made

    def lead_to(self, session_id: str) -> tuple[SessionInfo, Descent]:
        """Let the key lead to another session, which goes on if it had ended."""
        place, store = self._of.place, self._of.store
        to = store.newest_leaf(store.session(session_id).id)
        if to.ended is not None:
            store.reopen(to.id)
        if place.key:
            self._of.note(replaced_by=to.id)
        mine = place.last_known.id if self._of.is_there() else ""
        return to, "branch" if to.parent_id and to.parent_id == mine else ""


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
    store: Store,
    info: SessionInfo,
    task: str,
    handed: Handed,
    *,
    window: int,
    counter: TokenCounter,
    show: Show,
) -> TaskContext:
    """Return a task with what it needs of the conversation that gives it, without secrets.

    It takes at most a quarter of the window of the subagent; what is longer is named by a
    reference.
    """
    room = window // CONTEXT_SHARE
    record = ""
    if handed.brief_tokens and info.length:
        from foldaway.sessions.exporting import brief_session  # brings every reducer with it

        brief = brief_session(
            store, info, show=show, tokens=min(handed.brief_tokens, room), focus=task
        )
        room -= brief.tokens
        record = handed_over(brief.text, _BACKGROUND)
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
            use = use_of(part)
            for effect in use.effects():
                if not _is_path(effect.path, path):
                    continue
                if effect.action == "read" and part.id in results:
                    told = results[part.id]
                    return SeenFile(told, _result(log[told], part.id), changed)
                text = use.first("contents")
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
