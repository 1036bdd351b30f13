"""A session with its memory: all that a host needs for a turn, as one object."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar

from msgspec.structs import replace

from foldaway._core import Policy, Redact, Report, Summarizer
from foldaway.dialects import dialect_named
from foldaway.engine import COMPACT, TOOLS, Model
from foldaway.errors import InvalidSetting
from foldaway.facts import recognize
from foldaway.memory import MemoryManager, Recalled, Switch, inject
from foldaway.sessions.hiding import redactor_of
from foldaway.sessions.hooks import Hooks, Switched, call_hook
from foldaway.sessions.place import GivenSettings, SessionOptions
from foldaway.sessions.session import Session, internals
from foldaway.stores import NewSession, SessionInfo, Store
from foldaway.summarizers import Writers
from foldaway.transcript import Message, Role, Text, ToolCall, is_ask, texts

T = TypeVar("T")

_GOAL_IS = "The goal of this session, as it was set:"
_GOAL_CHARS = 8_000
"""Of a goal in the system prompt; what is longer is cut."""


class Chat:
    """One conversation for one thread or task: durable, compacted when due, with memory beside it.

    `ask` takes what the user says and gives the request; `reply` takes the answer. Between them,
    in a loop of tool calls, `append` takes messages and `request` gives the next request, with
    the same recalled text at the same place; `send` makes requests that are compacted where that
    is due. Memory is in requests only: neither the session nor its summaries hold a word of it.
    Hosts that await have `aask`, `asend` and `areply`.
    """

    def __init__(
        self,
        store: Store,
        memory: MemoryManager,
        *,
        system: str = "",
        resume: str = "",
        dialect: str = "openai-chat",
        goal: str = "",
        hooks: Hooks | None = None,
        model: str | Model = "",
        context_length: int | None = None,
        policy: Policy | None = None,
        summarizer: Summarizer | Writers | str | None = None,
        redact: Redact | None = None,
        background: bool = False,
    ) -> None:
        """Begin a session with a system prompt, or take up the one that `resume` names.

        `dialect` and `goal` are those of a new session; if its system prompt is not a message, the
        host sends `system` beside the messages. The rest is as for `Session`. The goal, byte
        for byte, and the memory's own text are rendered into the system prompt at the start, when
        a session is taken up, and after every compaction, so that it stays the same bytes in
        between.
        """
        InvalidSetting.check_type("store", store, Store, "what open_store() returns")
        InvalidSetting.check_type("memory", memory, MemoryManager, "what open_memory() returns")
        self.memory, self._system = memory, system
        memory.hide_with(redactor_of(store))
        self._recalled, self._asked = Recalled(), ""
        self._host = hooks or Hooks()
        given = GivenSettings(
            model=model,
            context_length=context_length,
            policy=policy,
            system=self._render,
            summarizer=summarizer,
            redact=redact,
            hooks=replace(
                self._host, before_compaction=self._before, session_switch=self._note_switch
            ),
            options=SessionOptions(
                background=background, new=NewSession(dialect=dialect, goal=goal)
            ),
        )
        if resume:
            self.session = Session.open(store, store.find(resume).id, **given)
            internals(self.session).conversation.render_system()
            self._take_up()
        else:
            self.session = Session(store, **given)

    def __enter__(self) -> Chat:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def system(self) -> str:
        """The system prompt with what memory says; among the messages where it belongs there."""
        kept = internals(self.session).conversation
        return kept.system or self._render(self.session.info)

    @property
    def recalled(self) -> Recalled:
        """What memory said to this turn, and who was late."""
        return self._recalled

    # A turn

    def ask(self, said: Any) -> list[Any]:
        """Take what the user says, a text or a message; return the messages to send."""
        self._take(said)
        self._recalled = self.memory.prefetch(self._asked, self.session.id)
        return self.request()

    async def aask(self, said: Any) -> list[Any]:
        """Do what `ask` does; while memory is asked, other tasks go on."""
        self._take(said)
        self._recalled = await asyncio.to_thread(self.memory.prefetch, self._asked, self.session.id)
        return self.request()

    def append(self, *messages: Any) -> None:
        """Take messages of a tool loop: the agent's calls and their results."""
        self.session.append(*messages)

    def request(self) -> list[Any]:
        """Return the messages to send now; not to be kept, for memory stands in them."""
        return self._with_memory(self.session.messages)

    def send(self, call: Callable[[list[Any]], T]) -> T:
        """Compact if it is due and hand the messages to `call`; once more if the provider
        says that they were too long.
        """

        def ask(**asked: Any) -> T:
            return call(self._with_memory(asked[self._list_key]))

        return self.session.send(ask)

    async def asend(self, call: Callable[[list[Any]], Awaitable[T]]) -> T:
        """Do what `send` does, for hosts that await."""

        def ask(**asked: Any) -> Awaitable[T]:
            return call(self._with_memory(asked[self._list_key]))

        return await self.session.asend(ask)

    def reply(self, message: Any, usage: object = None) -> Report:
        """Take the agent's answer; remember the turn, and compact if that is due."""
        self._finish(message, usage)
        return self.session.compact()

    async def areply(self, message: Any, usage: object = None) -> Report:
        """Do what `reply` does, for hosts that await a summarizer."""
        self._finish(message, usage)
        return await self.session.acompact()

    # Tools

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools of memory and of the engine, for the model."""
        return [*self.memory.tools(), *map(dict, (*TOOLS, COMPACT))]

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer a call of one of `tools`."""
        if any(tool["name"] == name for tool in self.memory.tools()):
            return self.memory.call(name, arguments)
        return self.session.call(name, arguments)

    def close(self) -> None:
        """End the session's part of the work; what was handed to memory is finished first."""
        self.memory.session_ended(self.session.id, internals(self.session).engine.messages)
        self.memory.flush()
        self.session.close()

    @property
    def _dialect(self) -> str:
        return self.session.info.dialect

    @property
    def _list_key(self) -> str:
        return dialect_named(self._dialect).list_key

    def _with_memory(self, messages: list[Any]) -> list[Any]:
        return inject(messages, self._recalled.text, dialect=self._dialect)

    def _take(self, said: Any) -> None:
        given = _message("user", said, self._dialect)
        self._asked = _words(given, self._dialect)
        self.memory.turn_started(self._asked)
        self.session.append(given)

    def _finish(self, message: Any, usage: object) -> None:
        given = _message("assistant", message, self._dialect)
        self.session.append(given)
        if usage is not None:
            self.session.used(usage)
        self.memory.sync(self._asked, _words(given, self._dialect), self.session.id)
        self.memory.warm(self._asked, self.session.id)
        self._recalled, self._asked = Recalled(), ""

    def _take_up(self) -> None:
        """Go on with a turn that has no answer yet, as after a crash."""
        known = recognize(dialect_named(self._dialect).decode(self.session.messages, 0))
        asks = [message for message in known if is_ask(message)]
        if asks and not _is_answer(known[-1]):
            self._asked = "\n".join(texts(asks[-1]))
            self._recalled = self.memory.prefetch(self._asked, self.session.id)

    def _render(self, info: SessionInfo) -> str:
        goal = info.goal if len(info.goal) <= _GOAL_CHARS else f"{info.goal[:_GOAL_CHARS]}…"
        aim = f"{_GOAL_IS}\n{goal}" if goal else ""
        parts = (self._system, aim, self.memory.system_text())
        return "\n\n".join(part for part in parts if part)

    def _before(self, info: SessionInfo) -> str:
        said = call_hook(self._host.before_compaction, info)
        ours = self.memory.before_compaction(internals(self.session).engine.messages)
        return "\n\n".join(text for text in (said, ours) if isinstance(text, str) and text)

    def _note_switch(self, switched: Switched) -> None:
        call_hook(self._host.session_switch, switched)
        self.memory.session_switched(
            Switch(
                session_id=switched.session_id,
                parent_id=switched.previous_id,
                reset=switched.descent == "reset",
                rewound=switched.descent == "branch",
            )
        )


def _message(role: Role, given: Any, dialect: str) -> Any:
    """Return a text as a message of a dialect; what is a message already is left as it is."""
    if not isinstance(given, str):
        return given
    return dialect_named(dialect).encode(Message(role, (Text(given),)))


def _words(message: Any, dialect: str) -> str:
    """Return what somebody said in a message."""
    (decoded,) = dialect_named(dialect).decode([message], 0)
    return "\n".join(texts(decoded))


def _is_answer(message: Message) -> bool:
    return message.role == "assistant" and not any(
        isinstance(part, ToolCall) for part in message.parts
    )
