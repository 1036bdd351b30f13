"""A turn: what the user says, requests, calls and results, until the model has answered.

Every step is in the store before the next one begins. However a turn ends, the log is one that the
provider accepts: a partial answer is kept as it was seen, and an open call gets a result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from foldaway.agents.chat.model import ChatAnswer, ChatModel
from foldaway.agents.chat.tools import Toolbox
from foldaway.dialects import dialect_named
from foldaway.errors import FoldawayError
from foldaway.sessions import Chat, internals
from foldaway.transcript import Message, Text, ToolCall, ToolResult, is_ask

INTERRUPTED = "Interrupted by the user before there was a result."
LOST = "The program ended before there was a result."
MOST_ROUNDS = 50
"""Requests of one turn: a model that only calls tools is stopped; chosen."""


class TurnListener(Protocol):
    """Who sees a turn while it runs."""

    def say(self, text: str) -> None:
        """Take a piece of the answer."""

    def call(self, call: ToolCall) -> None:
        """Take a call that is about to run."""

    def result(self, text: str) -> None:
        """Take what the call came to."""


class TurnEnd(Struct, frozen=True):
    """How a turn ended, and what there is to say about it."""

    ending: Literal["answered", "interrupted", "failed", "stopped"]
    sentence: str = ""


class Turns:
    """The turns of one chat, one at a time; cancel the task of a turn to interrupt it."""

    def __init__(self, chat: Chat, model: ChatModel, tools: Toolbox, heard: TurnListener) -> None:
        self.chat, self.model, self.tools, self._listener = chat, model, tools, heard
        self._heard: list[str] = []
        self._done: dict[str, str] = {}

    def log(self) -> Sequence[Message]:
        """Return all messages of the session."""
        session = self.chat.session
        return internals(session).engine.log.messages if session.info.length else ()

    @property
    def is_open(self) -> bool:
        """Whether the last message waits for an answer."""
        log = self.log()
        return bool(log) and log[-1].role in ("user", "tool")

    def mend(self, why: str = LOST) -> int:
        """Give every open call its result, or one that says why it has none; return how many."""
        waiting: dict[str, ToolCall] = {}
        for message in self.log():
            waiting = {} if is_ask(message) else waiting
            for part in message.parts:
                if isinstance(part, ToolCall):
                    waiting[part.id] = part
                elif isinstance(part, ToolResult):
                    waiting.pop(part.call_id, None)
        self._keep_results([(call, self._done.get(call.id, why)) for call in waiting.values()])
        return len(waiting)

    async def take(self, words: str = "") -> TurnEnd:
        """Take what the user says, which is durable from then on, and answer it; without words,
        answer what has no answer yet, as after a crash, an interrupt or a failure.
        """
        try:
            if words:
                await self.chat.aask(words)
            for _ in range(MOST_ROUNDS):
                answer = await self.chat.asend(self._ask)
                self._heard, self._done, calls = [], {}, self._calls(answer)
                if not calls:
                    await self.chat.areply(answer.message, answer.usage)
                    cut = "the answer was cut off at its longest" if answer.is_cut else ""
                    return TurnEnd("answered", cut)
                self.chat.append(answer.message)
                self.chat.session.used(answer.usage)
                await self._run_calls(calls)
            return TurnEnd(
                "stopped", f"no answer after {MOST_ROUNDS} requests; an empty line goes on"
            )
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            self._keep_partial()
            return TurnEnd("interrupted", "stopped; what was said until here is kept")
        except FoldawayError:
            self._keep_partial()
            raise
        except Exception as error:  # noqa: BLE001  a guest: an SDK may raise anything
            failed = self.model.failure(error, has_begun=bool(self._heard))
            self._keep_partial()
            return TurnEnd("failed", f"{failed}")

    async def _ask(self, messages: list[Any]) -> ChatAnswer:
        frame = self.model.frame(self.chat.system, self.tools.declare(self.model.dialect))
        internals(self.chat.session).engine.take_request(frame)
        return await self.model.answer(frame, messages, self._hear)

    def _hear(self, text: str) -> None:
        self._heard.append(text)
        self._listener.say(text)

    def _keep_partial(self) -> None:
        """Keep what was seen of an answer, and give open calls a result."""
        said, self._heard = "".join(self._heard), []
        if said:
            self.chat.append(self._encode(Message("assistant", (Text(said),))))
        self.mend(INTERRUPTED)

    async def _run_calls(self, calls: list[ToolCall]) -> None:
        """Run calls in their order; results are kept one by one if the wire has a message each."""
        done: list[tuple[ToolCall, str]] = []
        for call in calls:
            self._listener.call(call)
            self._done[call.id] = text = await self.tools.call(call)
            self._listener.result(text)
            done.append((call, text))
            if self.model.dialect == "openai-chat" or call is calls[-1]:
                self._keep_results(done)
                done = []

    def _keep_results(self, found: list[tuple[ToolCall, str]]) -> None:
        parts = [ToolResult(call.id, (Text(text),), name=call.name) for call, text in found]
        is_each = self.model.dialect == "openai-chat"
        groups = [(part,) for part in parts] if is_each else [tuple(parts)]
        self.chat.append(*(self._encode(Message("tool", group)) for group in groups if group))

    def _calls(self, answer: ChatAnswer) -> list[ToolCall]:
        (message,) = dialect_named(self.model.dialect).decode([answer.message], 0)
        return [part for part in message.parts if isinstance(part, ToolCall)]

    def _encode(self, message: Message) -> Any:
        return dialect_named(self.model.dialect).encode(message)
