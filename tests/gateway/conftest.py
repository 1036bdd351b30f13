"""A gateway on a free port, in front of a provider whose answers a test writes."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import resource
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from foldaway._core.policy import Policy
from foldaway.gateway.app import listen, make_server
from foldaway.gateway.guard import Owner
from foldaway.gateway.options import GatewayOptions
from foldaway.sessions.session import warm
from foldaway.stores.open import open_store
from foldaway.stores.store import Store

Script = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]

PATHS = {
    "messages": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
}
EVENTS: Mapping[str, tuple[bytes, ...]] = {
    "messages": (
        b'event: message_start\ndata: {"type": "message_start", "message": {"role": "assistant", '
        b'"usage": null}}\n\n',
        b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta": {"text": '
        b'"h\xc3\xa9"}}\n\n',
        b'event: message_stop\ndata: {"type": "message_stop"}\n\n',
    ),
    "chat": (
        b'data: {"choices": [{"delta": {"content": "h\\u00e9"}}]}\n\n',
        b'data: {"choices": [], "usage": null}\n\n',
        b"data: [DONE]\n\n",
    ),
    "responses": (
        b'event: response.created\ndata: {"type": "response.created", "response": {}}\n\n',
        b'event: response.completed\ndata: {"type": "response.completed", "response": {"usage": '
        b"null}}\n\n",
    ),
    "gemini": (
        b'data: {"candidates": [{"content": {"parts": [{"text": "h"}], "role": "model"}}]}\r\n\r\n',
        b'data: {"candidates": [], "usageMetadata": null}\r\n\r\n',
    ),
}
"""A stream of each wire, event by event; a wrong count of tokens would correct our own."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine; every wait in it has a limit."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}
    limit = 3_600 if pyfuncitem.get_closest_marker("soak") else 600
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), limit))
    return True


def words(number: int, chars: int) -> str:
    text = f"step {number}: the parser of module_{number}.py fails at line {number * 7}; "
    return (text * (chars // len(text) + 1))[:chars]


def talk(wire: str, steps: int, chars: int = 2_000, name: str = "talk") -> dict[str, Any]:
    """Return a request after so many steps; the one with more steps begins with the same list."""
    listed: list[Any] = [_asks(wire, f"Repair the parser of {name}.")]
    for number in range(steps):
        listed += _step(wire, f"{name}_{number}", f"{name}: {words(number, chars)}")
    tool = {"name": "read_file", "description": "Read a file."}
    match wire:
        case "messages":
            frame = {"model": "claude-sonnet-4-5", "max_tokens": 1_000, "stream": True,
                     "tools": [{**tool, "input_schema": {"type": "object"}}]}  # fmt: skip
        case "chat":
            frame = {"model": "gpt-5", "tools": [{"type": "function", "function": tool}]}
        case "responses":
            frame = {"model": "gpt-5", "tools": [{"type": "function", **tool}]}
        case _:
            return {"tools": [{"functionDeclarations": [tool]}], "contents": listed}
    return {**frame, "input" if wire == "responses" else "messages": listed}


def _asks(wire: str, text: str) -> dict[str, Any]:
    if wire == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": text}


def _step(wire: str, name: str, text: str) -> list[Any]:
    """Return a call and its result."""
    arguments = {"path": f"src/{name}.py"}
    packed = json.dumps(arguments)
    match wire:
        case "messages":
            call = {"type": "tool_use", "id": f"toolu_{name}", "name": "read_file",
                    "input": arguments}  # fmt: skip
            result = {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": text}
            return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        case "chat":
            call = {"id": f"call_{name}", "type": "function",
                    "function": {"name": "read_file", "arguments": packed}}  # fmt: skip
            return [{"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": f"call_{name}", "content": text}]  # fmt: skip
        case "responses":
            call = {"type": "function_call", "call_id": f"call_{name}", "name": "read_file",
                    "arguments": packed}  # fmt: skip
            return [call, {"type": "function_call_output", "call_id": f"call_{name}",
                           "output": text}]  # fmt: skip
        case _:
            call = {"functionCall": {"name": "read_file", "args": arguments}}
            result = {"functionResponse": {"name": "read_file", "response": {"result": text}}}
            return [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]


def packed(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


class Answer:
    """What a client got."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def note(self) -> str:
        return self.headers.get("x-foldaway", "")


class Upstream:
    """A provider: what it was asked, and a script that answers."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.script: Script = answer_events
        self.gone = asyncio.Event()
        """Set when a request of it was cancelled."""
        self.url = ""

    async def start(self) -> web.AppRunner:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, auto_decompress=False,
            shutdown_timeout=0.1,
        )  # fmt: skip
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append(body)
        self.headers.append(request.headers)
        self.paths.append(request.raw_path)
        try:
            return await self.script(request, body)
        except (asyncio.CancelledError, ConnectionError):
            self.gone.set()
            raise


def wire_of(path: str) -> str:
    return next(name for name, known in PATHS.items() if path.startswith(known.partition("?")[0]))


async def answer_events(request: web.Request, _: bytes) -> web.StreamResponse:
    """Answer with the stream of the request's wire."""
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for event in EVENTS[wire_of(request.path)]:
        await response.write(event)
    return response


class Stand:
    """A gateway, its provider, its store and a client."""

    def __init__(self, url: str, upstream: Upstream, store: Store, client: aiohttp.ClientSession):
        self.url, self.upstream, self.store, self.client = url, upstream, store, client

    async def post(
        self, body: Mapping[str, Any] | bytes, wire: str = "chat", key: str = "one", **headers: str
    ) -> Answer:
        """Send a request; raises what aiohttp raises if the answer is cut."""
        sent = {
            "content-type": "application/json", "x-foldaway-session": key,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }  # fmt: skip
        data = body if isinstance(body, bytes) else packed(body)
        where = self.url + PATHS[wire]
        async with self.client.post(where, data=data, headers=sent) as got:
            return Answer(got.status, got.headers, await got.read())

    async def raw(self, text: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection of its own and write to it."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", int(self.url.rpartition(":")[2])
        )
        writer.write(text)
        await writer.drain()
        return reader, writer


def small(**given: Any) -> GatewayOptions:
    """Return options under which a few steps are enough for a compaction, on a slow machine too."""
    policy = Policy(floor_tokens=1_000)
    usual = {"context_length": 16_000, "policy": policy, "deadlines": (20.0, 20.0)}
    return GatewayOptions(**{**usual, **given})


@contextmanager
def full_disk(home: Path) -> Iterator[None]:
    """Let no file become larger than the largest of a store is now."""
    most = max(path.stat().st_size for path in home.iterdir())
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, was[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)


def noise(chars: int) -> str:
    """Return a text that no compression makes smaller, the same each time."""
    return random.Random(7).randbytes(chars // 2).hex()


@pytest.fixture(scope="session")
def warmed() -> None:
    """What a first compaction loads is loaded: no deadline is missed because of it."""
    warm()


@pytest.fixture
def gateway(tmp_path: Path, warmed: None) -> Callable[..., Any]:
    """Return what starts a gateway; it stops at the end of the `async with` block."""

    @asynccontextmanager
    async def run(store: Store | None = None, **given: Any) -> AsyncIterator[Stand]:
        upstream = Upstream()
        runner = await upstream.start()
        held = store or open_store(tmp_path / "home")
        options = small(**{"upstreams": {"": upstream.url}, **given})
        server = make_server(held, options, owner=Owner(token="of the owner"))
        listening = listen("127.0.0.1", 0)
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup(sockets=[listening])
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            async with aiohttp.ClientSession(
                auto_decompress=False, connector=aiohttp.TCPConnector(limit=0)
            ) as client:
                yield Stand(url, upstream, held, client)
        finally:
            await server.shutdown(sockets=[listening])
            await runner.cleanup()
            if store is None:
                held.close()

    return run


@pytest.fixture
def kit() -> Any:
    """What tests of this folder share beside the gateway: their modules cannot be imported."""

    class Kit:
        paths, events = PATHS, EVENTS
        talk, packed, noise = staticmethod(talk), staticmethod(packed), staticmethod(noise)
        answer_events, full_disk = staticmethod(answer_events), staticmethod(full_disk)

    return Kit
