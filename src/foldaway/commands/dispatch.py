"""The commands of one conversation: a line in, an answer out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec.structs import replace

from foldaway.commands import compacting, showing
from foldaway.commands.lines import (
    NAMES,
    SPECS,
    BadLine,
    CommandLine,
    split_line,
    suggest_names,
    unknown_command,
)
from foldaway.commands.reach import Reach
from foldaway.commands.values import CommandAnswer, CommandChoice, Completion
from foldaway.errors import FoldawayError
from foldaway.memory import MemoryManager
from foldaway.sessions import Session, redactor_of

Answer: TypeAlias = CommandAnswer | tuple[Session, CommandAnswer]
"""With the session that is current from then on, if that may be another."""
_HANDLERS: Mapping[str, Callable[[Session, CommandLine, Reach], Answer]] = {
    "compress": compacting.compress,
    "undo": compacting.undo,
    "branch": compacting.branch,
    "new": compacting.new,
    "resume": compacting.resume,
    "rewind": compacting.rewind,
    "goal": compacting.name,
    "title": compacting.name,
    "context": showing.context,
    "usage": showing.usage,
    "pin": compacting.pin,
    "unpin": compacting.unpin,
    "recall": showing.recall,
    "search": showing.search,
    "memory": showing.memory,
    "export": showing.export,
    "model": compacting.model,
    "status": showing.status,
    "help": showing.help_on,
}

_NO_COMMANDS: Mapping[str, str] = {}
_COMPRESS_WORDS = (
    ("here", "keep the last N exchanges"),
    ("above", "fold what is before a message"),
    ("--preview", "only show it"),
    ("--force", "do not say first what it costs"),
)


class Commands:
    """The commands of one conversation, for one thread or task at a time.

    `run` takes a line such as `/compress here 3` and gives a value; it prints nothing, and what
    cannot be done is an answer, too. After `/branch`, `/new`, `/resume`, `/rewind` and `/undo 2`
    the conversation goes on in another session: take `session` from here for the next turn.
    """

    def __init__(
        self,
        session: Session,
        *,
        memory: MemoryManager | None = None,
        all_sessions: bool = False,
        own: Mapping[str, str] = _NO_COMMANDS,
    ) -> None:
        """Take the conversation that commands are about.

        A person reaches the conversations that began with this one; with `all_sessions` every one
        of the store, for hosts with one user. `memory` is what `/memory` shows. `own` are commands
        that the host answers itself, such as {"quit": "End the chat."}, for `/help` and completion.
        """
        self.session = session
        self._memory = memory
        self._all, self._own = all_sessions, own
        self._show = redactor_of(session.store)

    @staticmethod
    def is_command(line: str) -> bool:
        """Return whether a line is written as a command, known or not; a path such as /etc/hosts is
        none.
        """
        return split_line(line) is not None

    def run(self, line: str) -> CommandAnswer:
        """Return what a command did."""
        return self._guard(line, self._run)

    async def arun(self, line: str) -> CommandAnswer:
        """Do what `run` does, for hosts that await; a compaction that is cancelled changes
        nothing.
        """
        asked = split_line(line)
        if asked is None or asked.name != "compress":
            return await asyncio.to_thread(self.run, line)
        looked = await asyncio.to_thread(self._guard, line, self._look)
        if looked.headline:
            return looked
        try:
            options = compacting.compact_arguments(self.session, asked)
            report = await self.session.acompact(**options)
            return self._mark_ended(compacting.describe(report, asked, looked.warnings))
        except FoldawayError as error:
            return self._fail(asked.name, str(error))

    def _look(self, line: CommandLine) -> Answer:
        return compacting.look(self.session, line)

    def _guard(self, line: str, work: Callable[[CommandLine], Answer]) -> CommandAnswer:
        asked = split_line(line)
        if asked is None:
            return self._fail("", "a command begins with a slash, such as /help")
        if asked.name not in SPECS:
            near = tuple(
                CommandChoice(f"/{name}", self._help(name))
                for name in suggest_names(asked.name, self._own)
            )
            failed = self._fail("", unknown_command(asked.name, self._own))
            return replace(failed, choices=near)
        if not self.session.id and not self._is_for_beginning(asked.name):
            return CommandAnswer(
                command=asked.name, status="unchanged", headline="nothing was said yet"
            )
        try:
            answer = work(asked)
        except (BadLine, FoldawayError) as error:
            return self._fail(asked.name, str(error))
        if isinstance(answer, tuple):
            self.session, answer = answer
        return self._mark_ended(answer)

    def _run(self, line: CommandLine) -> Answer:
        return _HANDLERS[line.name](self.session, line, self._reach)

    # What an agent may do itself

    def tools(self, dialect: str = "") -> list[dict[str, Any]]:
        """Return the commands that a model may use, as its requests declare tools: recall, search,
        and a compaction with a focus before the next turn.
        """
        return self.session.tools(dialect)

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> str:
        """Answer a call of one of `tools`; a sentence if it cannot be answered."""
        return self.session.call(name, arguments)

    # While a person types

    def complete(self, line: str) -> tuple[Completion, ...]:
        """Return what the last word of a line may become."""
        name, has_arguments, rest = line.lstrip().partition(" ")
        if not name.startswith("/"):
            return ()
        if not has_arguments:
            return tuple(
                Completion(f"/{one}", self._help(one))
                for one in (*SPECS, *(NAMES.keys() - SPECS.keys()), *self._own)
                if one.startswith(name[1:].lower())
            )
        spec = SPECS.get(NAMES.get(name[1:].lower(), ""))
        last = rest.rpartition(" ")[2]
        if spec is None or not (self.session.id or self._is_for_beginning(spec.name)):
            return ()
        found = self._arguments(spec.takes, rest)
        return tuple(one for one in found if one.text.startswith(last))

    def _arguments(self, takes: str, rest: str) -> tuple[Completion, ...]:
        """Return what the last argument may be."""
        is_first = " " not in rest
        match takes:
            case "compress":
                words = _COMPRESS_WORDS if is_first else _COMPRESS_WORDS[-2:]
                return tuple(Completion(*one) for one in words)
            case "session" if is_first:
                return tuple(
                    Completion(one.id, self._show(one.title or one.first_ask))
                    for one in self._reach.recent(20)
                )
            case "place" if is_first:
                found = compacting.places(self.session, self._reach, "")
                return tuple(Completion(one.line.strip(), one.label) for one in found)
            case "pin":
                return tuple(Completion(f"m{p.position}", p.note) for p in self.session.pins)
            case "form":
                return tuple(map(Completion, showing.FORMS))
            case "command":
                return tuple(Completion(spec.name, spec.help) for spec in SPECS.values())
            case _:
                return ()

    @property
    def _reach(self) -> Reach:
        is_limited = not self._all and self.session.id != ""
        name = self.session.id if is_limited else ""
        return Reach(self.session.store, self._show, self._memory, self._own, name)

    def _help(self, name: str) -> str:
        return self._own[name] if name in self._own else SPECS[NAMES[name]].help

    def _is_for_beginning(self, name: str) -> bool:
        """Return whether a command makes sense before anything was said."""
        others = ("resume", "search") if self._all else ()
        return name in ("help", "goal", "title", "model", "memory", *others)

    def _mark_ended(self, answer: CommandAnswer) -> CommandAnswer:
        now = self.session
        return replace(answer, session_id=now.id)

    def _fail(self, command: str, sentence: str) -> CommandAnswer:
        return self._mark_ended(
            CommandAnswer(command=command, status="failed", headline=self._show(sentence))
        )
