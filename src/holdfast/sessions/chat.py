"""A session with its memory: all that a host needs for a turn, as one object."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from holdfast.dialects.registry import dialect_named
from holdfast.memory.inject import injected
from holdfast.memory.manager import MemoryManager, Recalled
from holdfast.memory.provider import Switch
from holdfast.report import Report
from holdfast.sessions.hooks import Hooks, Switched
from holdfast.sessions.session import Session
from holdfast.stores.store import Store
from holdfast.stores.values import NewSession, SessionInfo
from holdfast.transcript import Text


class Chat:
    """One conversation for one thread: durable, compacted when due, with memory beside it.

    `ask` takes what the user says and gives the request; `reply` takes the answer. Between them,
    in a loop of tool calls, `append` takes messages and `request` gives the next request, with
    the same recalled text at the same place. Memory is in requests only: neither the session nor
    its summaries hold a word of it.
    """

    def __init__(
        self, store: Store, memory: MemoryManager, *, system: str = "", resume: str = "",
        **options: Any,
    ) -> None:  # fmt: skip
        """Begin a session with a system prompt, or take up the one that `resume` names.

        `options` are those of `Session`; the memory's own text is rendered into the system prompt
        at the start and after every compaction, so that it stays the same bytes in between.
        """
        self.memory, self._system = memory, system
        self._recalled, self._asked = Recalled(), ""
        hooks = Hooks(
            system=self._render, before_compaction=self._before, session_switch=self._switched
        )
        if resume:
            self.session = Session.resume(store, resume, hooks=hooks, **options)
        else:
            first = {"role": "system", "content": system or "."}
            new = NewSession(dialect="openai-chat")
            self.session = Session.create(store, first, new=new, hooks=hooks, **options)

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
    def recalled(self) -> Recalled:
        """What memory said to this turn, and who was late."""
        return self._recalled

    def ask(self, text: str) -> list[Any]:
        """Take what the user says; return the messages to send."""
        self._asked = text
        self.memory.turn_started(text)
        self.session.append({"role": "user", "content": text})
        self._recalled = self.memory.prefetch(text, self.session.id)
        return self.request()

    def append(self, *messages: Any) -> None:
        """Take messages of a tool loop: the agent's calls and their results."""
        self.session.append(*messages)

    def request(self) -> list[Any]:
        """Return the messages to send now; not to be kept, for memory stands in them."""
        return injected(
            self.session.messages, self._recalled.text, dialect=self.session.info.dialect
        )

    def reply(self, message: Any, usage: Mapping[str, Any] | None = None) -> Report:
        """Take the agent's answer; remember the turn, and compact where that is due."""
        given = {"role": "assistant", "content": message} if isinstance(message, str) else message
        self.session.append(given)
        if usage is not None:
            self.session.used(usage)
        self.memory.sync(self._asked, _words(given, self.session.info.dialect), self.session.id)
        self.memory.warm(self._asked, self.session.id)
        self._recalled = Recalled()
        return self.session.compact()

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools of memory and of the engine, for the model."""
        return [*self.memory.tools(), *self.session.engine.get_tool_schemas()]

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer a call of one of `tools`."""
        if any(tool["name"] == name for tool in self.memory.tools()):
            return self.memory.call(name, arguments)
        return self.session.engine.handle_tool_call(name, arguments)

    def close(self) -> None:
        """End the session's part of the work; what was handed to memory is finished first."""
        self.memory.session_ended(self.session.id, self.session.messages)
        self.memory.flush()
        self.session.close()

    def _render(self, info: SessionInfo) -> str:
        del info
        return "\n\n".join(part for part in (self._system, self.memory.system_text()) if part)

    def _before(self, info: SessionInfo) -> str:
        del info
        return self.memory.before_compaction(self.session.messages)

    def _switched(self, switched: Switched) -> None:
        self.memory.session_switched(
            Switch(
                session_id=switched.session_id, parent_id=switched.previous_id,
                reset=switched.descent == "reset", rewound=switched.descent == "branch",
            )
        )  # fmt: skip


def _words(message: Any, dialect: str) -> str:
    """Return what the agent said in a message."""
    (decoded,) = dialect_named(dialect).decode([message], 0)
    return "\n".join(part.text for part in decoded.parts if isinstance(part, Text))
