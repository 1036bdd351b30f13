"""A worker process: asked over pipes, and whatever it does comes back as a value."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from multiprocessing.util import Finalize
from pathlib import Path
from types import TracebackType
from typing import IO

import msgspec
from msgspec import Struct

from holdfast.lab.peers.protocol import Answer, Failure, Outcome, Request
from holdfast.transcript import Payload

_KEPT_BYTES = 4_096
_SHOWN_CHARS = 300
_DRAIN_SECONDS = 5.0
"""A child that left the worker's group may hold its standard error open for ever."""


class _Line(Struct, frozen=True):
    """A line of a worker: an error, or an answer."""

    messages: tuple[Payload, ...] | None = None
    cpu_ms: float = 0.0
    note: str = ""
    moves: bool = True
    error: str | None = None


class Worker:
    """One process for many requests; use it in one thread, as a context manager.

    It starts at the first request. What hung, died or wrote something else than an answer is
    stopped, and the next request starts it anew. It runs in a scratch folder that goes with it,
    sees no variable of this process's environment, and its errors are read and dropped.
    """

    def __init__(self, command: Sequence[str], *, timeout_seconds: float = 120.0) -> None:
        """Take the interpreter with its arguments; the time is for one request."""
        self._command = list(command)
        self._timeout_seconds = timeout_seconds
        self._running: _Running | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def ask(self, request: Request) -> Outcome:
        """Return what the worker answers to a request, or why there is no answer."""
        try:
            running = self._running = self._running or _Running(self._command)
        except OSError as error:
            return Failure("died", f"the worker could not be started: {error}")
        line, hung = running.exchange(_encoded(request), self._timeout_seconds)
        if hung:
            self.close()
            return Failure("hung", f"no answer within {self._timeout_seconds:g} seconds")
        if not line.endswith(b"\n"):
            self.close()
            return Failure("died", f"the worker ended: {running.last_words()}")
        try:
            return _outcome(msgspec.convert(json.loads(line), _Line))
        except (ValueError, RecursionError):
            self.close()
            return Failure("garbled", "the worker wrote something else than an answer")

    def close(self) -> None:
        """End the process and remove its folder; asking again would start another."""
        if self._running is not None:
            self._running.close()
            self._running = None


def _encoded(request: Request) -> bytes:
    """Return a request as a line; not by msgspec, which knows no lone surrogates."""
    return json.dumps(msgspec.to_builtins(request)).encode()


def _outcome(line: _Line) -> Outcome:
    if line.error is not None:
        return Failure("refused", line.error)
    if line.messages is None:
        return Failure("garbled", "the worker's answer holds neither messages nor an error")
    return Answer(line.messages, line.cpu_ms, line.note, line.moves)


class _Running:
    """A process with its scratch folder, and a thread that reads away its errors."""

    def __init__(self, command: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(
            prefix="holdfast-peer-", ignore_cleanup_errors=True
        )
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd=self._folder.name, env=_environment(Path(self._folder.name)),
                start_new_session=True,
            )  # fmt: skip
        except OSError:
            self._folder.cleanup()
            raise
        self._errors = bytearray()
        self._drain = threading.Thread(target=self._read_errors, daemon=True)
        self._drain.start()
        # the processes of a pool end without a word to what is open in them, but for this
        self.close = Finalize(None, self._close, exitpriority=1)

    def exchange(self, request: bytes, timeout_seconds: float) -> tuple[bytes, bool]:
        """Return the next line of the process, and whether its time was up first.

        Killing the process is what ends a write or a read that would wait for ever.
        """
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._kill()

        timer = threading.Timer(timeout_seconds, stop)
        timer.start()
        stdin, stdout = _open(self._process.stdin), _open(self._process.stdout)
        try:
            stdin.write(request + b"\n")
            stdin.flush()
            line = stdout.readline()
        except OSError:
            line = b""
        finally:
            timer.cancel()
        return line, late.is_set()

    def last_words(self) -> str:
        """Return the last line that the process, which has ended, wrote to its standard error."""
        lines = self._errors.decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return said[-1][:_SHOWN_CHARS] if said else "it said nothing"

    def _close(self) -> None:
        self._kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was not read any more is flushed in vain
                _open(pipe).close()
        self._drain.join(_DRAIN_SECONDS)
        self._folder.cleanup()

    def _kill(self) -> None:
        with contextlib.suppress(OSError):  # it may be gone already
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _read_errors(self) -> None:
        with _open(self._process.stderr) as errors:
            while chunk := os.read(errors.fileno(), 65_536):
                self._errors += chunk
                del self._errors[:-_KEPT_BYTES]


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _environment(folder: Path) -> dict[str, str]:
    """Return all variables of a worker: no key, no setting and no cache of the user's is seen."""
    home = str(folder)
    return {
        "PATH": os.defpath,
        "HOME": home,
        "USERPROFILE": home,
        "HERMES_HOME": str(folder / "hermes"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_DATA_HOME": str(folder / "data"),
        "TMPDIR": home,
        "TEMP": home,
        "PYTHONUTF8": "1",
        "PYTHONHASHSEED": "0",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HEADROOM_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
    }
