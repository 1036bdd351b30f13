"""One chat from its first prompt to its end: lines become turns or commands."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from holdfast.catalog import PriceList
from holdfast.chat.model import ChatModel
from holdfast.chat.screen import Screen
from holdfast.chat.status import ChatStatus, status_of
from holdfast.chat.tools import McpServer, OwnTool, Toolbox
from holdfast.chat.turn import Turns
from holdfast.commands import CommandAnswer, Commands, Completion
from holdfast.errors import HoldfastError
from holdfast.sessions.chat import Chat
from holdfast.stores.store import Store
from holdfast.transcript import is_ask, texts

T = TypeVar("T")

PAST_MESSAGES = 4
"""How many messages of a session that is taken up are shown again."""
OWN = (
    Completion("/tree", "Show this session and its branches as a tree."),
    Completion("/quit", "End the chat; the session can be resumed."),
)
"""What the chat itself understands, beside the commands of every host."""


class Started(Struct, frozen=True, kw_only=True):
    """What a chat is made of."""

    chat: Chat
    store: Store
    model: ChatModel
    screen: Screen
    servers: Sequence[McpServer] = ()
    with_shell: bool = True
    own_tools: Sequence[OwnTool] = ()
    story: Sequence[str] = ()
    """What an empty line stands for, one after the other."""
    is_kept: bool = True
    """Whether the session is there after the end."""
    notes: Sequence[str] = ()
    """Sentences to begin with."""


class Host:
    """Reads lines until the end; `Ctrl-C` stops what runs, and nothing else."""

    def __init__(self, started: Started) -> None:
        self._started, self._screen = started, started.screen
        self._chat, self._store = started.chat, started.store
        self._tools = Toolbox(
            started.chat, servers=started.servers, own=started.own_tools,
            ask=started.screen.ask if started.with_shell and started.screen.is_terminal else None,
        )  # fmt: skip
        self._turns = Turns(started.chat, started.model, self._tools, started.screen)
        self._commands = Commands(started.chat.session, started.chat.memory)
        self._story = list(started.story)
        self._choices: dict[str, str] = {}
        self._prices = PriceList()

    async def run(self) -> None:
        """Greet, and answer line by line until there is no more."""
        screen = self._screen
        for note in [*self._started.notes, *await self._tools.open()]:
            screen.notice(note)
        self._take_up()
        try:
            while (line := await self._read()) is not None:
                if line == "/quit":
                    break
                await self._answer(line)
        finally:
            await self._end()

    async def _read(self) -> str | None:
        hint = self._story[0] if self._story else ""
        line = await self._screen.read(self._commands, self._status, hint)
        if line is not None and line == hint and hint:
            self._story.pop(0)
        return None if line is None else line.strip()

    async def _answer(self, line: str) -> None:
        line = self._choices.get(line, line)
        if line == "/tree":
            lineage = self._store.lineage(self._chat.session.id)
            self._screen.tree(lineage, self._chat.session.id)
        elif self._commands.is_command(line):
            await self._command(line)
        elif line or self._turns.is_open:
            await self._turn(line)

    async def _turn(self, words: str) -> None:
        turns = self._turns
        try:
            with self._screen.working():
                end = await self._interruptible(
                    lambda: turns.take(words) if words else turns.go_on()
                )
        except HoldfastError as error:
            self._screen.notice(f"{error}")
            return
        if end is not None and end.sentence:
            self._screen.notice(end.sentence)

    async def _command(self, line: str) -> None:
        was = self._chat.session
        with self._screen.working():
            answer = await self._interruptible(lambda: self._commands.arun(line))
        if answer is None:
            self._screen.notice("stopped; nothing was changed")
            return
        self._screen.answer(answer)
        self._choices = {str(at): one.line for at, one in enumerate(answer.choices, 1)}
        if self._commands.session is not was:
            self._chat.session = self._commands.session
            self._take_up()
        await self._follow_model(answer)

    async def _follow_model(self, answer: CommandAnswer) -> None:
        """Ask the model that a command switched to, from the next request on."""
        name, turns = self._chat.session.engine.settings.model, self._turns
        if answer.command != "model" or answer.status != "done" or name == turns.model.name:
            return
        made = turns.model.named(name)
        await turns.model.close()
        turns.model = made

    async def _interruptible(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Return what work comes to, None if Ctrl-C stopped it."""
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work())
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise  # the chat itself was stopped
            return None
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def _take_up(self) -> None:
        """Show the end of a session that was there before, and mend what a crash left open."""
        session, turns = self._chat.session, self._turns
        lost = turns.mend()
        if not session.engine.length:
            return
        said = [one for one in session.engine.log.messages if one.role in ("user", "assistant")]
        for message in said[-PAST_MESSAGES:]:
            if words := "\n".join(texts(message)):
                self._screen.past("user" if is_ask(message) else "assistant", words)
        if lost:
            self._screen.notice(f"{lost} calls had no result when the program ended; they say so")
        if turns.is_open:
            self._screen.notice("the last message has no answer yet; an empty line asks for it")

    def _status(self) -> ChatStatus:
        return status_of(self._chat.session, self._store, self._prices)

    async def _end(self) -> None:
        await self._turns.model.close()
        await self._tools.close()
        session = self._chat.session
        asked = session.engine.length and any(map(is_ask, session.engine.log.messages))
        name: Any = session.id
        self._chat.close()
        if not asked:
            self._store.erase([name], vacuum=False)
        elif self._started.is_kept:
            self._screen.notice(f"`holdfast chat --resume {name[-8:]}` continues this session")
