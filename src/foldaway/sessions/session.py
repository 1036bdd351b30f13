"""One conversation: appended to or followed, durable, compacted when due, opened by its key."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from msgspec import Struct
from msgspec.structs import replace

from foldaway._core import Policy, Redact, Report, Summarizer
from foldaway.caching import known_prices, window_of
from foldaway.compaction import Options
from foldaway.dialects import dialect_named, dump_text
from foldaway.engine import COMPACT, TOOLS, Compressor, Model, PreviewedRun, tools_in
from foldaway.errors import FoldawayError, InvalidSetting, UnknownSession
from foldaway.sessions.changes import Changes, Force, recall
from foldaway.sessions.conversation import StoredConversation
from foldaway.sessions.delegations import DONE, Delegated, delegations
from foldaway.sessions.follower import Follower, When
from foldaway.sessions.following import Followed, messages_of
from foldaway.sessions.hooks import Hooks, Switched, announce_switch
from foldaway.sessions.lineage import Descendants, Handed
from foldaway.sessions.place import (
    GivenSettings,
    SessionOptions,
    SessionPlace,
    SessionSettings,
    SystemPrompt,
)
from foldaway.sessions.rows import frame_of
from foldaway.sessions.too_long import Refusal, refusal_of
from foldaway.stores import Pin, SessionInfo, Store
from foldaway.summarizers import Writers
from foldaway.transcript import Message, Payload

if TYPE_CHECKING:
    from foldaway.engine import Inspection

T = TypeVar("T")
_NOBODY = Hooks()
_USUAL = SessionOptions()
_HANDED = Handed()


class SessionParts(Struct, frozen=True):
    """What a session is made of, for our own surfaces."""

    place: SessionPlace
    conversation: StoredConversation
    changes: Changes
    follower: Follower
    lineage: Descendants

    @property
    def engine(self) -> Compressor:
        """The compressor that holds the conversation; an empty one before the first message."""
        return self.conversation.engine

    @property
    def lock(self) -> threading.RLock:
        """Hold it for several steps that no other thread may interrupt."""
        return self.conversation.lock


class Session:
    """One conversation. Threads may share one: they take turns, and wait while one compacts.

    Feed it with `append`, message by message, and send `messages`; or hand the host's whole list
    to `follow`, as often as you like, and send what it returns. Messages are durable when
    `append` or `follow` returns. Other processes may work on the same session: who compacts is
    settled by a lease.
    """

    def __init__(
        self,
        store: Store | str | os.PathLike[str] | None = None,
        key: str = "",
        *,
        model: str | Model = "",
        context_length: int | None = None,
        policy: Policy | None = None,
        system: SystemPrompt = "",
        summarizer: Summarizer | Writers | str | None = None,
        redact: Redact | None = None,
        tools: Sequence[Payload] = (),
        hooks: Hooks = _NOBODY,
        options: SessionOptions = _USUAL,
    ) -> None:
        """Open a conversation, or begin one with the first message that comes.

        `store` is a folder, a file, the address of a server or a `Store`; without one all is kept
        in memory. `key` is the host's own name for the conversation: the same key opens it again.
        The window is `context_length`, that of the `model` if it is known, or 200,000 tokens.
        `system` is the system prompt: a text, or a function that is asked at the beginning and
        after every compaction; another text replaces the one before. With a `summarizer` a model
        writes the prose of summaries. `redact` hides secrets in them. `tools` are those of your
        requests, which take room. `options` has what few programs set.
        """
        settings = SessionSettings(
            model=model,
            context_length=context_length,
            policy=policy,
            system=system,
            summarizer=summarizer,
            redact=redact,
            tools=tools,
            hooks=hooks,
            options=options,
        )
        self._take_place(SessionPlace.at(store, key, settings))

    @classmethod
    def open(
        cls,
        store: Store | str | os.PathLike[str],
        session_id: str,
        **settings: Unpack[GivenSettings],
    ) -> Session:
        """Open a session by its id, with the keywords of `Session`; `UnknownSession` if there is
        none. No key does this, so that keys may come from users.
        """
        InvalidSetting.check_type("session_id", session_id, str, "a text")
        if not session_id:
            raise UnknownSession(session_id)
        made = cls.__new__(cls)
        made._take_place(SessionPlace.at(store, "", SessionSettings(**settings), session_id))
        return made

    def _take_place(self, place: SessionPlace) -> None:
        kept = StoredConversation(place)
        changes = Changes(kept)
        follower = Follower(kept, changes.compact)
        self._parts = SessionParts(place, kept, changes, follower, Descendants(kept))

    # What it is

    @property
    def id(self) -> str:
        """The id; another one after a rotation, and "" as long as the store does not have it."""
        known = self._parts.conversation.is_there()
        return self._parts.place.last_known.id if known else ""

    @property
    def key(self) -> str:
        """The key that was given; it opens the session again, and without one its id does."""
        return self._parts.place.key

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self._parts.place.store

    @property
    def info(self) -> SessionInfo:
        """The session as the store has it now. One that is not begun has no id and no messages."""
        with self._parts.lock:
            self._parts.conversation.look()
            return self._parts.place.last_known

    @property
    def messages(self) -> list[Any]:
        """What the model should see now; the same bytes until something is appended, here, through
        another handle or by another process.

        The system prompt is the first of them if it is a message of the wire format; otherwise
        `request` has it. What another agent left in a form that its provider refuses is repaired
        here, and a call that never got its result, as after a crash, gets one that says so when
        the user goes on. The store stays as it was; the report of a compaction names the rules.
        """
        return self._parts.conversation.messages

    @property
    def pins(self) -> tuple[Pin, ...]:
        """The messages that no compaction folds."""
        return self.store.pins(self.id) if self._parts.conversation.is_there() else ()

    @property
    def notes(self) -> dict[str, Any]:
        """What the host noted with the session, also in another process or before a restart."""
        known = self._parts.conversation.is_there()
        return frame_of(self.store.session(self.id)).get("notes", {}) if known else {}

    @property
    def delegated(self) -> tuple[Delegated, ...]:
        """What was given to subagents, in order, and how that stands."""
        info = self._parts.place.known
        return () if info is None else delegations(self.store, info)

    # What arrives

    def append(self, *messages: Any) -> None:
        """Take new messages; they are durable when this returns, all of them or none.

        Mappings, JSON as bytes, or what the openai and anthropic clients return: messages, whole
        responses and the results of streams. Anything else is refused before anything is
        written. What another process appended meanwhile is taken up first; `Conflict` if that
        goes on.
        """
        self._parts.conversation.append(
            [one for message in messages for one in messages_of(message)]
        )

    def follow(
        self,
        messages: Sequence[Any] | None = None,
        *,
        request: Mapping[str, Any] | bytes | None = None,
        usage: object = None,
        force: bool = False,
        focus: str = "",
        when: When = "new",
    ) -> Followed:
        """Take the host's whole list and return what to send in its place.

        The list may be inside `request`, the body of a provider's API as a mapping or as bytes;
        its tools, system prompt and settings are taken into account. `usage` is what the provider
        reported for the last request, or a number: its count of this list. The same list gives
        the same result, on a retry, after a restart and in another process. What is new is kept,
        and compacted if that is due, or with `force`; `when` says for which lists.
        """
        return self._parts.follower.follow(
            messages, request=request, usage=usage, force=force, focus=focus, when=when
        )

    def used(self, usage: object, *, cost: float | None = None, corrects: bool = True) -> None:
        """Take what the provider reported for the last request, a mapping or the object of its
        client; it `corrects` the estimates, unless it is about messages that are not known yet. A
        number is its count of what would be sent now. Before the first message nothing of it is
        kept.
        """
        self._parts.conversation.used(usage, cost=cost, corrects=corrects)

    # Compaction

    def compact(
        self,
        *,
        force: Force = False,
        focus: str = "",
        keep_last: int | None = None,
        target_tokens: int | None = None,
        before: object = None,
    ) -> Report:
        """Compact if it is due, or by hand with `force`, and return what was done.

        With `before`, a message, a text or a list of them that is about to come, it is compacted
        if there is hardly room for it: if the window would be 85 % full by what the provider
        counted last and an estimate of what came since. Nothing is appended. With a function for
        `force` it is compacted only if that says so.
        """
        changes = self._parts.changes
        return changes.compact(
            force=force if force or before is None else changes.lacks_room(before),
            focus=focus,
            keep_last=keep_last,
            target_tokens=target_tokens,
        )

    async def acompact(
        self,
        *,
        force: Force = False,
        focus: str = "",
        keep_last: int | None = None,
        target_tokens: int | None = None,
        before: object = None,
    ) -> Report:
        """Do what `compact` does, for hosts that await a summarizer."""
        changes = self._parts.changes
        return await changes.acompact(
            force=force if force or before is None else changes.lacks_room(before),
            focus=focus,
            keep_last=keep_last,
            target_tokens=target_tokens,
        )

    def preview(
        self, *, focus: str = "", keep_last: int | None = None, target_tokens: int | None = None
    ) -> PreviewedRun:
        """Return what `compact` by hand would do, with the summary that needs no model; nothing is
        changed and nobody is asked.
        """
        pinned = frozenset(pin.position for pin in self.pins)
        options = Options(
            focus=focus, keep_last=keep_last, target_tokens=target_tokens, pinned=pinned
        )
        trial = self._handle(self.id, summarizer=None, hooks=_NOBODY) if self.id else self
        return trial._parts.engine.preview(options)

    def undo(self) -> bool:
        """Take back the last compaction and keep what came since; False if there is none."""
        return self._parts.changes.undo()

    def pin(self, position: int, note: str = "") -> None:
        """Keep a message as it is through every compaction."""
        InvalidSetting.check_type("position", position, int, "the number of a message")
        self.store.pin(self.id, position, note)

    def unpin(self, position: int) -> None:
        """Let a message go with the others again."""
        self.store.unpin(self.id, position)

    # Handles

    def _handle(self, session_id: str, **changed: Unpack[GivenSettings]) -> Session:
        """Return a handle on a session of the same store, perhaps with other settings."""
        was = self._parts.place
        place = SessionPlace.at(was.store, "", replace(was.settings, **changed), session_id)
        return _session_at(replace(place, address=was.address))

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        """Return another handle on the same session."""
        return self.__copy__()

    def __repr__(self) -> str:
        """Return its id and key; nothing of what was said, and nothing is read."""
        known = self._parts.place.last_known.id or "not begun"
        return f"<Session {known}{f', key {self.key!r}' if self.key else ''}>"

    def __copy__(self) -> Session:
        place = self._parts.place
        if place.key and not self._parts.conversation.is_there():
            return _session_at(replace(place))
        return self._handle(self._parts.conversation.row.id)

    def __reduce__(self) -> tuple[Callable[..., Session], tuple[Any, ...]]:
        """Go to another process as a handle on the same session."""
        where = self.store.where
        address = self._parts.place.address or (where if os.path.exists(where) else None)
        if address is None:
            raise TypeError(
                "this session cannot go to another process: its store is in memory, or a server "
                "that was not given by its address"
            )
        return _reopen, (address, self._parts.conversation.row.id, self._parts.place.settings)

    # Requests

    def request(self, *, portable: bool = False) -> dict[str, Any]:
        """Return what `messages` and the system prompt are in a request: its keyword arguments.

        `messages` for chat completions, `messages` and `system` for Anthropic, `input` and
        `instructions` for Responses, `contents` and `systemInstruction` for Gemini. A `portable`
        one has our own summary in the place of what only its provider can read.
        """
        return self._parts.conversation.request(portable=portable)

    def send(self, call: Callable[..., T], **arguments: object) -> T:
        """Compact if it is due, call a client with `request()` and the `arguments`, and return
        its answer.

        As long as the provider says that the request was too long or too large, it is compacted
        and sent again, until nothing more can be folded; every other error comes out as it is.
        """
        if not callable(cast("object", call)):
            raise InvalidSetting("call", call, "a function: client.chat.completions.create")
        self.compact()
        while True:
            try:
                answer = call(**self.request(), **arguments)
                if isinstance(answer, Coroutine):
                    answer.close()
                    raise InvalidSetting("call", call, "a function that waits; or await asend()")
                return answer
            except Exception as error:
                if not self.recover(error):
                    raise

    async def asend(self, call: Callable[..., Awaitable[T]], **arguments: object) -> T:
        """Do what `send` does, for hosts that await."""
        await self.acompact()
        while True:
            try:
                answer = call(**self.request(), **arguments)
                if not isinstance(cast("object", answer), Awaitable):
                    raise InvalidSetting("call", call, "a function to await; or use send()")
                return await answer
            except Exception as error:
                if not self.recover(error):
                    raise

    def recover(self, error: BaseException | Refusal) -> bool:
        """Make the request smaller if an error says that it was too big.

        The window is what the error names, or half of what was sent: so a window that nobody names
        is found in a few steps. What the provider read before fits, until it refuses less than
        that. False if the error says something else, or nothing could be made smaller: then the
        error stands.
        """
        InvalidSetting.check_type("error", error, BaseException | Refusal, "an exception")
        refusal = error if isinstance(error, Refusal) else refusal_of(error)
        return refusal is not None and self._parts.changes.shrink(refusal)

    def breakdown(self, most: int = 10) -> Inspection:
        """Return where the context goes, with its `most` longest messages; never its words.

        If the provider counted the last prompt, the total is what it measured, and the
        categories, which are estimates, are scaled to it.
        """
        from foldaway.engine import inspect_transcript  # needed only when somebody asks

        with self._parts.lock:
            self._parts.conversation.look()
            engine, view = self._parts.engine, self._parts.conversation.render_view
            settings, decision = engine.settings, engine.decide()
            seen = view().messages if engine.length else []
        shown = dialect_named(engine.dialect).decode(seen, 0)
        return inspect_transcript(
            replace(engine.request, dialect=engine.dialect, messages=tuple(shown)),
            settings.policy,
            settings.budget,
            settings.counter,
            most=most,
            measured_tokens=decision.prompt_tokens if decision.source == "measured" else None,
        )

    # Descendants

    def branch(
        self,
        at: int | None = None,
        *,
        of: str = "",
        title: str = "",
        key: str = "",
        hidden: bool = False,
    ) -> Session:
        """Return a session that shares the first `at` messages, or all, and goes its own way; go
        on there with `switch`, or use both.

        `of` is the id of a session that this one came from: so any of them goes on again, with
        what the model saw then. `key` is the host's own name for the new one. A `hidden` one is
        for work in the background: in no list, found by no key and no search, never the current
        session, and the hooks, so memory too, hear nothing of it.
        """
        InvalidSetting.check_type("at", at, int | None, "a number of messages")
        made = self._parts.lineage.branch(at, of=of, title=title, key=key, hidden=hidden)
        if not hidden:
            return self._handle(made.id)
        system = self._parts.conversation.system  # the bytes that the provider has in its cache
        return self._handle(made.id, hooks=_NOBODY, system=system)

    def switch(self, to: str | None = None, *, key: str | None = None) -> Session:
        """Return the session that goes on in the place of this one; from now on its key leads
        there. Nothing is lost.

        Without arguments it is an empty one, and this one ends. `to` is the id of another session
        of the store: one that had ended goes on, and `UnknownSession` is raised if there is none.
        With a `key` this conversation itself goes on under that key, for hosts that begin a new
        one when they compact; `Conflict` if the key belongs to another conversation.
        """
        if key is not None:
            self._parts.lineage.continue_as(key)
            return self
        was, lineage = self._parts.place, self._parts.lineage
        if to is not None:
            info, descent = lineage.lead_to(to)
        else:
            info, descent = lineage.begin_again(), "reset"
            self.close("reset")
        other = self._handle(info.id)
        announce_switch(was.settings.hooks, Switched(self.id, info.id, descent))
        if to is not None:
            other._parts.conversation.note(replaced_by="")
        other._parts.place.key, other._parts.place.source = was.key, was.source
        return other

    def delegate(
        self,
        task: str = "",
        *,
        budget: float | None = None,
        context: Handed = _HANDED,
        title: str = "",
        goal: str = "",
        model: str = "",
        key: str = "",
    ) -> Session:
        """Return a session of its own for a subagent; `key` is the host's own name for it.

        The `task` is its goal and its first message, with the `context` that it gets of this
        conversation; without one it is empty. `budget` is its window: tokens, or up to 1 a share
        of the window of this session.
        """
        InvalidSetting.check_type("task", task, str, "a text")
        if budget is not None:
            InvalidSetting.check_type("budget", budget, int | float, "a number")
        task_for = self._parts.lineage.delegate(
            task, budget=budget, context=context, title=title, goal=goal, model=model, key=key
        )
        # the other hooks are about this conversation: its memory, its system prompt
        own = task_for.settings
        own["hooks"], own["system"] = Hooks(event=self._parts.place.settings.hooks.event), ""
        child = self._handle(task_for.session.id, **own)
        if task_for.first is not None:
            child._take(task_for.first)
        return child

    def take_result(self, child: Session, text: str, *, call_id: str = "") -> str:
        """Append the result of a subagent as one message, end its session, and return the
        reference by which its whole log is recalled.

        With `call_id` the message is the result of that call.
        """
        InvalidSetting.check_type("child", child, Session)
        message, reference = self._parts.lineage.result_of(child.info, text, call_id)
        self._take(message)
        child.close(DONE)
        return reference

    def _take(self, message: Message) -> None:
        """Append a message of ours; it is kept without making the session the current one."""
        kept = self._parts.conversation
        kept.retry(lambda: kept.take([kept.engine.conversation.encode(message)]))

    def close(self, reason: str = "closed") -> None:
        """End the session; what is written in the background is let go of."""
        kept = self._parts.conversation
        with kept.lock:
            if not kept.is_there():
                return
            if not kept.is_stale:
                kept.compressor.cancel()
                kept.save()
            self.store.end(kept.row.id, reason)
            kept.place.known = self.store.session(kept.row.id)

    # What it is known by

    def change(
        self,
        *,
        title: str | None = None,
        goal: str | None = None,
        model: str = "",
        context_length: int | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> SessionInfo:
        """Set what is given and return the session as it is now. One that is not begun begins,
        unless only its model changes.

        Every summary begins with the goal. Another `model` has its own window from the next
        request on, looked up by its name or given as `context_length`. `notes` are facts of the
        host, JSON values by name, kept beside those that are there: they are not searched and not
        sent, and they go when the session is erased.
        """
        for name, text in (("title", title or ""), ("goal", goal or ""), ("model", model)):
            InvalidSetting.check_type(name, text, str, "a text")
        InvalidSetting.check_tokens("context_length", context_length)
        kept = self._parts.conversation
        with kept.lock:
            if model or context_length is not None:
                self._use_model(model, context_length)
            if title is not None or goal is not None:
                kept.place.known = self.store.change(kept.row.id, title=title, goal=goal)
                kept.compressor.about.goal = kept.row.goal
            if notes:
                kept.note(notes={**self.notes, **notes})
            return kept.place.last_known if model else kept.row

    def _use_model(self, model: str, context_length: int | None) -> None:
        kept = self._parts.conversation
        name = model or kept.engine.settings.model
        window, _ = window_of(name, context_length)
        kept.engine.use_model(name, window)
        given = model or kept.settings.model
        kept.place.settings = replace(kept.settings, model=given, context_length=context_length)
        if kept.is_there():
            if model:
                kept.place.known = self.store.change(kept.row.id, model=model)
            kept.note(settings=kept.settings.kept)

    # The model's own tools, and the way back

    def tools(self, dialect: str = "") -> list[dict[str, Any]]:
        """Return the tools by which a model reaches what was folded, searches it, and asks for a
        compaction; as requests of a wire format declare them, by default that of the session.
        """
        return tools_in(dialect or self._parts.place.dialect or "openai-chat", (*TOOLS, COMPACT))

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        as_json: bool = False,
        **ignored: Any,
    ) -> str:
        """Answer a call of one of `tools`; a sentence if it cannot be answered, never an error.

        `arguments` may be the JSON that the model wrote. An answer takes at most a tenth of the
        window, and 8,000 tokens. `ignored` is what hosts hand over beside it.
        """
        with self._parts.lock:
            try:
                answer = self._parts.changes.answer_call(name, arguments)
            except FoldawayError as error:
                answer = str(error)
        return dump_text({"result": answer}) if as_json else answer

    def recall(self, reference: str) -> list[Any]:
        """Return the originals behind a reference, verbatim; raises `UnknownReference`.

        References of sessions that this one came from, or that went another way, lead there. A
        place such as m120 is one message of the log.
        """
        InvalidSetting.check_type("reference", reference, str, "a text such as 'fa-0123456789'")
        with self._parts.lock:
            return recall(self._parts.conversation, reference)


def internals(session: Session) -> SessionParts:
    """Return the parts of a session, for our own surfaces; they change without notice."""
    return session._parts  # pyright: ignore[reportPrivateUsage]


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


def _session_at(place: SessionPlace) -> Session:
    made = Session.__new__(Session)
    made._take_place(place)  # pyright: ignore[reportPrivateUsage]
    return made


def _reopen(address: str | os.PathLike[str], session_id: str, settings: SessionSettings) -> Session:
    return _session_at(SessionPlace.at(address, "", settings, session_id))
