"""The listener that an agent talks to for as long as it runs in our terminal.

It passes bytes on to a gateway, starts that again if it dies, and asks the provider itself if there
is none. So the agent's address is good for its whole life, whatever becomes of the gateway. The
agent has our terminal, our process group and our standard streams, so keys, sizes, job control and
pipes are its own. Signals that somebody sends to us alone are sent on to it.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from foldaway.agents.running.gateway import RunningGateway
from foldaway.agents.running.totals import RunTotals

_PIECE = 1 << 16
_DROPPED = ("host", "connection", "proxy-connection", "keep-alive")
_NOTICE_SECONDS = 0.1
"""What the end of a gateway may take to be noticed, before a request is sent to the next one."""

_REQUEST = re.compile(rb"[A-Z]+ \S+ HTTP/1\.[01]\r\n")

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Front:
    """Owns a port; its methods are called in another thread than it works in."""

    def __init__(
        self,
        listening: socket.socket | None,
        command: Sequence[str],
        running: int,
        upstreams: Callable[[], Mapping[str, str]],
        token: Callable[[], str],
        tell: Callable[[RunTotals], None],
    ) -> None:
        """Take the port, the command of a gateway, the port of one that runs already (0 if there is
        none), what returns the addresses of providers, which is called if no gateway answers, what
        returns the token of a gateway's owner, and what is called after each event.
        """
        self._listening, self._upstreams = listening, upstreams
        self._gateway = RunningGateway(command, running, token, tell)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._has_begun, self._over = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, command: Sequence[str], variables: Mapping[str, str]) -> tuple[int, RunTotals]:
        """Run a program while we listen; return its exit code and what was done. Raises `OSError`
        if it cannot be started.
        """
        mask = block_signals()
        self.start()
        try:
            code = run_in_foreground(command[0], command, variables, mask)
        finally:
            totals = self.stop()
        return code, totals

    def start(self) -> None:
        """Listen, and start a gateway; nobody waits for it."""
        self._thread.start()
        self._has_begun.wait()

    def stop(self) -> RunTotals:
        """End a gateway of our own, and return what was done."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        return self._gateway.totals

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._listening is not None:
            await asyncio.start_server(self._serve, sock=self._listening)
        self._has_begun.set()
        await self._gateway.live(self._over)

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
                if await _pass_bytes((reader, writer), way, asked, self._gateway.totals):
                    break
                await asyncio.sleep(_NOTICE_SECONDS)
        except (OSError, asyncio.IncompleteReadError, ValueError, asyncio.CancelledError):
            # it is cancelled when the agent has ended: asyncio would print that as an error
            pass  # the agent sees what it would see of its provider: a connection that ends
        finally:
            writer.close()

    async def _to_gateway(self, client: asyncio.StreamReader, asked: bytearray) -> Streams | None:
        del client
        way = await self._gateway.connect()
        if way is not None:
            way[1].write(bytes(asked))
        return way

    async def _to_provider(self, reader: asyncio.StreamReader, asked: bytearray) -> Streams | None:
        while b"\r\n\r\n" not in asked:
            piece = await reader.read(_PIECE)
            if not piece:
                return None
            asked += piece
        upstreams = await asyncio.to_thread(self._upstreams)
        target, head = redirect(bytes(asked), upstreams)
        self._gateway.totals.direct += 1
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


class ProviderHost(Struct, frozen=True):
    """Where to connect."""

    host: str
    port: int
    is_secure: bool


def redirect(asked: bytes, upstreams: Mapping[str, str]) -> tuple[ProviderHost, bytes]:
    """Return where a request goes, and its bytes for there; raises `ValueError` if it is none.

    The connection has no other request: the provider is told to close it after its answer.
    """
    from foldaway.gateway import provider_address  # needed only when no gateway answers

    head, _, rest = asked.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, version = first.split(" ")
    pairs = [(line.partition(":")[0].strip().lower(), line) for line in lines]
    headers = {name: line.partition(":")[2].strip() for name, line in pairs}
    parts = urlsplit(provider_address(method, path, headers, upstreams))
    upgrades = "upgrade" in headers.get("connection", "").lower()
    kept = [
        line for name, line in pairs if name not in _DROPPED and not name.startswith("x-foldaway")
    ]
    kept += [f"Host: {parts.netloc}", f"Connection: {'Upgrade' if upgrades else 'close'}"]
    where = parts.path + (f"?{parts.query}" if parts.query else "")
    sent = "\r\n".join([f"{method} {where} {version}", *kept]).encode("latin-1")
    is_secure = parts.scheme == "https"
    target = ProviderHost(parts.hostname or "", parts.port or (443 if is_secure else 80), is_secure)
    return target, sent + b"\r\n\r\n" + rest


_WATCHED = {
    signal.SIGCHLD,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
}
_KEYS = {signal.SIGINT, signal.SIGQUIT}
"""What a terminal sends to all of the foreground."""
_SET_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Ignored in our own process; the program gets what it would have had."""


def block_signals() -> set[int]:
    """Let signals wait for `run_in_foreground`; return those that waited before.

    Called before another thread starts, so that none of them takes a signal away.
    """
    signal.signal(signal.SIGCHLD, _ignore)
    return signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)


def _ignore(_: int, __: object) -> None:
    """Do nothing; without a handler some systems do not say that a child has ended."""


def run_in_foreground(
    program: str, arguments: Sequence[str], variables: Mapping[str, str], mask: set[int]
) -> int:
    """Run a program and return its exit code: minus the signal's number if one killed it."""
    child = os.posix_spawn(
        program, tuple(arguments), variables, setsigmask=mask, setsigdef=_SET_BY_PYTHON
    )
    while True:
        number, is_ours = _next_signal()
        if number == signal.SIGCHLD:
            pid, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                _stop_too(child)
            elif pid:
                return os.waitstatus_to_exitcode(status)
        elif is_ours:
            os.kill(child, number)


def _next_signal() -> tuple[int, bool]:
    """Return the next signal, and whether we alone got it, so that it must be sent on."""
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(_WATCHED)
        return info.si_signo, info.si_signo not in _KEYS or info.si_code <= 0
    number = signal.sigwait(_WATCHED)
    return number, number not in _KEYS or not _has_terminal()


def _has_terminal() -> bool:
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _stop_too(child: int) -> None:
    """Stop as the program did, so that the shell takes the terminal; go on together."""
    os.kill(os.getpid(), signal.SIGSTOP)
    os.kill(child, signal.SIGCONT)


def end_as(code: int) -> int:
    """Return the exit code of a program as our own; end by the signal that ended it."""
    if code >= 0:
        return code
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its own
    if -code not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-code, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
    os.kill(os.getpid(), -code)
    return 128 - code
