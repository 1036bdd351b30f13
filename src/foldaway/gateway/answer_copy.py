"""The answer of a provider, on its way to the client: bytes, as they come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias, TypeVar

import aiohttp

from foldaway.gateway.requests import unpack_body
from foldaway.gateway.wires import usage_in

T = TypeVar("T")
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"host",
        b"content-length",
        b"expect",
    }
)
"""Headers of one connection, by RFC 9110, and those that every hop writes itself."""
OWN = b"x-foldaway"
_BOUNDARY = 4
"""Bytes of the longest end of an event, which may come in pieces."""
_HEAD, _TAIL = 1 << 14, 1 << 18
"""Bytes of an answer that are kept to read its usage: providers report it first or last."""


class AnswerParts:
    """The parts of an answer in which its usage may stand."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.has_begun = False
        self.content_type = self.encoding = ""
        self._head, self._tail = bytearray(), bytearray()

    def add(self, data: bytes) -> None:
        """Take what the client gets next."""
        room = _HEAD - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]

    def plain(self) -> bytes:
        """Return what is kept of the answer: all of it if it is not long."""
        return unpack_body(bytes(self._head + self._tail), self.encoding, 64 << 20) or b""

    def usage(self) -> dict[str, Any]:
        """Return what the provider reported."""
        return usage_in(self.plain(), self.content_type)


class AnswerCopy:
    """Sends an answer on as it comes; after seconds of silence a stream gets a ping."""

    def __init__(self, send: Send, kept: AnswerParts, ping_seconds: float, ping: bytes) -> None:
        """Take the function that sends it on."""
        self._send, self._kept = send, kept
        self._ping_seconds, self._ping = ping_seconds, ping
        self._takes_pings = False
        self._last = b""

    async def pass_on(self, up: aiohttp.ClientResponse, read: bytes, note: str) -> None:
        """Send an answer; `read` is what was read of it already."""
        kept = self._kept
        kept.content_type = up.headers.get("content-type", "")
        kept.encoding = up.headers.get("content-encoding", "")
        known = HOP - {b"content-length"}
        headers = [pair for pair in up.raw_headers if pair[0].lower() not in known]
        kept.has_begun = True
        await self._send(
            {
                "type": "http.response.start",
                "status": up.status,
                "headers": [*headers, (OWN, note.encode("latin-1", "replace"))],
            }
        )
        is_fixed = kept.encoding or "content-length" in up.headers
        self._takes_pings = kept.content_type.startswith("text/event-stream") and not is_fixed
        if read:
            await self._piece(read)
        while data := await self._read_next(up):
            await self._piece(data)
        await self._body(b"", more=False)

    async def _read_next(self, up: aiohttp.ClientResponse) -> bytes:
        """Return what comes next, b"" at the end; the client hears pings until then."""
        while True:
            try:
                async with asyncio.timeout(self._ping_seconds):
                    return await up.content.readany()
            except TimeoutError:
                is_between = not self._last or self._last.endswith((b"\n\n", b"\r\n\r\n"))
                if self._takes_pings and is_between:
                    await self._body(self._ping)

    async def _piece(self, data: bytes) -> None:
        self._last = (self._last + data)[-_BOUNDARY:]
        self._kept.add(data)
        await self._body(data)

    async def _body(self, data: bytes, *, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})
