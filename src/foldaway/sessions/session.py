"""One conversation: appended to or followed, durable, compacted when due, opened by its key."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from foldaway._core import MediaReducer, Policy, Redact, Report, Summarizer
from foldaway.caching import known_prices, window_of
from foldaway.compaction import Options, without_older_media
from foldaway.dialects import dialect_named, dump_text
from foldaway.engine import (
    COMPACT,
    TOOLS,
    Clock,
    Compressor,
    Inspection,
    Model,
    PreviewedRun,
    inspect_transcript,
    tools_in,
)
from foldaway.errors import FoldawayError
from foldaway.sessions.changes import Changes, Force, recall
from foldaway.sessions.conversation import StoredConversation, in_turn
from foldaway.sessions.delegations import (
    DONE,
    Delegated,
    delegations,
)
from foldaway.sessions.follower import Follower, When
from foldaway.sessions.following import Followed, messages_of
from foldaway.sessions.hooks import Hooks, Switched, announce_switch
from foldaway.sessions.last_view import LastView
from foldaway.sessions.leasing import TTL_SECONDS
from foldaway.sessions.lineage import Descendants
from foldaway.sessions.options import SessionOptions
from foldaway.sessions.place import SessionPlace
from foldaway.sessions.rows import frame_of
from foldaway.sessions.task_context import Handed
from foldaway.sessions.too_long import Refusal, refusal_of
from foldaway.sessions.tracking import Same
from foldaway.stores import Descent, NewSession, Pin, SessionInfo, Store, open_store
from foldaway.summarizers import Writers
from foldaway.transcript import Message, Payload

T = TypeVar("T")
_NOBODY = Hooks()
_HANDED = Handed()


class Session:
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
        self._place = SessionPlace(store, key, options, new, session_id)
        self._kept = StoredConversation(self._place)
        self._changes = Changes(self._kept)
        self._follower = Follower(self._kept, self._changes.compact)
        self._lineage = Descendants(self._kept)

    # What it is

    @property
    def lock(self) -> threading.RLock:
        """Hold it for several steps that no other thread may interrupt."""
        return self._kept.lock

    @property
    def id(self) -> str:
        """The id; another one after a rotation, and "" as long as the session is not begun."""
        return self._place.last_known.id if self._kept.is_there() else ""

    def begin(self) -> str:
        """Make the session in the store if it is not there yet, and return its id; the first
        message does that too.
        """
        with self.lock:
            return self._kept.row.id

    @property
    def key(self) -> str:
        """The key that was given; it opens the session again, and without one its id does."""
        return self._place.key

    @property
    def info(self) -> SessionInfo:
        """The session as the store has it now. One that is not begun has no id and no messages."""
        with self.lock:
            self._kept.look()
            return self._place.last_known

    @property
    def engine(self) -> Compressor:
        """The compressor that holds the conversation; an empty one before the first message."""
        return self._kept.engine

    @property
    def system(self) -> str:
        """The system prompt as it was rendered at the start or after the last compaction."""
        return self._kept.system

    def render_system(self) -> None:
        """Ask the hook for the system prompt and keep what it says, until a compaction asks again.

        Done at the start and after every compaction; a host does it when it takes up a session.
        """
        self._kept.render_system()

    @property
    def messages(self) -> list[Any]:
        """What the model should see now; the same bytes until something is appended, here, through
        another handle or by another process.

        What another agent left in a form that its provider refuses is repaired here, and a call
        that never got its result, as after a crash, gets one that says so when the user goes on.
        The store stays as it was; the report of a compaction names the rules.
        """
        return self._kept.messages

    # What arrives

    def append(self, *messages: Any) -> None:
        """Take new messages; they are durable when this returns, all of them or none.

        Mappings, JSON as bytes, or what the openai and anthropic clients return: messages, whole
        responses and the results of streams. Anything else is refused before anything is
        written. What another process appended meanwhile is taken up first; `Conflict` if that
        goes on.
        """
        self._kept.append([one for message in messages for one in messages_of(message)])

    def follow(
        self, messages: Sequence[Any] | None = None, *,
        request: Mapping[str, Any] | bytes | None = None, usage: object = None, force: bool = False,
        focus: str = "", when: When = "new",
    ) -> Followed:  # fmt: skip
        """Take the host's whole list and return what to send in its place.

        The list may be inside `request`, the body of a provider's API as a mapping or as bytes;
        its tools, system prompt and settings are taken into account. `usage` is what the provider
        reported for the last request, or a number: its count of this list. The same list gives
        the same result, on a retry, after a restart and in another process. What is new is kept,
        and compacted if that is due, or with `force`; `when` says for which lists.
        """
        return self._follower.follow(
            messages, request=request, usage=usage, force=force, focus=focus, when=when
        )

    def preview(self, *, request: Mapping[str, Any] | bytes) -> Followed:
        """Return what would be sent for a request by what was compacted so far; nothing is kept.

        A list that does not hold all that is known comes back as it is.
        """
        return self._follower.preview(request=request)

    def record(
        self, *, request: bytes | None = None, text: str = "", is_named: bool = False,
        focus: str = "",
    ) -> str:  # fmt: skip
        """Return all that is known of a host's list in one text, for a host that asks for a summary
        of it; "" if the conversation is not known. No model is asked, and nothing is compacted.

        The list is in a `request`, from which its own question was taken out: what is new in it is
        kept. Or it is told in a `text`, in the words of the host; `is_named` says that the host
        named this conversation. What is about the `focus` comes first.
        """
        return self._follower.record(request=request, text=text, is_named=is_named, focus=focus)

    @property
    def last_view(self) -> LastView | None:
        """How the last list became what was sent; None if that went as it came."""
        return self._follower.last_view

    def save_last_view(self) -> None:
        """Keep it with the view, so that the next list can be sent without this object."""
        self._follower.save_last_view()

    def used(self, usage: object, *, cost: float | None = None, corrects: bool = True) -> None:
        """Take what the provider reported for the last request, a mapping or the object of its
        client; it `corrects` the estimates, unless it is about messages that are not known yet. A
        number is its count of what would be sent now. Before the first message nothing of it is
        kept.
        """
        self._kept.used(usage, cost=cost, corrects=corrects)

    # Compaction

    def compact(
        self, *, force: Force = False, focus: str = "", keep_last: int | None = None,
        target_tokens: int | None = None,
    ) -> Report:  # fmt: skip
        """Compact if it is due, or by hand with `force`, and return what was done.

        With a function for `force` it is compacted only if that says so.
        """
        return self._changes.compact(
            force=force, focus=focus, keep_last=keep_last, target_tokens=target_tokens
        )

    async def acompact(
        self, *, force: Force = False, focus: str = "", keep_last: int | None = None,
        target_tokens: int | None = None,
    ) -> Report:  # fmt: skip
        """Do what `compact` does, for hosts that await a summarizer."""
        return await self._changes.acompact(
            force=force, focus=focus, keep_last=keep_last, target_tokens=target_tokens
        )

    def lighten(self) -> Report:
        """Show older media as placeholders, under their references."""
        return self._changes.lighten()

    def undo(self) -> bool:
        """Take back the last compaction and keep what came since; False if there is none."""
        return self._changes.undo()

    def pin(self, position: int, note: str = "") -> None:
        """Keep a message as it is through every compaction."""
        self._place.store.pin(self.id, position, note)

    def unpin(self, position: int) -> None:
        """Let a message go with the others again."""
        self._place.store.unpin(self.id, position)

    def pins(self) -> tuple[Pin, ...]:
        """Return the messages that no compaction folds."""
        return self._place.store.pins(self.id) if self._kept.is_there() else ()

    # Handles

    @property
    def store(self) -> Store:
        """Where it is kept."""
        return self._place.store

    @property
    def is_begun(self) -> bool:
        """Whether the store has it: something was said, its title or goal was set, or `begin`."""
        return self._kept.is_there()

    def _handle(self, session_id: str, **changed: Any) -> Session:
        """Return a handle on a session of the same store, perhaps with other settings."""
        options = {**_fields(self._place.options), **changed}
        return Session(self._place.store, session_id=session_id, **options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        """Return another handle on the same session."""
        return self.__copy__()

    def __copy__(self) -> Session:
        if self._place.key and not self._kept.is_there():
            return Session(
                self._place.store,
                self._place.key,
                new=self._place.new,
                **_fields(self._place.options),
            )
        return self._handle(self._kept.row.id)

    def __reduce__(self) -> tuple[Callable[..., Session], tuple[Any, ...]]:
        """Go to another process as a handle on the same session."""
        where = self._place.store.where
        address = self._address or (where if os.path.exists(where) else None)
        if address is None:
            raise TypeError(
                "this session cannot go to another process: its store is in memory, or a server "
                "that was not given by its address"
            )
        return _reopen, (address, self._kept.row.id, self._place.options)

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
        return refusal is not None and self._changes.shrink(refusal)

    # Room

    @in_turn
    def make_room(self, *incoming: Any) -> Report:
        """Compact before messages are handed to the agent, if there is hardly room for them.

        The measure is the hard threshold, 85 % of the window by default, with what the provider
        counted last and an estimate of what came since. `incoming` is as for `append`, or a text;
        it is not appended. A conversation of only its newest messages is left as it is.
        """
        return self._changes.make_room(incoming)

    async def amake_room(self, *incoming: Any) -> Report:
        """Do what `make_room` does, for hosts that await a summarizer."""
        return await self._changes.amake_room(incoming)

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

    # Descendants

    def branch(
        self, at: int | None = None, *, of: str = "", title: str = "", switches: bool = True,
        key: str = "",
    ) -> Session:  # fmt: skip
        """Return a session that shares the first `at` messages, or all, and goes its own way.

        `of` is the id of a session that this one came from: so any of them goes on again, with
        what the model saw then. Without `switches` this one stays the current session. `key` is
        the host's own name for the new one.
        """
        made = self._lineage.branch(at, of=of, title=title, key=key)
        return self._child(made, "branch", switches=switches)

    def review(self) -> Session:
        """Return a copy of the session for work in the background.

        It is in no list, no search finds it and no key leads to it. It never is the current
        session, and the hooks, so memory too, hear nothing of it.
        """
        system = self.system  # the bytes that the provider has in its cache
        hooks = Hooks() if self._kept.hooks.system is None else Hooks(system=lambda _: system)
        return self._handle(self._lineage.copy_for_review().id, hooks=hooks)

    def delegate(
        self, task: str = "", *, budget: float | None = None, context: Handed = _HANDED,
        title: str = "", goal: str = "", model: str = "", key: str = "",
    ) -> Session:  # fmt: skip
        """Return a session of its own for a subagent; `key` is the host's own name for it.

        The `task` is its goal and its first message, with the `context` that it gets of this
        conversation; without one it is empty. `budget` is its window: tokens, or up to 1 a share
        of the window of this session.
        """
        task_for = self._lineage.delegate(
            task, budget=budget, context=context, title=title, goal=goal, model=model, key=key
        )
        # the other hooks are about this conversation: its memory, its system prompt
        child = self._handle(
            task_for.session.id, hooks=Hooks(event=self._kept.hooks.event), **task_for.options
        )
        if task_for.first is not None:
            child._take(task_for.first)
        return child

    def take_result(self, child: Session, text: str, *, call_id: str = "") -> str:
        """Append the result of a subagent as one message, end its session, and return the
        reference by which its whole log is recalled.

        With `call_id` the message is the result of that call.
        """
        message, reference = self._lineage.result_of(child.info, text, call_id)
        self._take(message)
        child.close(DONE)
        return reference

    def delegated(self) -> tuple[Delegated, ...]:
        """Return what was given to subagents, in order, and how that stands."""
        return delegations(self._place.store, self._kept.row) if self._place.known else ()

    def _take(self, message: Message) -> None:
        """Append a message of ours; it is kept without making the session the current one."""
        self._kept.retry(lambda: self._kept.take([self.engine.encode(message)]))

    def continue_as(self, key: str) -> None:
        """Go on under another key, for hosts that begin a new one when they compact.

        Nothing else changes: what was given out leads here, and so does every key from before.
        `Conflict` if the key belongs to another conversation.
        """
        self._lineage.continue_as(key)

    def reset(self) -> Session:
        """End this session and return an empty one in its place; nothing of it is lost.

        The key leads to the new one, and the id of this one still to this one.
        """
        made = self._lineage.begin_again()
        self.close("reset")
        child = self._child(made, "reset")
        child._place.key = self._place.key
        return child

    def switch(self, session_id: str) -> Session:
        """Return a handle on another session of the store; from now on the key leads there.

        A session that had ended goes on; one that was continued under another id goes on there.
        `UnknownSession` if there is none of this id.
        """
        to, descent = self._lineage.lead_to(session_id)
        other = self._child(to, descent)
        other._kept.note(replaced_by="")
        other._place.key, other._place.source = self._place.key, self._place.source
        return other

    def _child(self, info: SessionInfo, descent: Descent, *, switches: bool = True) -> Session:
        other = self._handle(info.id)
        if switches:
            announce_switch(self._kept.hooks, Switched(self.id, info.id, descent))
        return other

    @in_turn
    def close(self, reason: str = "closed") -> None:
        """End the session; what is written in the background is let go of."""
        if not self._kept.is_there():
            return
        if not self._kept.is_stale:
            self._kept.compressor.cancel()
            self._kept.save()
        self._place.store.end(self._kept.row.id, reason)
        self._kept.row = self._place.store.session(self._kept.row.id)

    # What it is known by

    @in_turn
    def change(self, *, title: str | None = None, goal: str | None = None) -> SessionInfo:
        """Set the title or the goal, whatever is given; every summary begins with the goal."""
        self._kept.row = self._place.store.change(self._kept.row.id, title=title, goal=goal)
        self._kept.compressor.about.goal = self._kept.row.goal
        return self._kept.row

    @in_turn
    def use_model(self, model: str, context_length: int | None = None) -> None:
        """Go on with another model: its window counts from the next request on. The window is
        looked up by the name if it is not given.
        """
        window, _ = window_of(model, context_length)
        self.engine.use_model(model, window)
        self._place.options = replace(
            self._place.options, model=model, context_length=context_length
        )
        if self.is_begun:
            self._kept.row = self._place.store.change(self._kept.row.id, model=model)

    # Facts of the host

    @property
    def notes(self) -> dict[str, Any]:
        """What the host noted with the session, also in another process or before a restart."""
        known = self._kept.is_there()
        return frame_of(self._place.store.session(self.id)).get("notes", {}) if known else {}

    def note(self, **facts: Any) -> None:
        """Keep facts of the host with the session: JSON values, by name. They are not searched and
        not sent, and they go when the session is erased. Something must have been said before.
        """
        self._kept.note(notes={**self.notes, **facts})

    def try_compaction(self, options: Options) -> PreviewedRun:
        """Return what `compact` by hand would do, with the summary that needs no model; nothing is
        changed and nobody is asked.
        """
        quiet = replace(self._place.options, summarizer=None, hooks=_NOBODY)
        trial = Session(self._place.store, session_id=self.id, **_fields(quiet))
        return trial.engine.preview(options)

    # The model's own tools

    def tools(self, dialect: str = "") -> list[dict[str, Any]]:
        """Return the tools by which a model reaches what was folded, searches it, and asks for a
        compaction; as requests of a wire format declare them, by default that of the session.
        """
        return tools_in(dialect or self._place.dialect or "openai-chat", (*TOOLS, COMPACT))

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
            answer = self._changes.answer_call(name, arguments)
        except FoldawayError as error:
            answer = str(error)
        return dump_text({"result": answer}) if as_json else answer

    # The way back

    @in_turn
    def recall(self, reference: str) -> list[Any]:
        """Return the originals behind a reference, verbatim; raises `UnknownReference`.

        References of sessions that this one came from, or that went another way, lead there. A
        place such as m120 is one message of the log.
        """
        return recall(self._kept, reference)


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


def _fields(options: SessionOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in options.__struct_fields__}


def _reopen(address: str | os.PathLike[str], name: str, options: SessionOptions) -> Session:
    return Session(address, session_id=name, **_fields(options))
