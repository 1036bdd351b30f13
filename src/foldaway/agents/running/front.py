"""The listener that an agent talks to for as long as it runs.

It passes bytes on to a gateway, starts that again if it dies, and asks the provider itself if there
is none. So the agent's address is good for its whole life, whatever becomes of the gateway.
"""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from subprocess import DEVNULL, PIPE
from typing import IO, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from foldaway.agents.running.totals import RunTotals

_PIECE = 1 << 16
_DROPPED = ("host", "connection", "proxy-connection", "keep-alive")
_PATIENCE = 10.0
"""Seconds that a request waits for a gateway that is starting. Chosen: it takes about one, and no
agent that we know gives up sooner."""
_MOST_STARTS = 5
"""Chosen: a gateway that dies so often would only be in the way."""
_STOP_SECONDS = 5.0
"""What a gateway may take to end its writing."""
_LAST_SECONDS = 0.1
"""What the last events of a gateway that goes on may take to arrive."""
_NOTICE_SECONDS = 0.1
"""What the end of a gateway may take to be noticed, before a request is sent to the next one."""
_EVENTS = "GET /foldaway/events HTTP/1.1\r\nhost: 127.0.0.1\r\nx-foldaway-token: {}\r\n\r\n"
_LISTENING = b"foldaway: listening at "

_REQUEST = re.compile(rb"[A-Z]+ \S+ HTTP/1\.[01]\r\n")
_NOT_OURS = (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError,
             asyncio.LimitOverrunError)  # fmt: skip
"""What a server may do that is not a gateway, or one that dies."""

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Front:
    """Owns a port; `start` and `stop` are called in another thread than it works in."""

    def __init__(
        self, listening: socket.socket | None, command: Sequence[str], running: int,
        upstreams: Callable[[], Mapping[str, str]], token: Callable[[], str],
        tell: Callable[[RunTotals], None],
    ) -> None:  # fmt: skip
        """Take the port, the command of a gateway, the port of one that runs already (0 if there is
        none), what returns the addresses of providers, which is called if no gateway answers, what
        returns the token of a gateway's owner, and what is called after each event.
        """
        self._listening, self._command, self._running = listening, command, running
        self._upstreams, self._token, self._tell = upstreams, token, tell
        self.totals = RunTotals()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._has_begun = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over, self._settled = asyncio.Event(), asyncio.Event()
        """Whether the agent has ended; whether a gateway listens, or none will."""
        self._gateway = 0
        """Its port, 0 if none listens."""
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Listen, and start a gateway; nobody waits for it."""
        self._thread.start()
        self._has_begun.wait()

    def stop(self) -> RunTotals:
        """End a gateway of our own, and return what was done."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        return self.totals

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._listening is not None:
            await asyncio.start_server(self._serve, sock=self._listening)
        keeping = asyncio.create_task(self._keep_gateway())
        self._has_begun.set()
        await self._over.wait()
        process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()
            if not self._gateway:
                process.kill()  # it has nothing to write yet
        seconds = _STOP_SECONDS if process is not None else _LAST_SECONDS
        await asyncio.wait((keeping,), timeout=seconds)
        keeping.cancel()
        if process is not None:
            process.kill()

    # The gateway

    async def _keep_gateway(self) -> None:
        """Use the gateway that runs, and one of our own when there is none."""
        try:
            if self._running and await self._watch(self._running):
                self.totals.ends += not self._over.is_set()
            for _ in range(_MOST_STARTS):
                if self._over.is_set() or not await self._live_once():
                    break
                self.totals.ends += not self._over.is_set()
        finally:  # whatever happens, the agent gets its answers
            self.totals.gave_up = not self._over.is_set()
            self._settled.set()

    async def _live_once(self) -> bool:
        """Start a gateway and wait for its end; return whether it could be used."""
        process = self._process = subprocess.Popen(
            self._command, stdin=PIPE, stdout=DEVNULL, stderr=PIPE, start_new_session=True,
            preexec_fn=_unblock,
        )  # fmt: skip
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
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _PATIENCE)
                if not head.startswith(b"HTTP/1.1 200 "):
                    return False
                await asyncio.wait_for(reader.readuntil(b": foldaway\n\n"), _PATIENCE)
                self._gateway = port
                self._settled.set()
                while line := await reader.readline():
                    if self.totals.add(line):
                        self._tell(self.totals)
                return True
            return self._gateway != 0
        finally:
            self._gateway = 0
            self._settled.clear()
            writer.close()

    # A connection of the agent

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass a connection on. A request that got no byte of an answer is sent once more, and
        then to the provider itself.
        """
        asked = bytearray()
        try:
            for open_way in (self._to_gateway, self._to_gateway, self._to_provider):
                way = await open_way(reader, asked)
                if way is None:
                    continue
                if await _pass_bytes((reader, writer), way, asked, self.totals):
                    break
                await asyncio.sleep(_NOTICE_SECONDS)
        except (OSError, asyncio.IncompleteReadError, ValueError, asyncio.CancelledError):
            # it is cancelled when the agent has ended: asyncio would print that as an error
            pass  # the agent sees what it would see of its provider: a connection that ends
        finally:
            writer.close()

    async def _to_gateway(self, client: asyncio.StreamReader, asked: bytearray) -> Streams | None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), _PATIENCE)
        port = self._gateway
        if not port:
            return None
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            if self._gateway == port:  # it has just died: wait for the next one
                self._gateway = 0
                self._settled.clear()
            return await self._to_gateway(client, asked)
        writer.write(bytes(asked))
        return reader, writer

    async def _to_provider(self, reader: asyncio.StreamReader, asked: bytearray) -> Streams | None:
        while b"\r\n\r\n" not in asked:
            piece = await reader.read(_PIECE)
            if not piece:
                return None
            asked += piece
        upstreams = await asyncio.to_thread(self._upstreams)
        target, head = redirect(bytes(asked), upstreams)
        self.totals.direct += 1
        up_reader, up_writer = await _connect(target)
        up_writer.write(head)
        return up_reader, up_writer


async def _pass_bytes(client: Streams, way: Streams, asked: bytearray, totals: RunTotals) -> bool:
    """Pass bytes in both directions until one side ends; return whether that is all.

    `asked` has what the client sent since the last byte of an answer. If something is left in it,
    the way broke before it was answered.
    """
    sending = asyncio.create_task(_send(client[0], way[1], asked))
    try:
        while piece := await _read(way[0]):
            if asked:
                totals.add_heads(bytes(asked), piece)
            asked.clear()
            client[1].write(piece)
            await client[1].drain()
    finally:
        sending.cancel()
        way[1].close()
    return client[0].at_eof() or _REQUEST.match(asked) is None


async def _send(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: bytearray
) -> None:
    while piece := await _read(reader):
        asked += piece
        writer.write(piece)
        try:
            await writer.drain()
        except OSError:
            return  # the end of the answer says the same
    writer.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(_PIECE)
    except OSError:
        return b""


async def _connect(target: ProviderHost) -> Streams:
    context = ssl.create_default_context() if target.is_secure else None
    return await asyncio.open_connection(target.host, target.port, ssl=context)


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


class ProviderHost(Struct, frozen=True):
    """Where to connect."""

    host: str
    port: int
    is_secure: bool


def redirect(asked: bytes, upstreams: Mapping[str, str]) -> tuple[ProviderHost, bytes]:
    """Return where a request goes, and its bytes for there; raises `ValueError` if it is none.

    The connection has no other request: the provider is told to close it after its answer.
    """
    from foldaway.gateway import route_of, upstream_of  # needed only when no gateway answers

    head, _, rest = asked.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, version = first.split(" ")
    pairs = [(line.partition(":")[0].strip().lower(), line) for line in lines]
    headers = {name: line.partition(":")[2].strip() for name, line in pairs}
    wire = route_of(method, path.partition("?")[0], headers).wire
    parts = urlsplit(upstream_of(path, wire, upstreams))
    upgrades = "upgrade" in headers.get("connection", "").lower()
    kept = [line for name, line in pairs
            if name not in _DROPPED and not name.startswith("x-foldaway")]  # fmt: skip
    kept += [f"Host: {parts.netloc}", f"Connection: {'Upgrade' if upgrades else 'close'}"]
    where = parts.path + (f"?{parts.query}" if parts.query else "")
    sent = "\r\n".join([f"{method} {where} {version}", *kept]).encode("latin-1")
    is_secure = parts.scheme == "https"
    target = ProviderHost(parts.hostname or "", parts.port or (443 if is_secure else 80), is_secure)
    return target, sent + b"\r\n\r\n" + rest
