"""One conversation: appended to or followed, durable, compacted when due, opened by its key."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from foldaway._core import MediaReducer, Policy, Redact, Reference, Report, Summarizer
from foldaway.caching import known_prices, window_of
from foldaway.compaction import Decision, Options, message_tokens, without_older_media
from foldaway.dialects import dialect_named, dump_text, parse, profile_for
from foldaway.engine import (
    COMPACT,
    TOOLS,
    Clock,
    Inspection,
    Model,
    PreviewedRun,
    inspect_transcript,
    model_of,
    tools_in,
)
from foldaway.errors import Conflict, FoldawayError, InvalidSetting, NotReadable, UnknownSession
from foldaway.sessions.delegations import (
    DONE,
    Delegated,
    delegations,
    first_line,
    result_text,
    whole_log,
)
from foldaway.sessions.following import messages_of
from foldaway.sessions.handing import Handed, task_with_context
from foldaway.sessions.hooks import Hooks, Switched, announce_switch
from foldaway.sessions.host import FollowingConversation
from foldaway.sessions.kept import NO_PAST, in_turn
from foldaway.sessions.leasing import TTL_SECONDS
from foldaway.sessions.options import SessionOptions
from foldaway.sessions.rows import frame_of, payloads
from foldaway.sessions.standing import find_by_key, unchanged
from foldaway.sessions.too_long import Refusal, refusal_of
from foldaway.sessions.tracking import Same
from foldaway.stores import Descent, NewSession, SessionInfo, Store, open_store
from foldaway.summarizers import Writers
from foldaway.transcript import Message, Payload, Text, ToolResult

T = TypeVar("T")
_NOBODY = Hooks()
_HANDED = Handed()
_PLACE = re.compile(r"m(\d{1,9})")
SMALLER = 0.98
"""What a request must come to beside the one that was refused, to be worth another try."""


class Session(FollowingConversation):
    """One conversation. Threads may share one: they take turns, and wait while one compacts.

    Feed it with `append`, message by message, and send `messages`; or hand the host's whole list
    to `follow`, as often as you like, and send what it returns. What was taken is in the store
    when the call returns, and nothing of it is ever lost. Other processes may work on the same
    session: who compacts is settled by a lease.
    """

    def __init__(
        self, store: Store | str | os.PathLike[str] | None = None, key: str = "", *,
        model: str | Model = "", context_length: int | None = None, policy: Policy | None = None,
        provider: str | None = None, summarizer: Summarizer | Writers | str | None = None,
        redact: Redact | None = None, tools: Sequence[Payload] = (), background: bool = False,
        hooks: Hooks = _NOBODY, media: MediaReducer = without_older_media, same: Same | None = None,
        on_error: Literal["raise", "pass"] = "raise", lease_seconds: float = TTL_SECONDS,
        clock: Clock = time.time, new: NewSession | None = None, session_id: str = "",
    ) -> None:  # fmt: skip
        """Open a conversation, or begin one with the first message that comes.

        `store` is a folder, a file, the address of a server or a `Store`; without one all is kept
        in memory. `key` is the host's own name for the conversation: the same key opens it
        again. `session_id` opens a session by its id instead; `UnknownSession` if there is none:
        no key does, so that keys may come from users. `new` says what else a new session is known
        by: title, goal, folder. `same` tells `follow` which of the host's messages are the same.
        With `on_error="pass"`, `follow` gives the host's own list back if the session fails. The
        rest is as for `Compressor`.
        """
        self._address = store if isinstance(store, (str, os.PathLike)) else None
        options = SessionOptions(
            model=model, context_length=context_length, policy=policy, provider=provider,
            summarizer=summarizer, redact=redact, tools=tuple(tools), background=background,
            hooks=hooks, media=media, same=same, on_error=on_error, lease_seconds=lease_seconds,
            clock=clock,
        )  # fmt: skip
        if store is None or isinstance(store, (str, os.PathLike)):
            store = open_store(store or ":memory:")
        super().__init__(store, key, options, new, session_id)

    # Handles

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self._store

    @property
    def is_begun(self) -> bool:
        """Whether the store has it: something was said, its title or goal was set, or `begin`."""
        return self._is_there()

    def _handle(self, session_id: str, **changed: Any) -> Session:
        """Return a handle on a session of the same store, perhaps with other settings."""
        options = {**_fields(self._options), **changed}
        return Session(self._store, session_id=session_id, **options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        """Return another handle on the same session."""
        return self.__copy__()

    def __copy__(self) -> Session:
        if self._key and not self._is_there():
            return Session(self._store, self._key, new=self._new, **_fields(self._options))
        return self._handle(self._id)

    def __reduce__(self) -> tuple[Callable[..., Session], tuple[Any, ...]]:
        """Go to another process as a handle on the same session."""
        where = self._store.where
        address = self._address or (where if os.path.exists(where) else None)
        if address is None:
            raise TypeError(
                "this session cannot go to another process: its store is in memory, or a server "
                "that was not given by its address"
            )
        return _reopen, (address, self._id, self._options)

    # Requests

    def send(self, call: Callable[[list[Any]], T]) -> T:
        """Compact if it is due and hand what the model should see to `call`.

        As long as the provider says that the request was too long or too large, it is compacted
        and sent again, until nothing more can be folded; every other error comes out as it is.
        """
        self.compact()
        while True:
            try:
                return call(self.messages)
            except Exception as error:
                if not self.recover(error):
                    raise

    async def asend(self, call: Callable[[list[Any]], Awaitable[T]]) -> T:
        """Do what `send` does, for hosts that await."""
        await self.acompact()
        while True:
            try:
                return await call(self.messages)
            except Exception as error:
                if not self.recover(error):
                    raise

    @in_turn
    def recover(self, error: BaseException | Refusal) -> bool:
        """Make the request smaller if an error says that it was too big.

        The window is what the error names, or half of what was sent: so a window that nobody names
        is found in a few steps, but never below what the provider read before. False if the error
        says something else, or nothing could be made smaller: then the error stands.
        """
        refusal = error if isinstance(error, Refusal) else refusal_of(error)
        if refusal is None:
            return False
        engine, before, lighter = self.engine, self.engine.estimate(), False
        if refusal.means == "payload":
            lighter = self.lighten().status == "compacted"
        else:
            window = engine.settings.context_length
            limit = refusal.limit if refusal.limit and refusal.limit < window else before // 2
            used = self._store.usage(self._id) if self.is_begun else ()
            limit = max(limit, *(one.input_tokens for one in used), 1)
            if limit < window:
                try:
                    engine.use_model(engine.settings.model, limit)
                except InvalidSetting:
                    return False
                if model_of(self._options.model).name:  # else requests may name another one
                    self._options = replace(self._options, context_length=limit)
        is_smaller = self.compact(force=True).status == "compacted"
        return lighter or (is_smaller and self.engine.estimate() < SMALLER * before)

    # Room

    @in_turn
    def make_room(self, *incoming: Any) -> Report:
        """Compact before messages are handed to the agent, if there is hardly room for them.

        The measure is the hard threshold, 85 % of the window by default, with what the provider
        counted last and an estimate of what came since. `incoming` is as for `append`, or a text;
        it is not appended. A conversation of only its newest messages is left as it is.
        """
        if not self._has_past():
            return unchanged(self._engine, NO_PAST)
        return self.compact(force=self._lacks_room(incoming))

    async def amake_room(self, *incoming: Any) -> Report:
        """Do what `make_room` does, for hosts that await a summarizer."""
        if not self._has_past():
            return unchanged(self._engine, NO_PAST)
        return await self.acompact(force=self._lacks_room(incoming))

    def _has_past(self) -> bool:
        return self._look() and self._engine.length > self._engine.settings.policy.min_tail

    def _lacks_room(self, incoming: Sequence[Any]) -> Callable[[Decision], bool]:
        dialect = dialect_named(self._dialect or "openai-chat")
        given = [
            dialect.encode(Message("user", (Text(one),))) if isinstance(one, str) else message
            for one in incoming
            for message in ([one] if isinstance(one, str) else messages_of(one))
        ]
        counter = self._engine.settings.counter
        more = sum(message_tokens(one, counter) for one in dialect.decode(given, 0))

        def lacks_room(decision: Decision) -> bool:
            return self._engine.decide(decision.prompt_tokens + more).lacks_room

        return lacks_room

    @in_turn
    def breakdown(self, most: int = 10) -> Inspection:
        """Return where the context goes, with its `most` longest messages; never its words.

        If the provider counted the last prompt, the total is what it measured, and the
        categories, which are estimates, are scaled to it.
        """
        engine = self.engine
        settings, decision = engine.settings, engine.decide()
        shown = dialect_named(engine.dialect).decode(self.messages if engine.length else [], 0)
        return inspect_transcript(
            replace(engine.request, dialect=engine.dialect, messages=tuple(shown)),
            settings.policy, settings.budget, settings.counter, most=most,
            measured_tokens=decision.prompt_tokens if decision.source == "measured" else None,
        )  # fmt: skip

    # Lineage

    def branch(
        self, at: int | None = None, *, of: str = "", title: str = "", switches: bool = True,
        key: str = "",
    ) -> Session:  # fmt: skip
        """Return a session that shares the first `at` messages, or all, and goes its own way.

        `of` is the id of a session that this one came from: so any of them goes on again, with
        what the model saw then. Without `switches` this one stays the current session. `key` is
        the host's own name for the new one.
        """
        if of and all(one.id != of for one in self._store.lineage(self._id)):
            raise UnknownSession(of)
        new = replace(self._like(), title=title, source_id=key)
        made = self._store.create(new, parent_id=of or self._id, descent="branch", at=at)
        return self._child(made, "branch", switches=switches)

    def review(self) -> Session:
        """Return a copy of the session for work in the background.

        It is in no list, no search finds it and no key leads to it. It never is the current
        session, and the hooks, so memory too, hear nothing of it.
        """
        title = f"{self._info.title} (review)" if self._info.title else ""
        new = replace(self._like(), kind="tool", mode="in-place", title=title)
        made = self._store.create(new, parent_id=self._id, descent="branch")
        system = self.system  # the bytes that the provider has in its cache
        hooks = Hooks() if self._hooks.system is None else Hooks(system=lambda _: system)
        return self._handle(made.id, hooks=hooks)

    def delegate(
        self, task: str = "", *, budget: float | None = None, context: Handed = _HANDED,
        title: str = "", goal: str = "", model: str = "", key: str = "",
    ) -> Session:  # fmt: skip
        """Return a session of its own for a subagent; `key` is the host's own name for it.

        The `task` is its goal and its first message, with the `context` that it gets of this
        conversation; without one it is empty. `budget` is its window: tokens, or up to 1 a share
        of the window of this session.
        """
        # the other hooks are about this conversation: its memory, its system prompt
        changed: dict[str, Any] = {"hooks": Hooks(event=self._hooks.event)}
        settings = self.engine.settings
        window = window_of(model, None)[0] if model else settings.context_length
        if budget is not None:
            window = round(budget * settings.context_length if budget <= 1 else budget)
        if window < 1:
            raise InvalidSetting("budget", budget, "tokens, or a share of the window up to 1")
        if model:
            changed |= {"model": model, "context_length": None}
        if budget is not None:
            changed["context_length"] = window
        new = replace(
            self._like(), kind="subagent", title=title or first_line(task), goal=goal or task,
            source_id=key, model=model or self._info.model,
        )  # fmt: skip
        self._fresh()
        first = None
        if task:
            first = task_with_context(
                self._store, self._store.session(self._id), task, context, window=window,
                counter=settings.counter, show=settings.redact,
            )  # fmt: skip
        made = self._store.create(new, parent_id=self._id, descent="delegation")
        child = self._handle(made.id, **changed)
        if first is not None:
            self._store.append(self._id, (), references=first.references)
            child._take(Message("user", (Text(first.text),)))
        return child

    def take_result(self, child: Session, text: str, *, call_id: str = "") -> str:
        """Append the result of a subagent as one message, end its session, and return the
        reference by which its whole log is recalled.

        With `call_id` the message is the result of that call.
        """
        whole = whole_log(self._store.session(child.id))
        self._store.append(child.id, (), references=(whole,))
        said = Text(result_text(Delegated(child.id, child.info.goal, DONE, whole.ref), text))
        if call_id:
            role = profile_for(self._dialect or "openai-chat").result_role
            name = self._names.get(call_id, "")
            self._take(Message(role, (ToolResult(call_id, (said,), name=name),)))
        else:
            self._take(Message("user", (said,)))
        child.close(DONE)
        return whole.ref

    def delegated(self) -> tuple[Delegated, ...]:
        """Return what was given to subagents, in order, and how that stands."""
        return delegations(self._store, self._info) if self._known_info else ()

    def _take(self, message: Message) -> None:
        """Append a message of ours; it is kept without making the session the current one."""
        self._tried(lambda: self._append([self.engine.encoded(message)]))

    def continue_as(self, key: str) -> None:
        """Go on under another key, for hosts that begin a new one when they compact.

        Nothing else changes: what was given out leads here, and so does every key from before.
        `Conflict` if the key belongs to another conversation.
        """
        if not key:
            raise InvalidSetting("key", key, "the name that the conversation has from now on")
        known = find_by_key(self._store, key, self._source)
        is_begun = self._known_info is not None
        if known is None and is_begun:
            self._fresh()
            self._catch_up()
            was, new = self._id, replace(self._like(), source=self._source, source_id=key)
            self._info = self._store.create(new, parent_id=was, descent="compression")
            self._store.end(was, "compression")
            self._save()
            self._switched(was, "compression")
        elif known and not (is_begun and self._store.newest_leaf(self._id).id == known.id):
            raise Conflict(known.id, f"{key!r} is the key of another conversation")
        self._key = key

    def reset(self) -> Session:
        """End this session and return an empty one in its place; nothing of it is lost.

        The key leads to the new one, and the id of this one still to this one.
        """
        new = replace(self._like(), goal="")
        made = self._store.create(new, parent_id=self._id, descent="reset")
        self._note(replaced_by=made.id)
        self.close("reset")
        child = self._child(made, "reset")
        child._key = self._key
        return child

    def switch(self, session_id: str) -> Session:
        """Return a handle on another session of the store; from now on the key leads there.

        A session that had ended goes on; one that was continued under another id goes on there.
        `UnknownSession` if there is none of this id.
        """
        to = self._store.newest_leaf(self._store.session(session_id).id)
        if to.ended is not None:
            self._store.reopen(to.id)
        if self._key:
            self._note(replaced_by=to.id)
        other = self._child(to, "branch" if to.parent_id and to.parent_id == self.id else "")
        other._note(replaced_by="")
        other._key, other._source = self._key, self._source
        return other

    def _child(self, info: SessionInfo, descent: Descent, *, switches: bool = True) -> Session:
        other = self._handle(info.id)
        if switches:
            announce_switch(self._hooks, Switched(self.id, info.id, descent))
        return other

    @in_turn
    def close(self, reason: str = "closed") -> None:
        """End the session; what is written in the background is let go of."""
        if not self._is_there():
            return
        if not self._stale:
            self._engine.cancel()
            self._save()
        self._store.end(self._id, reason)
        self._info = self._store.session(self._id)

    # What it is known by

    @in_turn
    def change(self, *, title: str | None = None, goal: str | None = None) -> SessionInfo:
        """Set the title or the goal, whatever is given; every summary begins with the goal."""
        self._info = self._store.change(self._id, title=title, goal=goal)
        self._engine.goal = self._info.goal
        return self._info

    @in_turn
    def use_model(self, model: str, context_length: int | None = None) -> None:
        """Go on with another model: its window counts from the next request on. The window is
        looked up by the name if it is not given.
        """
        window, _ = window_of(model, context_length)
        self.engine.use_model(model, window)
        self._options = replace(self._options, model=model, context_length=context_length)
        if self.is_begun:
            self._info = self._store.change(self._id, model=model)

    # Facts of the host

    @property
    def notes(self) -> dict[str, Any]:
        """What the host noted with the session, also in another process or before a restart."""
        known = self._is_there()
        return frame_of(self._store.session(self.id)).get("notes", {}) if known else {}

    def note(self, **facts: Any) -> None:
        """Keep facts of the host with the session: JSON values, by name. They are not searched and
        not sent, and they go when the session is erased. Something must have been said before.
        """
        self._note(notes={**self.notes, **facts})

    def try_compaction(self, options: Options) -> PreviewedRun:
        """Return what `compact` by hand would do, with the summary that needs no model; nothing is
        changed and nobody is asked.
        """
        quiet = replace(self._options, summarizer=None, hooks=_NOBODY)
        trial = Session(self._store, session_id=self.id, **_fields(quiet))
        return trial.engine.preview(options)

    # The model's own tools

    def tools(self, dialect: str = "") -> list[dict[str, Any]]:
        """Return the tools by which a model reaches what was folded, searches it, and asks for a
        compaction; as requests of a wire format declare them, by default that of the session.
        """
        return tools_in(dialect or self._dialect or "openai-chat", (*TOOLS, COMPACT))

    @in_turn
    def call(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, *, as_json: bool = False,
        **ignored: Any,
    ) -> str:  # fmt: skip
        """Answer a call of one of `tools`; a sentence if it cannot be answered, never an error.

        `arguments` may be the JSON that the model wrote. An answer takes at most a tenth of the
        window, and 8,000 tokens. `ignored` is what hosts hand over beside it.
        """
        try:
            answer = self._answered(name, _arguments(arguments))
        except FoldawayError as error:
            answer = str(error)
        return dump_text({"result": answer}) if as_json else answer

    def _answered(self, name: str, arguments: Mapping[str, Any]) -> str:
        self._fresh()
        if name == COMPACT["name"]:
            self._wish = str(arguments.get("focus") or "")
            return "older messages are folded before the next turn"
        return self._engine.answer_tool(name, arguments, self.recall)

    # The way back

    @in_turn
    def recall(self, reference: str) -> list[Any]:
        """Return the originals behind a reference, verbatim; raises `UnknownReference`.

        References of sessions that this one came from, or that went another way, lead there. A
        place such as m120 is one message of the log.
        """
        if not self._look():
            return self._engine.recall(reference)
        if (place := _PLACE.fullmatch(reference)) and int(place[1]) < self._info.length:
            at = int(place[1])
            return payloads(self._store.read(self._id, at, at + 1))
        others = (one.id for one in self._store.lineage(self._id) if one.id != self._id)
        for name in (self._id, *others):
            for place in self._store.places(reference, session_id=name):
                row: Reference = place.reference
                return payloads(self._store.read(name, row.start, row.stop))
        return self._engine.recall(reference)


def warm() -> None:
    """Load and build what a first compaction needs, for hosts whose turns must not wait for it."""
    words = "password=hunter2024! " + "and some words that fill a window, " * 60
    asked = {"role": "user", "content": words}
    call = {"name": "read_file", "arguments": '{"path": "a.py"}'}
    turn = [
        asked,
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c", "content": words},
        {"role": "assistant", "content": words},
    ]
    named = Model("gpt-5", prices=known_prices("gpt-5"))  # they take longer to load than all else
    Session(model=named, context_length=8_000, policy=Policy(floor_tokens=500)).follow(
        [*turn * 6, asked], force=True
    )


def _arguments(given: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    """Return the arguments of a call, none if what a model wrote is no object."""
    if isinstance(given, str):
        try:
            given = parse(given.encode())
        except NotReadable:
            return {}
    return given if isinstance(given, Mapping) else {}


def _fields(options: SessionOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in options.__struct_fields__}


def _reopen(address: str | os.PathLike[str], name: str, options: SessionOptions) -> Session:
    return Session(address, session_id=name, **_fields(options))
