"""One session with an MCP server, kept open in an event loop of its own thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
import os
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from foldaway.errors import MemoryUnavailable

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp_types import CallToolResult

T = TypeVar("T")

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
CLOSE_SECONDS = 5.0
"""The SDK closes the input of a process, asks it to end after 2 s, and kills it after 2 more."""
MOST_PAGES = 20


class McpOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table `[memory.mcp]`: a `command` or a `url`, and what cannot be found out."""

    command: str = ""
    """The program that is the server, over standard input and output."""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    """Variables for the program; it inherits only PATH, HOME and the like."""
    url: str = ""
    """The address of a server over streamable HTTP."""
    headers: dict[str, str] = {}
    search_tool: str = ""
    search_argument: str = ""
    search_constant: dict[str, object] = {}
    """Arguments that go with every search."""
    add_tool: str = ""
    add_argument: str = ""
    add_constant: dict[str, object] = {}
    sync: bool = True
    """Whether every turn is added; otherwise only what the model adds by the tool."""
    timeout: float = 30.0
    """Seconds for one call; the turn waits no longer than the limits of the manager."""
    connect_timeout: float = 30.0

    @property
    def server(self) -> str:
        """What an error calls it: no arguments and no address, which may hold keys."""
        return os.path.basename(self.command) or "the memory server"


class ServerTool(Struct, frozen=True):
    """A tool as a server lists it."""

    name: str
    schema: Mapping[str, object]
    description: str = ""


class McpSession:
    """Calls tools, from any thread, within a time; connects at the first call.

    A connection that breaks or does not answer is given up, and a call makes a new one: at once
    if the old one had served, otherwise after a pause that doubles. A call whose connection
    broke is made once more: a server that kept a text and died before it said so gets it twice.
    """

    def __init__(self, options: McpOptions, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take what to connect to; nothing is started yet."""
        self._options = options
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        # from here on of the loop's thread alone
        self._connection: _Connection | None = None
        self._ending: list[_Connection] = []
        self._pause = _Pause(clock)

    def tools(self) -> list[ServerTool]:
        """Return the tools of the server."""
        return self._run(_list_tools)

    def call(self, tool: str, arguments: Mapping[str, object]) -> CallToolResult:
        """Return the result of a tool."""
        return self._run(lambda client: client.call_tool(tool, dict(arguments)))

    def close(self) -> None:
        """End the session, and the process that it started, within a time."""
        with self._starting:
            self._closed = True
            loop, self._loop = self._loop, None
        if loop is None:
            return
        ending = asyncio.run_coroutine_threadsafe(self._end(), loop)
        concurrent.futures.wait([ending], CLOSE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)

    def _run(self, ask: Callable[[Client], Coroutine[object, object, T]]) -> T:
        """Ask in the loop; wait for as long as two tries may take, and no longer."""
        with self._starting:
            if self._closed:
                raise MemoryUnavailable(self._options.server, "it was closed")
            if self._loop is None:
                self._loop = _loop_in_thread()
            asking = asyncio.run_coroutine_threadsafe(self._ask_twice(ask), self._loop)
        try:
            return asking.result(2 * (self._options.timeout + self._options.connect_timeout))
        except (TimeoutError, concurrent.futures.CancelledError):
            asking.cancel()
            raise MemoryUnavailable(self._options.server, "it does not answer") from None

    async def _ask_twice(self, ask: Callable[[Client], Coroutine[object, object, T]]) -> T:
        try:
            return await self._ask_once(ask)
        except _Broken:
            pass
        try:
            return await self._ask_once(ask)
        except _Broken:
            raise MemoryUnavailable(self._options.server, "its connection breaks") from None

    async def _ask_once(self, ask: Callable[[Client], Coroutine[object, object, T]]) -> T:
        import anyio
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        connection = await self._connect_once()
        connection.calls += 1
        try:
            with anyio.fail_after(self._options.timeout):
                answer = await ask(connection.client)
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                said = f"it turned the call down (code {error.code})"
                raise MemoryUnavailable(self._options.server, said) from None
            self._give_up(connection)
            raise _Broken from None
        except TimeoutError:
            if connection.calls == 1:  # else it may be busy with the other call
                self._give_up(connection)
            raise MemoryUnavailable(self._options.server, "it does not answer") from None
        finally:
            connection.calls -= 1
        connection.served = True
        self._pause.forget()
        return answer

    async def _connect_once(self) -> _Connection:
        """Return the connection, or a new one; both threads of a provider share it."""
        if self._connection is None:
            if self._pause.is_on():
                raise MemoryUnavailable(self._options.server, "it failed; it is tried again soon")
            self._connection = _Connection(self._options)
        connection = self._connection
        if not await asyncio.shield(connection.ready):
            self._give_up(connection)
            raise MemoryUnavailable(self._options.server, "no session with it could be opened")
        return connection

    def _give_up(self, connection: _Connection) -> None:
        if self._connection is not connection:
            return
        self._connection = None
        connection.end()
        self._ending = [one for one in self._ending if not one.over.is_set()]
        self._ending.append(connection)
        if not connection.served:
            self._pause.begin()

    async def _end(self) -> None:
        """End what is open, then what waits for it."""
        if self._connection is not None:
            self._give_up(self._connection)
        for connection in self._ending:
            await connection.over.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class _Pause:
    """The time before the next try; it doubles with each connection that never served."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seconds = self._until = 0.0

    def is_on(self) -> bool:
        return self._clock() < self._until

    def begin(self) -> None:
        self._seconds = min(max(2 * self._seconds, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
        self._until = self._clock() + self._seconds

    def forget(self) -> None:
        self._seconds = 0.0


class _Broken(Exception):
    """The other side went away during a call."""


class _Connection:
    """A client that a task holds open: the SDK wants to be left in the task that entered it."""

    client: Client

    def __init__(self, options: McpOptions) -> None:
        import anyio

        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[bool] = loop.create_future()
        self.over = asyncio.Event()
        self.calls = 0
        self.served = False
        self._scope = anyio.CancelScope(deadline=anyio.current_time() + options.connect_timeout)
        self._task = loop.create_task(self._hold(options))

    def end(self) -> None:
        """Leave; the process is ended by and by."""
        self._scope.cancel()

    async def _hold(self, options: McpOptions) -> None:
        try:
            with self._scope:
                async with _client(options) as self.client:
                    self._scope.deadline = math.inf
                    self.ready.set_result(True)
                    await asyncio.Event().wait()
        except Exception:  # noqa: BLE001 a server and its transport may raise anything
            pass  # who waits is told that there is no session
        finally:
            if not self.ready.done():
                self.ready.set_result(False)
            self.over.set()


@asynccontextmanager
async def _client(options: McpOptions) -> AsyncGenerator[Client]:
    """Enter a session; what the process says beside the protocol goes nowhere."""
    import httpx2
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if options.url:
        async with (
            httpx2.AsyncClient(headers=dict(options.headers), timeout=None) as http,
            Client(streamable_http_client(options.url, http_client=http)) as client,
        ):
            yield client
        return
    started = StdioServerParameters(
        command=options.command,
        args=list(options.args),
        env=dict(options.env),
        encoding_error_handler="replace",
    )
    with open(os.devnull, "w") as nowhere:
        async with Client(stdio_client(started, errlog=nowhere)) as client:
            yield client


async def _list_tools(client: Client) -> list[ServerTool]:
    found: list[ServerTool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += [
            ServerTool(tool.name, tool.input_schema, tool.description or "") for tool in page.tools
        ]
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def _loop_in_thread() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()

    def run() -> None:
        try:
            loop.run_forever()
        finally:
            loop.close()

    threading.Thread(target=run, name="foldaway-memory-mcp", daemon=True).start()
    return loop
