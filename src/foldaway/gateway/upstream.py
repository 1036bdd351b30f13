"""The way to the providers: requests as they are sent, and WebSockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import aiohttp
from yarl import URL

from foldaway.gateway.answer_copy import HOP, OWN, Send
from foldaway.gateway.options import GatewayOptions
from foldaway.gateway.wires import Wire, route_of, upstream_of

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]

_CONNECT_SECONDS = 30.0
_PIECE = 1 << 18
"""Bytes of a request that are written at a time, so that other streams go on between them."""


class Providers:
    """The providers, by the address of a request."""

    def __init__(self, options: GatewayOptions) -> None:
        """Take the addresses; called in the event loop."""
        self._options = options
        self._client = aiohttp.ClientSession(
            auto_decompress=False,
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    def request(
        self, scope: Scope, wire: Wire, data: bytes, more: Mapping[str, str], *, is_changed: bool
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send a request as it came or `is_changed`, with `more` headers."""
        without = [b"content-encoding"] if is_changed else []
        headers = _with_more(_headers(scope, *without), more)
        if data:
            headers.append(("content-length", str(len(data))))
        return self._client.request(
            scope["method"],
            self._address(scope, wire),
            headers=headers,
            data=_pieces(data) if data else None,
            allow_redirects=False,
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        )

    async def pass_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a WebSocket through, in both directions, as it is."""
        headers = _headers(
            scope,
            b"sec-websocket-key",
            b"sec-websocket-version",
            b"sec-websocket-extensions",
            b"sec-websocket-protocol",
        )
        await receive()  # the client's wish to connect
        if self._options.refuses_websockets:
            await send({"type": "websocket.http.response.start", "status": 426, "headers": []})
            await send({"type": "websocket.http.response.body", "body": b""})
            return
        wire = route_of("POST", scope["path"], dict(headers)).wire
        try:
            up = await self._client.ws_connect(
                self._address(scope, wire),
                headers=headers,
                protocols=scope["subprotocols"],
                max_msg_size=self._options.most_bytes,
            )
        except (aiohttp.ClientError, OSError):
            await send({"type": "websocket.close", "code": 1014})
            return
        await send({"type": "websocket.accept", "subprotocol": up.protocol})
        ways = [
            asyncio.create_task(_send_to_provider(receive, up)),
            asyncio.create_task(_send_to_client(up, send)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await up.close()

    def _address(self, scope: Scope, wire: Wire) -> URL:
        """Return where a request goes, by its path and its wire."""
        path = scope["raw_path"].decode("ascii")
        query = scope["query_string"].decode("ascii")
        base = upstream_of(path, wire, self._options.upstreams)
        return URL(base + (f"?{query}" if query else ""), encoded=True)


def _headers(scope: Scope, *without: bytes) -> list[tuple[str, str]]:
    """Return the headers of a request that its provider gets."""
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in scope["headers"]
        if name not in HOP and name not in without and not name.startswith(OWN)
    ]


def _with_more(headers: list[tuple[str, str]], more: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return headers with others: a list that the client sends too goes on with ours."""
    given = {name: value for name, value in headers if name in more}
    joined = {
        name: f"{given[name]},{value}" if name in given else value for name, value in more.items()
    }
    return [*(pair for pair in headers if pair[0] not in more), *joined.items()]


async def _send_to_provider(receive: Receive, up: aiohttp.ClientWebSocketResponse) -> None:
    while (message := await receive())["type"] == "websocket.receive":
        if (text := message.get("text")) is not None:
            await up.send_str(text)
        else:
            await up.send_bytes(message["bytes"])


async def _send_to_client(up: aiohttp.ClientWebSocketResponse, send: Send) -> None:
    async for message in up:
        if message.type is aiohttp.WSMsgType.TEXT:
            await send({"type": "websocket.send", "text": message.data})
        elif message.type is aiohttp.WSMsgType.BINARY:
            await send({"type": "websocket.send", "bytes": message.data})
    await send({"type": "websocket.close", "code": up.close_code or 1000})


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), _PIECE):
        yield data[at : at + _PIECE]
