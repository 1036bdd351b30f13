"""Time limits for clients that are slow to ask; uvicorn has one for the pause after an answer."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from uvicorn.protocols.http.auto import AutoHTTPProtocol

_PROGRESS = 4_096
"""Bytes of a body that count as going on."""
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class TimedConnection(AutoHTTPProtocol):
    """A connection that is closed if a head is not there in time, or a body does not go on."""

    transport: Any
    cycle: Any
    loop: asyncio.AbstractEventLoop

    def __init__(self, *given: Any, head_seconds: float, body_seconds: float, **named: Any) -> None:
        """Take the limits, beside what uvicorn gives."""
        super().__init__(*given, **named)
        self._seconds = {"head": head_seconds, "body": body_seconds}
        self._timed, self._came = "", 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._time("head")

    def data_received(self, data: bytes) -> None:
        """Wait for what is still to come."""
        super().data_received(data)
        self._came += len(data)
        if (part := self._find_awaited()) != self._timed:
            self._time(part)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._time("")
        super().connection_lost(exc)

    def _find_awaited(self) -> Literal["head", "body", ""]:
        """Return what the client has begun to send and not ended."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return ""  # it is a WebSocket by now
        if self.cycle is None or self.cycle.response_complete:
            return "head"
        return "body" if self.cycle.more_body else ""

    def _time(self, part: Literal["head", "body", ""]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timed, self._came = part, 0
        self._timer = self.loop.call_later(self._seconds[part], self._close_late) if part else None

    def _close_late(self) -> None:
        part = self._find_awaited()
        if part != self._timed or (part == "body" and self._came >= _PROGRESS):
            self._time(part)
            return
        if part == "head" or not self.cycle.response_started:
            self.transport.write(_TOO_SLOW)
        self.transport.close()
