"""A worker of a peer: installed in a venv of its own, asked over pipes, always a value back."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import venv
from collections.abc import Callable, Sequence
from multiprocessing.util import Finalize
from pathlib import Path
from typing import IO, TypeAlias

import msgspec
from msgspec import Struct

from foldaway.transcript import Payload

_KEPT_BYTES = 4_096
"""Of the end of what a worker writes to standard error, for its last line."""
_SHOWN_CHARS = 300
_DRAIN_SECONDS = 5.0
"""A child that left the worker's group may hold its standard error open for ever."""
_STAMP = "installed.txt"
_INSTALL_SECONDS = 1_800.0
"""Half an hour for pip on a slow line; a limit only so that a run cannot wait forever."""


class Request(Struct, frozen=True, kw_only=True):
    """One history to make small, as an OpenAI chat list without system prompts."""

    messages: Sequence[Payload]
    system: str | None = None
    budget_tokens: int
    """What the result is to come to; the worker hands it to the peer's nearest setting."""
    context_length: int
    mode: str = ""
    """Which of the peer's modes, by its short name; `Peers` sets it."""
    pressed: bool = False
    """Whether nothing fitted before: now the peer's own floors of messages are lowered too."""


class Answer(Struct, frozen=True):
    """What a peer made of a history; nothing in it is repaired."""

    messages: tuple[Payload, ...]
    cpu_ms: float
    """CPU of the peer's own call alone."""
    note: str = ""
    """How it was driven, if that is not obvious."""
    moves: bool = True
    """Whether another budget could have given another result."""


class Failure(Struct, frozen=True):
    """Why there is no answer, in one sentence."""

    error: str


Reply: TypeAlias = Answer | Failure


class _Line(Struct, frozen=True):
    """A line of a worker: an error, or an answer."""

    messages: tuple[Payload, ...] | None = None
    cpu_ms: float = 0.0
    note: str = ""
    moves: bool = True
    error: str | None = None


class Worker:
    """One process for many requests; use it in one thread, and close it.

    It starts at the first request. What hung, died or wrote something else than an answer is
    stopped, and the next request starts it again. It runs in a scratch folder that goes with it,
    sees no variable of this process's environment, and its errors are read and dropped.
    """

    def __init__(self, command: Sequence[str], *, timeout_seconds: float = 120.0) -> None:
        """Take the interpreter with its arguments; the time is for one request."""
        self._command = list(command)
        self._timeout_seconds = timeout_seconds
        self._running: _Running | None = None

    def ask(self, request: Request) -> Reply:
        """Return what the worker answers to a request, or why there is no answer."""
        try:
            running = self._running = self._running or _Running(self._command)
        except OSError as error:
            return Failure(f"the worker could not be started: {error}")
        line, hung = running.exchange(_encode(request), self._timeout_seconds)
        if hung:
            self.close()
            return Failure(f"no answer within {self._timeout_seconds:g} seconds")
        if not line.endswith(b"\n"):
            self.close()
            return Failure(f"the worker ended: {running.last_words()}")
        try:
            return _outcome(msgspec.convert(json.loads(line), _Line))
        except (ValueError, RecursionError):
            self.close()
            return Failure("the worker wrote something else than an answer")

    def close(self) -> None:
        """End the process and remove its folder; asking again would start another."""
        if self._running is not None:
            self._running.close()
            self._running = None


def _encode(request: Request) -> bytes:
    """Return a request as a line; not by msgspec, which knows no lone surrogates."""
    return json.dumps(msgspec.to_builtins(request)).encode()


def _outcome(line: _Line) -> Reply:
    if line.error is not None:
        return Failure(line.error)
    if line.messages is None:
        return Failure("the worker's answer holds neither messages nor an error")
    return Answer(line.messages, line.cpu_ms, line.note, line.moves)


class _Running:
    """A process with its scratch folder, and a thread that reads away its errors."""

    def __init__(self, command: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(
            prefix="foldaway-peer-", ignore_cleanup_errors=True
        )
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._folder.name,
                env=_environment(Path(self._folder.name)),
                start_new_session=True,
            )
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
        return _last_line(self._errors.decode(errors="replace")) or "it said nothing"

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


def interpreter(
    folder: Path, requirements: tuple[str, ...], tell: Callable[[str], None] = lambda _: None
) -> Path | Failure:
    """Return the absolute path of the Python of the venv in `folder` with these requirements.

    It is made if it is missing or has others; `tell` hears of that first, for it takes minutes.
    Two processes must not do so at once in one folder: install before going parallel.
    """
    folder = folder.absolute()  # a worker runs in a folder of its own
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp, wanted = folder / _STAMP, "\n".join(requirements)
    try:
        if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return python
        if not python.exists() and _has_other_files(folder):
            return _make_failure(
                requirements, f"{folder} holds something else; give another folder"
            )
        tell(f"installing {', '.join(requirements)} into {folder}")
        stamp.unlink(missing_ok=True)
        if not python.exists():
            venv.create(folder, clear=True, with_pip=True)
        line = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*line, *requirements],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_INSTALL_SECONDS,
        )
        if done.returncode:
            return _make_failure(requirements, _last_line(done.stderr) or "pip said nothing")
        stamp.write_text(wanted, encoding="utf-8")
    except (OSError, subprocess.SubprocessError) as error:
        return _make_failure(requirements, f"{type(error).__name__}: {error}")
    return python


def _has_other_files(folder: Path) -> bool:
    """Return whether there is anything in the folder, and no venv: it is not ours to clear."""
    return folder.is_dir() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").exists()


def _make_failure(requirements: tuple[str, ...], reason: str) -> Failure:
    return Failure(f"{' '.join(requirements)} could not be installed: {reason}")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return lines[-1][:_SHOWN_CHARS] if lines else ""
