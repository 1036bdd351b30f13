"""The sessions that a conversation came from, and those that come from it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from foldaway.caching import window_of
from foldaway.dialects import profile_for
from foldaway.errors import Conflict, InvalidSetting, UnknownSession
from foldaway.sessions.conversation import StoredConversation
from foldaway.sessions.delegations import DONE, Delegated, first_line, result_text, whole_log
from foldaway.sessions.place import find_by_key
from foldaway.sessions.task_context import Handed, task_with_context
from foldaway.stores import Descent, SessionInfo
from foldaway.transcript import Message, Text, ToolResult


class SubagentTask(Struct, frozen=True):
    """A session of its own for a subagent."""

    session: SessionInfo
    options: dict[str, Any]
    """The settings that it does not share."""
    first: Message | None
    """What it is asked; None if it is empty."""


class Descendants:
    """Makes sessions from one conversation; the rows of the store, not handles."""

    def __init__(self, conversation: StoredConversation) -> None:
        self._of = conversation

    def branch(self, at: int | None, *, of: str, title: str, key: str) -> SessionInfo:
        """Return a session that shares the first `at` messages, or all."""
        store, name = self._of.store, self._of.row.id
        if of and all(one.id != of for one in store.lineage(name)):
            raise UnknownSession(of)
        new = replace(self._of.like(), title=title, source_id=key)
        return store.create(new, parent_id=of or name, descent="branch", at=at)

    def copy_for_review(self) -> SessionInfo:
        """Return a copy that is in no list."""
        info = self._of.row
        title = f"{info.title} (review)" if info.title else ""
        new = replace(self._of.like(), kind="tool", mode="in-place", title=title)
        return self._of.store.create(new, parent_id=info.id, descent="branch")

    def delegate(
        self, task: str, *, budget: float | None, context: Handed, title: str, goal: str,
        model: str, key: str,
    ) -> SubagentTask:  # fmt: skip
        """Return a session of its own for a subagent."""
        changed: dict[str, Any] = {}
        settings = self._of.engine.settings
        window = window_of(model, None)[0] if model else settings.context_length
        if budget is not None:
            window = round(budget * settings.context_length if budget <= 1 else budget)
        if window < 1:
            raise InvalidSetting("budget", budget, "tokens, or a share of the window up to 1")
        if model:
            changed |= {"model": model, "context_length": None}
        if budget is not None:
            changed["context_length"] = window
        store, info = self._of.store, self._of.row
        new = replace(
            self._of.like(), kind="subagent", title=title or first_line(task), goal=goal or task,
            source_id=key, model=model or info.model,
        )  # fmt: skip
        self._of.fresh()
        first = None
        if task:
            first = task_with_context(
                store, store.session(info.id), task, context, window=window,
                counter=settings.counter, show=settings.redact,
            )  # fmt: skip
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
            self._of.fresh()
            self._of.catch_up()
            was = self._of.row.id
            new = replace(self._of.like(), source=place.source, source_id=key)
            self._of.row = place.store.create(new, parent_id=was, descent="compression")
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
