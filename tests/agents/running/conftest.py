"""An agent that is a small program, started with and without `foldaway run`."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
SECONDS = 30
"""What a wait may take before a test fails."""


def _begin_terminal() -> None:
    """Hear every signal, also if the tests were started by nohup or in the background."""
    for name in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(name, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Screen:
    """A program in a pseudo-terminal of its own."""

    def __init__(self, command: Sequence[str], variables: dict[str, str]) -> None:
        self.master, slave = os.openpty()
        self.resize(24, 80)
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=variables, start_new_session=True,
            preexec_fn=_begin_terminal,
        )  # fmt: skip
        os.close(slave)
        self.seen = ""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def wait_for(self, text: str, times: int = 1) -> None:
        """Read until a text was shown so many times."""
        end = time.monotonic() + SECONDS
        while self.seen.count(text) < times:
            assert time.monotonic() < end, f"{text!r} is not in {self.seen!r}"
            if not self._read(0.1):
                raise AssertionError(f"{text!r} is not in {self.seen!r}")

    def end(self) -> int:
        """Read the rest and return how the program ended."""
        while self._read(SECONDS):
            pass
        return self.process.wait(SECONDS)

    def close(self) -> None:
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def _read(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], seconds)[0]:
            return seconds < 1
        try:
            piece = os.read(self.master, 4096)
        except OSError:  # nobody has the terminal any more
            return False
        self.seen += piece.decode().replace("\r\n", "\n")
        return bool(piece)


class Provider:
    """A server that says `provider`, and remembers what it was asked."""

    def __init__(self) -> None:
        asked: list[tuple[str, dict[str, str], bytes]] = []
        self.asked = asked
        told: dict[str, str] = {}
        self.told = told
        """Headers of its answers."""

        class Answers(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked.append((self.path, headers, body))
                self.send_response(200)
                for name, value in told.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(b"provider")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider that answers every request."""
    found = Provider()
    threading.Thread(target=found.server.serve_forever, args=(0.01,), daemon=True).start()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def agent(tmp_path: Path) -> Callable[..., tuple[list[str], dict[str, str]]]:
    """Return the command of the agent and its environment, with `foldaway run` or without."""
    program = tmp_path / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {HERE / "program.py"} "$@"\n')
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FOLDAWAY_")}
    variables = {
        **kept, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path),
        "FOLDAWAY_HOME": str(tmp_path / "kept"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }  # fmt: skip

    def make(
        *arguments: str, through: bool, options: Sequence[str] = ("--no-report",), **more: str
    ) -> tuple[list[str], dict[str, str]]:
        ours = [sys.executable, "-m", "foldaway", "run", *options] if through else []
        return [*ours, "gemini", *arguments], {**variables, **more}

    return make


@pytest.fixture
def screen(agent: Any) -> Iterator[Callable[..., Screen]]:
    """Start an agent in a pseudo-terminal."""
    opened: list[Screen] = []

    def start(*arguments: str, shell: bool = False, **more: Any) -> Screen:
        command, variables = agent(*arguments, **more)
        opened.append(Screen(["bash", "--norc", "--noprofile", "-i"] if shell else command,
                             {**variables, "PS1": "> ", "TERM": "dumb"}))  # fmt: skip
        return opened[-1]

    yield start
    for one in opened:
        one.close()
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
