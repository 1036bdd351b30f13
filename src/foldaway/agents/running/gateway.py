"""The gateway behind a listener: the one that runs, or one of our own that is started again."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from subprocess import DEVNULL, PIPE
from typing import IO

from foldaway.agents.running.totals import RunTotals

_PATIENCE_SECONDS = 10.0
"""What a request waits for a gateway that is starting. Chosen: it takes about one, and no agent
that we know gives up sooner."""
_MOST_STARTS = 5
"""Chosen: a gateway that dies so often would only be in the way."""
_STOP_SECONDS = 5.0
"""What a gateway may take to end its writing."""
_LAST_SECONDS = 0.1
"""What the last events of a gateway that goes on may take to arrive."""
_EVENTS = "GET /foldaway/events HTTP/1.1\r\nhost: 127.0.0.1\r\nx-foldaway-token: {}\r\n\r\n"
_LISTENING = b"foldaway: listening at "
_PIECE = 1 << 16
_NOT_OURS = (
    TimeoutError,
    OSError,
    ValueError,
    asyncio.IncompleteReadError,
    asyncio.LimitOverrunError,
)
"""What a server may do that is not a gateway, or one that dies."""


class RunningGateway:
    """The gateway that there is, and another one when it ends; tells what it does."""

    def __init__(
        self,
        command: Sequence[str],
        running: int,
        token: Callable[[], str],
        tell: Callable[[RunTotals], None],
    ) -> None:
        """Take the command of a gateway, the port of one that runs already (0 if there is none),
        what returns the token of a gateway's owner, and what is called after each event.
        """
        self._command, self._running, self._token, self._tell = command, running, token, tell
        self.totals = RunTotals()
        self._port = 0
        """0 if none listens."""
        self._settled = asyncio.Event()
        """Whether it listens, or none will."""
        self._process: subprocess.Popen[bytes] | None = None

    async def live(self, over: asyncio.Event) -> None:
        """Have a gateway until it is over; one of our own ends then."""
        keeping = asyncio.create_task(self._keep(over))
        await over.wait()
        process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()
            if not self._port:
                process.kill()  # it has nothing to write yet
        seconds = _STOP_SECONDS if process is not None else _LAST_SECONDS
        await asyncio.wait((keeping,), timeout=seconds)
        keeping.cancel()
        if process is not None:
            process.kill()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Return a connection to it, when it listens; None if none does."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), _PATIENCE_SECONDS)
        port = self._port
        if not port:
            return None
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            if self._port == port:  # it has just died: wait for the next one
                self._port = 0
                self._settled.clear()
            return await self.connect()

    async def _keep(self, over: asyncio.Event) -> None:
        """Use the gateway that runs, and one of our own when there is none."""
        try:
            if self._running and await self._watch(self._running):
                self.totals.ends += not over.is_set()
            for _ in range(_MOST_STARTS):
                if over.is_set() or not await self._live_once():
                    break
                self.totals.ends += not over.is_set()
        finally:  # whatever happens, the agent gets its answers
            self.totals.gave_up = not over.is_set()
            self._settled.set()

    async def _live_once(self) -> bool:
        """Start a gateway and wait for its end; return whether it could be used."""
        process = self._process = subprocess.Popen(
            self._command,
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=PIPE,
            start_new_session=True,
            preexec_fn=_unblock,
        )
        assert process.stderr is not None
        lines = await _reader_of(process.stderr)
        port = 0
        while not port and (line := await lines.readline()):
            if line.startswith(_LISTENING):
                port = int(line.rpartition(b":")[2])
            else:
                self.totals.trouble = line.decode("utf-8", "replace").strip()
        draining = asyncio.create_task(_drain(lines))
        was_used = bool(port) and await self._watch(port)
        if not was_used:  # it refuses us
            process.kill()
        await asyncio.to_thread(process.wait)
        draining.cancel()
        if process.stdin is not None:
            process.stdin.close()
        return was_used

    async def _watch(self, port: int) -> bool:
        """Listen to what a gateway tells, until it ends; return whether it is one that serves us.

        The stream ends with the process, so its end is known at once.
        """
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return False
        try:
            token = await asyncio.to_thread(self._token)
            writer.write(_EVENTS.format(token).encode())
            with suppress(*_NOT_OURS):
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE_SECONDS)
                if not head.startswith(b"HTTP/1.1 200 "):
                    return False
                await asyncio.wait_for(reader.readuntil(b": foldaway\n\n"), _PATIENCE_SECONDS)
                self._port = port
                self._settled.set()
                while line := await reader.readline():
                    if self.totals.add(line):
                        self._tell(self.totals)
                return True
            return self._port != 0
        finally:
            self._port = 0
            self._settled.clear()
            writer.close()


async def _reader_of(pipe: IO[bytes]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _drain(reader: asyncio.StreamReader) -> None:
    while await reader.read(_PIECE):
        pass


def _unblock() -> None:
    """Undo in a gateway what `foreground` blocks in this process."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
