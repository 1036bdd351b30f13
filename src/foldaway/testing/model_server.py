"""A model server on loopback: OpenAI's and Anthropic's HTTP interfaces, and every way to fail.

    with ModelServer("a summary") as server:
        client = OpenAI(base_url=server.openai_url, api_key="any")

The real SDKs talk to it over real sockets. What it replies is a text, a reply, or a function
from the request to one of them; `server.requests` holds what it was asked. Needs the extra
`foldaway[testing]`.
"""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Callable, Generator, Mapping
from threading import Thread
from typing import TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from foldaway.testing.model_replies import (
    Api,
    Cuts,
    Drops,
    ModelRequest,
    Reply,
    Says,
    Script,
    Sends,
    Trickles,
    Waits,
    chat,
    compact,
    count_tokens,
    embeddings,
    messages,
    openai_error,
    responses,
)

POLL_SECONDS = 0.005
"""How often a reply that waits looks whether it may go on."""

_Connections: TypeAlias = dict[object, tuple[asyncio.AbstractEventLoop, asyncio.Transport]]
_Write: TypeAlias = Callable[[Mapping[str, object], Says], "Mapping[str, object] | list[bytes]"]

_PATHS: Mapping[str, tuple[Api, _Write]] = {
    "/v1/chat/completions": ("chat", chat),
    "/v1/responses": ("responses", responses),
    "/v1/responses/compact": ("compact", compact),
    "/v1/embeddings": ("embeddings", embeddings),
    "/v1/messages": ("messages", messages),
    "/v1/messages/count_tokens": ("count_tokens", count_tokens),
}


class ModelServer:
    """A server for as long as the `with` block; afterwards nothing of it is left.

    An error of the script is raised at the end of the block.
    """

    def __init__(self, script: Script = "") -> None:
        """Take what to reply."""
        self.requests: list[ModelRequest] = []
        self._script = script
        self._errors: list[Exception] = []
        self._connections: _Connections = {}
        self._socket = socket.socket()
        self._port = 0

    def replies(self, script: Script) -> None:
        """Reply so from now on, and forget what was asked."""
        self._script = script
        self.requests.clear()

    @property
    def openai_url(self) -> str:
        """The `base_url` of an OpenAI client."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def anthropic_url(self) -> str:
        """The `base_url` of an Anthropic client."""
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> ModelServer:
        """Start; connections are taken from here on."""
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(64)
        self._port = self._socket.getsockname()[1]
        routes = [
            Route(path, _Endpoint(self, api, write), methods=["POST"])
            for path, (api, write) in _PATHS.items()
        ]
        config = uvicorn.Config(
            Starlette(routes=routes),
            http=_track_connections(self._connections),
            ws="none",
            loop="asyncio",
            lifespan="off",
            date_header=False,
            log_config=None,
            log_level=60,  # above critical: it reports the connections that are cut on purpose
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(
            target=self._server.run, args=([self._socket],), name="model-server", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Break every connection and wait for the thread."""
        for loop, transport in list(self._connections.values()):
            loop.call_soon_threadsafe(transport.abort)
        self._server.should_exit = self._server.force_exit = True
        self._thread.join()
        self._socket.close()
        if self._errors and error is None:
            raise self._errors[0]

    def reply_to(self, request: ModelRequest) -> Reply:
        """Return the reply of the script."""
        self.requests.append(request)
        try:
            found = self._script(request) if callable(self._script) else self._script
        except Exception as error:  # noqa: BLE001  raised at the end of the block
            self._errors.append(error)
            return openai_error(500, "script_failed")
        return Says(found) if isinstance(found, str) else found

    def transport(self, scope: Scope) -> asyncio.Transport:
        """Return the connection that a request came on."""
        return self._connections[tuple(scope["client"])][1]


@contextlib.contextmanager
def refusing_url() -> Generator[str]:
    """Yield an address at which every connection is refused, and nobody else can listen."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/v1"


class _Endpoint:
    """One path of the server, as an ASGI application."""

    def __init__(self, server: ModelServer, api: Api, write: _Write) -> None:
        self._server = server
        self._api: Api = api
        self._write = write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Record the request and carry out the reply."""
        asked = Request(scope, receive)
        raw = b""
        try:
            raw = await asked.body()
            body = await asked.json()
        except (ValueError, ClientDisconnect):
            body = None
        request = ModelRequest(
            api=self._api, path=scope["path"], headers=dict(asked.headers), body=body, raw=raw
        )
        reply = self._server.reply_to(request)
        doing = asyncio.ensure_future(self._carry_out(reply, request, scope, send))
        leaving = asyncio.ensure_future(_disconnect(receive))
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            request.left.set()
        for task in (doing, leaving):
            task.cancel()
        await asyncio.gather(doing, leaving, return_exceptions=True)

    async def _carry_out(
        self, reply: Reply, request: ModelRequest, scope: Scope, send: Send
    ) -> None:
        match reply:
            case Waits(until=until, then=then):
                while not until.is_set():
                    await asyncio.sleep(POLL_SECONDS)
                await self._carry_out(then, request, scope, send)
            case Drops(reset=reset):
                transport = self._server.transport(scope)
                if reset:
                    _reset_on_close(transport)
                transport.abort()
            case Cuts(reply=whole, after=after):
                status, headers, pieces = self._render(whole, request)
                await _start(send, status, headers)
                await _body(send, b"".join(pieces)[:after])
                self._server.transport(scope).close()
            case Trickles(reply=whole, seconds=seconds):
                status, headers, pieces = self._render(whole, request)
                await _start(send, status, headers)
                for byte in b"".join(pieces):
                    await _body(send, bytes([byte]))
                    await asyncio.sleep(seconds)
                await _body(send, b"", more=False)
            case Says() | Sends():
                status, headers, pieces = self._render(reply, request)
                await _start(send, status, headers)
                for piece in pieces:
                    await _body(send, piece)
                await _body(send, b"", more=False)

    def _render(
        self, reply: Says | Sends, request: ModelRequest
    ) -> tuple[int, Mapping[str, str], list[bytes]]:
        if isinstance(reply, Sends):
            return reply.status, _headers_of(reply), [_bytes_of(reply.body)]
        written = self._write(request.body or {}, reply)
        if isinstance(written, list):
            return 200, {"content-type": "text/event-stream"}, written
        return 200, {"content-type": "application/json"}, [json.dumps(written).encode()]


def _headers_of(reply: Sends) -> Mapping[str, str]:
    kind = "text/html" if isinstance(reply.body, str | bytes) else "application/json"
    return {"content-type": kind, **{name.lower(): text for name, text in reply.headers.items()}}


def _bytes_of(body: Mapping[str, object] | str | bytes) -> bytes:
    if isinstance(body, bytes):
        return body
    return (body if isinstance(body, str) else json.dumps(body)).encode()


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _start(send: Send, status: int, headers: Mapping[str, str]) -> None:
    pairs = [(name.encode(), text.encode()) for name, text in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


async def _body(send: Send, data: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": more})
    await asyncio.sleep(0)  # so that a client that left is noticed


def _reset_on_close(transport: asyncio.Transport) -> None:
    """Let the connection end with a reset: lingering for no time at all."""
    held = transport.get_extra_info("socket")
    held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _track_connections(connections: _Connections) -> type[asyncio.Protocol]:
    """Return uvicorn's protocol, noting its connections: ASGI gives no way to break one."""

    class Tracked(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            self._peer = tuple(transport.get_extra_info("peername"))
            connections[self._peer] = (asyncio.get_running_loop(), transport)
            super().connection_made(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.pop(self._peer, None)
            super().connection_lost(exc)

    return Tracked
