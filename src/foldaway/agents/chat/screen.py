"""The terminal: the prompt with its completion and status line, and how everything looks."""

from __future__ import annotations

import asyncio
import sys
import termios
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.styles import Style
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text as Styled
from rich.tree import Tree

from foldaway.agents.chat.tools import Allowed
from foldaway.commands import CommandAnswer, Commands
from foldaway.reduction import plural
from foldaway.sessions import Show
from foldaway.stores import SessionInfo
from foldaway.transcript import ToolCall

PROMPT = "› "
RESULT_LINES, LINE_CHARS = 3, 200
"""What is shown of a result, and of each line; the model and the store have all of it."""
REFRESH_SECONDS = 0.5
"""How often the status line is drawn again, for what happens in the background; chosen."""
_STYLE = {"bottom-toolbar": "noreverse fg:ansibrightblack", "placeholder": "fg:ansibrightblack"}
_ANSWERS: dict[str, Allowed] = {"y": "yes", "a": "always"}


def visible(text: str) -> str:
    """Return a text of which nothing but letters, lines and tabs reaches the terminal."""
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    return "".join(one if one.isprintable() or one == "\n" else "�" for one in text)


def _line(text: str) -> str:
    """Return the first words of a text on one line."""
    return " ".join(visible(text[:LINE_CHARS]).split()) + "…" * (len(text) > LINE_CHARS)


class Flow:
    """Writes a text that comes in pieces, in lines that end between words."""

    def __init__(self, write: Callable[[str], object], columns: int) -> None:
        self._write, self._columns = write, columns
        self._at, self._word, self._wide = 0, "", 0

    def feed(self, text: str) -> None:
        """Take a piece; its last word is written when it is complete."""
        for sign in visible(text):
            if sign == "\n":
                self.end(is_line=True)
            elif sign == " ":
                self._put()
                if self._at < self._columns:
                    self._write(" ")
                    self._at += 1
            else:
                if self._wide + cell_len(sign) > self._columns:
                    self._put()
                self._word += sign
                self._wide += cell_len(sign)

    def end(self, *, is_line: bool = False) -> None:
        """Write the rest, and end the line if one is begun; an empty one too if `is_line`."""
        self._put()
        if self._at or is_line:
            self._write("\n")
        self._at = 0

    def _put(self) -> None:
        if self._at and self._at + self._wide > self._columns:
            self._write("\n")
            self._at = 0
        self._write(self._word)
        self._at, self._word, self._wide = self._at + self._wide, "", 0


class Screen:
    """What a person sees and types; without a terminal, lines in and plain text out."""

    def __init__(self, show: Show, *, is_terminal: bool) -> None:
        """Take what hides secrets in calls, results and notices."""
        self.is_terminal, self._show = is_terminal, show
        plain: dict[str, Any] = {"highlight": False, "emoji": False, "markup": False}
        self.console = Console(soft_wrap=not is_terminal, **plain)
        self._notes = self.console if is_terminal else Console(stderr=True, soft_wrap=True, **plain)
        self._flow: Flow | None = None
        self._prompt: PromptSession[str] | None = None
        self._late, self._last = list[str](), ""

    async def read(self, commands: Commands, status: Callable[[int], str], hint: str) -> str | None:
        """Return the next line, None at the end; an empty one means the `hint`."""
        while self._late:
            self.notice(self._late.pop(0))
        if not self.is_terminal:
            line = sys.stdin.readline()  # nobody types while a turn runs
            return (line.rstrip("\n") or hint) if line else None
        if self._prompt is None:
            self._prompt = PromptSession(
                PROMPT,
                completer=CommandCompleter(commands),
                reserve_space_for_menu=6,
                complete_while_typing=Condition(lambda: get_app().current_buffer.text[:1] == "/"),
                bottom_toolbar=lambda: status(get_app().output.get_size().columns),
                refresh_interval=REFRESH_SECONDS,
                style=Style.from_dict(_STYLE),
            )
        try:
            return await self._prompt.prompt_async(placeholder=hint, handle_sigint=False) or hint
        except KeyboardInterrupt:
            return ""
        except EOFError:
            return None

    async def ask(self, command: str) -> Allowed:
        """Ask whether a command may run; a Ctrl-C stops the whole turn."""
        self._end_flow()
        self.console.print(Styled("  run ", "bold yellow") + Styled(visible(command), "bold"))
        asking: PromptSession[str] = PromptSession("  [y]es, [n]o, [a]lways this command? ")
        try:
            typed = await asking.prompt_async(handle_sigint=False)
        except (KeyboardInterrupt, EOFError):
            raise asyncio.CancelledError from None
        return _ANSWERS.get(typed.strip().lower()[:1], "no")

    @contextmanager
    def working(self) -> Generator[None]:
        """For as long as a turn runs: keys are not echoed into it, but kept for the next prompt."""
        before = termios.tcgetattr(sys.stdin) if self.is_terminal else None
        if before is not None:
            quiet = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
        try:
            yield
        finally:
            self._end_flow()
            if before is not None:
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
                self.console.print()

    def say(self, text: str) -> None:
        """Show a piece of the answer."""
        if self._flow is None:
            columns = self.console.width - 1 if self.is_terminal else sys.maxsize
            self._flow = Flow(sys.stdout.write, columns)
        self._flow.feed(text)
        sys.stdout.flush()

    def call(self, call: ToolCall) -> None:
        """Show a call."""
        self._end_flow()
        self._cut_line(f"  → {visible(call.name)} {_line(self._show(call.arguments))}", "cyan")

    def result(self, text: str) -> None:
        """Show the first lines of a result."""
        lines = [line for line in self._show(text).splitlines() if line.strip()]
        for line in lines[:RESULT_LINES]:
            self._cut_line(f"    {_line(line)}")
        if len(lines) > RESULT_LINES:
            self._cut_line(f"    … {len(lines) - RESULT_LINES:,} more lines")

    def _cut_line(self, line: str, style: str = "dim") -> None:
        """Show a line of which the end may be missing."""
        self._notes.print(Styled(line, style), no_wrap=True, overflow="ellipsis")

    def _end_flow(self) -> None:
        if self._flow is not None:
            self._flow.end()
            sys.stdout.flush()
        self._flow = None

    def notice(self, sentence: str) -> None:
        """Show a sentence of the program; before the next prompt, if somebody types now."""
        if self._prompt is not None and self._prompt.app.is_running:
            self._late.append(sentence)
        elif sentence:
            self._last = sentence
            self._end_flow()
            self._notes.print(Styled(f"· {visible(self._show(sentence))}", "yellow"))

    def past(self, text: str, *, is_ask: bool) -> None:
        """Show a message of a session that is taken up."""
        mark, style = (PROMPT, "bold") if is_ask else ("", "")
        self.console.print(Styled(f"{mark}{visible(text)}", style))

    def answer(self, answer: CommandAnswer) -> None:
        """Show what a command came to."""
        style = "bold red" if answer.status == "failed" else "bold"
        if answer.command != "compress" or answer.headline not in self._last:  # said already
            self.console.print(Styled(visible(answer.headline), style))
        self._table((one.name, one.text) for one in answer.figures)
        self._table(answer.rows, has_heads=True)
        if answer.text:
            self.console.print(Styled(visible(answer.text)))
        choices = enumerate(answer.choices, 1)
        self._table((at, one.label, one.detail or one.line) for at, one in choices)
        if answer.choices:
            self._cut_line("  type a number to choose")
        for warning in answer.warnings:
            self.notice(warning)

    def _table(self, rows: Iterable[Sequence[Any]], *, has_heads: bool = False) -> None:
        grid = Table.grid(padding=(0, 2))
        for at, row in enumerate(rows):
            style = "dim" if has_heads and at == 0 else ""
            grid.add_row("", *(Styled(visible(str(cell)), style, overflow="fold") for cell in row))
        if grid.row_count:
            self.console.print(grid)

    def tree(self, sessions: Sequence[SessionInfo], current: str) -> None:
        """Show the sessions that came from one, as a tree; the current one is marked."""
        made: dict[str, Tree] = {}
        for info in sessions:
            place = f"{info.descent} at m{info.forked_at}, " if info.descent == "branch" else ""
            name = _line(self._show(info.title or info.first_ask))
            label = Styled.assemble(
                (f"{info.id[-8:]} ", "bold"),
                (f"{place}{plural(info.length, 'message')}  ", "dim"),
                (name, "reverse" if info.id == current else ""),
                overflow="ellipsis",
                no_wrap=True,
            )
            above = made.get(info.parent_id)
            made[info.id] = Tree(label) if above is None else above.add(label)
        for info in sessions:
            if info.parent_id not in made:
                self.console.print(made[info.id])


class CommandCompleter(Completer):
    """Completes commands and their arguments, and nothing else."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Yield what the last word may become."""
        line = document.text_before_cursor
        for one in self._commands.complete(line):
            about = visible(one.help)
            yield Completion(one.text, -len(line.rpartition(" ")[2]), display_meta=about)
