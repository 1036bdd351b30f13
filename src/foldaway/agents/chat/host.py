"""One chat from its first prompt to its end: lines become turns or commands."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import TypeVar

from foldaway.agents.chat.model import ChatModel
from foldaway.agents.chat.screen import Screen
from foldaway.agents.chat.tools import Toolbox
from foldaway.agents.chat.turn import Turns
from foldaway.caching import PriceList
from foldaway.commands import Commands, next_step
from foldaway.errors import FoldawayError
from foldaway.sessions import Chat, internals
from foldaway.transcript import is_ask, texts
from foldaway.usage import conversation_usage, money, short

T = TypeVar("T")

OWN = {"tree": "Show the branches as a tree.", "quit": "End the chat; it can be continued."}
"""What the chat itself understands, beside the commands of every host."""
PAST_MESSAGES = 4
"""How many messages of a session that is taken up are shown again."""
_WIDE = 100
"""Columns from which on the bar is longer and the share is a number too."""


class Host:
    """Answers lines until there are no more; an empty one is the next of the `story`, if any."""

    def __init__(
        self, chat: Chat, model: ChatModel, tools: Toolbox, screen: Screen, story: Sequence[str]
    ) -> None:
        self._chat, self._screen, self._prices = chat, screen, PriceList()
        self._story, self._is_demo, self._choices = list(story), bool(story), dict[str, str]()
        self._turns = Turns(chat, model, tools, screen)
        self._commands = Commands(chat.session, memory=chat.memory, all_sessions=True, own=OWN)

    async def run(self) -> None:
        """Read and answer until the end, and close everything; an empty session is not kept."""
        try:
            for trouble in await self._turns.tools.open():
                self._screen.notice(trouble)
            self._take_up()
            while (line := await self._read()) is not None and line != "/quit":
                chosen, self._choices = self._choices.get(line, line), {}
                await self._answer(chosen)
        finally:
            await self._turns.model.close()
            await self._turns.tools.close()
            self._close()

    async def _read(self) -> str | None:
        hint = self._story[0] if self._story else ""
        status = partial(status_line, self._chat, self._prices)
        line = await self._screen.read(self._commands, status, hint)
        if hint and line == hint:
            self._story.pop(0)
        return None if line is None else line.strip()

    async def _answer(self, line: str) -> None:
        session = self._chat.session
        try:
            with self._screen.working():
                if line == "/tree":
                    self._screen.tree(session.store.lineage(session.id), session.id)
                elif self._commands.is_command(line):
                    await self._command(line)
                elif line or self._turns.is_open:
                    end = await self._run(self._turns.take(line))
                    self._screen.notice("nothing was taken" if end is None else end.sentence)
        except FoldawayError as error:
            self._screen.notice(f"{error}")

    async def _command(self, line: str) -> None:
        """Run a command. Only a compaction can be stopped: others are short, and would go on."""
        can_stop = line.split()[0] in ("/compress", "/compact")
        window = internals(self._chat.session).engine.settings.context_length
        answer = await self._run(self._commands.arun(line), can_stop=can_stop)
        if answer is None:
            self._screen.notice("stopped; nothing was changed")
            return
        self._screen.answer(answer)
        self._choices = {str(at): one.line for at, one in enumerate(answer.choices, 1)}
        was, now, model = self._chat.session, self._commands.session, self._turns.model
        if now is not was and now.id and now.info.dialect != model.dialect:
            self._commands.session = was
            self._screen.notice(
                f"that conversation is in {now.info.dialect}: `foldaway chat "
                f"--resume {now.id[-8:]} --model …` continues it"
            )
        elif now is not was:
            self._chat.session = now
            if answer.command != "branch":  # which shows what is there already
                self._take_up()
        if answer.command == "model" and answer.status == "done":
            await self._use(model.switch_to(internals(now).engine.settings.model), window)

    async def _use(self, model: ChatModel, window: int) -> None:
        """Ask another model from the next request on, if it speaks as the conversation does; if
        not, stay with the one before and its window.
        """
        was = self._turns.model
        if model.dialect == was.dialect:
            self._turns.model = model
            await was.close()
        else:
            self._chat.session.change(model=was.name, context_length=window)
            self._screen.notice(f"{model.spec} speaks {model.dialect}; begin another chat with it")

    async def _run(self, work: Awaitable[T], *, can_stop: bool = True) -> T | None:
        """Return what work comes to, None if Ctrl-C stopped it."""
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        loop.add_signal_handler(signal.SIGINT, task.cancel if can_stop else lambda: None)
        try:
            return await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise  # the chat itself was stopped
            return None
        finally:
            if self._screen.is_terminal:  # in it, Ctrl-C is a key of the prompt
                loop.add_signal_handler(signal.SIGINT, lambda: None)
            else:
                loop.remove_signal_handler(signal.SIGINT)

    def _take_up(self) -> None:
        """Show the end of a session that was there before, and repair what a crash left open."""
        lost = self._turns.mend()
        said = [one for one in self._turns.log() if one.role in ("user", "assistant")]
        for message in said[-PAST_MESSAGES:]:
            if words := "\n".join(texts(message)):
                self._screen.past(words, is_ask=is_ask(message))
        if lost:
            self._screen.notice(f"{lost} calls had no result when the program ended; they say so")
        if self._turns.is_open:
            self._screen.notice("the last message has no answer yet; an empty line asks for it")

    def _close(self) -> None:
        session, is_kept = self._chat.session, len(self._turns.log()) > 1
        self._chat.close()
        if not is_kept:
            if session.id:
                session.store.erase([session.id], vacuum=False)
        elif not self._is_demo:
            self._screen.notice(f"`foldaway chat --resume {session.id[-8:]}` continues it")


def status_line(chat: Chat, prices: PriceList, columns: int) -> str:
    """Return how full the window is, what was cached and paid, and what happens next, in at most
    `columns` columns. If that is too narrow, these are left out first: the model, what was cached,
    the cost, the bar.
    """
    session, engine = chat.session, internals(chat.session).engine
    usage = conversation_usage(session.store, session.info) if session.id else ()
    tokens, window = engine.decide().prompt_tokens, engine.settings.budget.context_length
    share, size = tokens / window, 12 if columns >= _WIDE else 6
    full = min(size, round(size * share))
    fill = f"{short(tokens)} of {short(window)}" + (f" ({share:.0%})" if columns >= _WIDE else "")
    costs = [prices.cost(row) for row in usage]
    read = usage[-1].cache_read_tokens / max(usage[-1].input_tokens, 1) if usage else 0.0
    pieces = {
        "bar": f"{'█' * full}{'░' * (size - full)} ",
        "cached": f"{read:.0%} cached" if usage else "",
        "cost": money(sum(cost or 0.0 for cost in costs)) if any(costs) else "",
        "model": engine.settings.model,
    }
    line = ""
    for name in ("", "model", "cached", "cost", "bar"):
        pieces[name] = ""
        head, *rest = (pieces[one] for one in ("bar", "cached", "cost", "model"))
        line = f" {' · '.join(one for one in (head + fill, *rest, next_step(session)) if one)}"
        if len(line) <= columns:
            break
    return line[:columns]
