"""Record what a user sees of real agents, for the pictures of the documentation.

    pip install pyte && python bench/screens.py

Writes docs/pictures/*.ansi, which docs/make_docs.py renders. Claude Code runs in a pseudo-terminal
against the stub provider, with `foldaway install` and by `foldaway run`. Needs the toolkit of
agents (see agents.py).
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import threading
import time
from pathlib import Path
from typing import Any

import pyte

from agent_hooks import foldaway, own_program
from agent_trials import ROOT, toolkit

ROWS, COLUMNS = 24, 100
PROMPT = "Look at the project and tell me what it does."
KEY = "sk-ant-dummy-0123456789abcdef"
ANSWERS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?1;2c"}
"""What a terminal answers if a program asks."""


class Terminal:
    """A program in a pseudo-terminal, and its screen."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.pid, self.handle = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(command[0], command, env)
        size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
        fcntl.ioctl(self.handle, termios.TIOCSWINSZ, size)

    def until(self, text: str, seconds: float = 60) -> None:
        """Read until the screen has a text."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not any(text in row for row in self.screen.display):
            self.read(0.2)
        self.read(1.0)

    def read(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.handle], [], [], left)[0]:
                return
            try:
                data = os.read(self.handle, 1 << 16)
            except OSError:
                return
            # pyte takes these for something else
            self.stream.feed(re.sub(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]", b"", data))
            for asked, answer in ANSWERS.items():
                if asked in data:
                    os.write(self.handle, answer)

    def type(self, text: str) -> None:
        os.write(self.handle, text.encode())

    def end(self) -> None:
        os.kill(self.pid, 15)
        os.waitpid(self.pid, 0)

    def ansi(self) -> str:
        """Return the screen as text with colors, without empty rows at its end."""
        rows = [self._row(self.screen.buffer[at]) for at in range(ROWS)]
        return "\n".join(rows).rstrip() + "\n"

    def _row(self, cells: Any) -> str:
        text, last = "", ""
        for at in range(COLUMNS):
            cell = cells[at]
            style = _style(cell)
            text += (f"\x1b[0{style}m" if style != last else "") + cell.data
            last = style
        return f"{text.rstrip()}\x1b[0m" if text.strip() else ""


def _style(cell: Any) -> str:
    codes = [";1"] if cell.bold else []
    if re.fullmatch("[0-9a-f]{6}", cell.fg):
        codes.append(f";38;2;{int(cell.fg[:2], 16)};{int(cell.fg[2:4], 16)};{int(cell.fg[4:], 16)}")
    return "".join(codes)


def main() -> int:
    agents = toolkit("agents")
    folder = Path(tempfile.mkdtemp()).resolve()
    python, home, work = own_program(folder / "env"), folder / "home", folder / "home" / "project"
    agents.make_project(work)
    provider = toolkit("provider").Provider(folder / "provider")
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    asyncio.run_coroutine_threadsafe(provider.start(), loop).result()
    write_settings(home, work)
    foldaway(python, home, "install", "claude-code", "--yes")
    program = agents.find_binary(agents.default_prefix(), "claude")
    env = {
        "HOME": str(home), "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8",
        "PATH": f"{python.parent}:{program.parent}:{agents.node_path(agents.default_prefix())}:"
                "/usr/bin:/bin",
        "ANTHROPIC_BASE_URL": f"{provider.url}/c/claude", "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
    }  # fmt: skip
    script, pictures = provider.script("claude"), ROOT / "docs" / "pictures"
    script.turns, script.cwd, script.usage_scale = 12, str(work), 5.0
    (pictures / "claude-code.ansi").write_text(session_screen(str(program), env, work))
    script.turns, script.calls, script.usage_scale = 70, 0, 1.0
    (pictures / "run.ansi").write_text(run_screen(python, env, work))
    return 0


def write_settings(home: Path, work: Path) -> None:
    """Write what Claude Code would ask a new user."""
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    known = {
        "hasCompletedOnboarding": True, "theme": "dark", "numStartups": 9,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(work): trusted},
    }  # fmt: skip
    (home / ".claude.json").write_text(json.dumps(known))


def session_screen(program: str, env: dict[str, str], work: Path) -> str:
    """Return the screen at the end of a session in the terminal."""
    terminal = Terminal([program, "--allowedTools", "Bash,Read"], env, work)
    terminal.until("? for shortcuts", 30)
    terminal.type(PROMPT)
    terminal.read(1.0)
    terminal.type("\r")
    terminal.until("scripted task is finished")
    terminal.read(3.0)
    terminal.end()
    return terminal.ansi()


def run_screen(python: Path, env: dict[str, str], work: Path) -> str:
    """Return what `foldaway run` prints in a small window, with its command."""
    given = ["--serve", "--window 60000", "claude", "-p", PROMPT, "--allowedTools", "Bash,Read"]
    command = [str(python), "-m", "foldaway", "run", "--report", *given]
    env = {**env, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=env, cwd=work, capture_output=True, text=True, check=False)
    line = f'$ foldaway run --serve "--window 60000" claude -p "{PROMPT}"'
    return f"\x1b[1m{line}\x1b[0m\n{done.stdout}{done.stderr}"


if __name__ == "__main__":
    raise SystemExit(main())
